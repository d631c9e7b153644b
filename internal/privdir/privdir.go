// Package privdir makes and checks folders that only their owner can enter. A
// socket or a log inside one needs no further protection from other users.
package privdir

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// ErrUnsafe is wrapped by every refusal of a folder: it is a link, another
// user's, or open to others.
var ErrUnsafe = errors.New("not a private folder")

// Make creates dir with mode 0700, its parents too, and then checks it as
// [Check] does. An existing folder of ours that is open to others is an error
// rather than silently narrowed: somebody may already have put things in it.
func Make(dir string) error {
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return fmt.Errorf("make %s: %w", dir, err)
	}
	// Mkdir, not MkdirAll: it does not follow a link at the last element.
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, os.ErrExist) {
		return fmt.Errorf("make %s: %w", dir, err)
	}
	return Check(dir)
}

// Check reports whether dir is a folder, no symbolic link, owned by the current
// user, and without permissions for anybody else. Errors wrap [ErrUnsafe], or
// are those of lstat.
func Check(dir string) error {
	fi, err := os.Lstat(dir)
	if err != nil {
		return err
	}
	switch {
	case fi.Mode()&os.ModeSymlink != 0:
		return fmt.Errorf("%s is a symbolic link: %w", dir, ErrUnsafe)
	case !fi.IsDir():
		return fmt.Errorf("%s is no folder: %w", dir, ErrUnsafe)
	}
	return checkOwner(dir, fi)
}
