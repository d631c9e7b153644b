//go:build !linux && !darwin

package hookwire

// KnowsPeers says that this system tells whose process is at the other end of a
// socket. Without it nobody is trusted: clients decide alone, and a gateway can serve
// TCP only.
const KnowsPeers = false

// CheckSocket trusts no socket on this system: it cannot tell whose it is.
func CheckSocket(path string, uid int) error { return CheckDir(path, uid) }

// CheckDir trusts no folder on this system.
func CheckDir(path string, _ int) error {
	if err := checkPath(path); err != nil {
		return err
	}
	return ErrSocketUntrusted
}

// PeerUID knows no peer on this system.
func PeerUID(uintptr) (int, error) { return -1, ErrSocketUntrusted }
