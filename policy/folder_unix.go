//go:build unix

package policy

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// ownedChain checks a folder and every folder above it: whoever can write one of
// them can put another policy in its place. A sticky folder such as /tmp lets
// nobody but the owner rename, and is taken above the policy's own folder.
func ownedChain(dir, shown string) error {
	for at := dir; ; at = filepath.Dir(at) {
		st, err := os.Lstat(at)
		if err != nil {
			return fmt.Errorf("policy folder: %w", err)
		}
		sticky := at != dir && st.Mode()&os.ModeSticky != 0
		if err := owned(st, at, shown, sticky); err != nil {
			return err
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}

func ownedFile(name, shown string) error {
	st, err := os.Lstat(name)
	if err != nil {
		return fmt.Errorf("policy file: %w", err)
	}
	return owned(st, name, shown, false)
}

func owned(st os.FileInfo, at, shown string, sticky bool) error {
	if perm := st.Mode().Perm(); perm&0o022 != 0 && !sticky {
		return fmt.Errorf("policy %s: others can write %s (mode %#o); take away their right with chmod go-w", shown, at, perm)
	}
	if sys, ok := st.Sys().(*syscall.Stat_t); ok {
		if uid := int(sys.Uid); uid != 0 && uid != os.Getuid() {
			return fmt.Errorf("policy %s: %s belongs to user %d, want this user or root", shown, at, uid)
		}
	}
	return nil
}
