//go:build unix

package privdir

import (
	"fmt"
	"os"
	"syscall"
)

func checkOwner(dir string, fi os.FileInfo) error {
	st, ok := fi.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Errorf("%s has no owner: %w", dir, ErrUnsafe)
	}
	if int(st.Uid) != os.Geteuid() {
		return fmt.Errorf("%s belongs to user %d, not to user %d: %w", dir, st.Uid, os.Geteuid(), ErrUnsafe)
	}
	if perm := fi.Mode().Perm(); perm&0o077 != 0 {
		return fmt.Errorf("%s has mode %04o and must have 0700: %w", dir, perm, ErrUnsafe)
	}
	return nil
}
