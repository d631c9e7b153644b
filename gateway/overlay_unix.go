//go:build unix

package gateway

import (
	"os"

	"golang.org/x/sys/unix"
)

// openNonblock keeps the opening of a pipe from waiting for a writer.
const openNonblock = unix.O_NONBLOCK

// identify tells one state of an open file from another. The time at which its
// entry last changed is in it: no program can set that.
func identify(f *os.File, st os.FileInfo) (fileID, error) {
	var s unix.Stat_t
	if err := unix.Fstat(int(f.Fd()), &s); err != nil {
		return fileID{}, err
	}
	return fileID{dev: uint64(s.Dev), ino: uint64(s.Ino), size: st.Size(), modified: st.ModTime(), changed: unix.TimespecToNsec(s.Ctim)}, nil //nolint:unconvert // the types differ between systems
}
