//go:build !linux && !darwin

package hookwire

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
