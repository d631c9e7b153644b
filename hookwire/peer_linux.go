package hookwire

import "syscall"

// PeerUID returns the user id of the process at the other end of the connected
// unix socket fd: of whoever listened, or of whoever connected.
func PeerUID(fd uintptr) (int, error) {
	cred, err := syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	if err != nil {
		return -1, err
	}
	return int(cred.Uid), nil
}
