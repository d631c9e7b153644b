package hookwire

import "syscall"

// KnowsPeers says that this system tells whose process is at the other end of a
// socket. Without it nobody is trusted: clients decide alone, and a gateway can serve
// TCP only.
const KnowsPeers = true

// PeerUID returns the user id of the process at the other end of the connected
// unix socket fd: of whoever listened, or of whoever connected.
func PeerUID(fd uintptr) (int, error) {
	cred, err := syscall.GetsockoptUcred(int(fd), syscall.SOL_SOCKET, syscall.SO_PEERCRED)
	if err != nil {
		return -1, err
	}
	return int(cred.Uid), nil
}
