package hookwire

import (
	"syscall"
	"unsafe"
)

// xucred is struct xucred of <sys/ucred.h>.
type xucred struct {
	version uint32
	uid     uint32
	ngroups int16
	groups  [16]uint32
}

// KnowsPeers says that this system tells whose process is at the other end of a
// socket. Without it nobody is trusted: clients decide alone, and a gateway can serve
// TCP only.
const KnowsPeers = true

// PeerUID returns the user id of the process at the other end of the connected
// unix socket fd: of whoever listened, or of whoever connected.
func PeerUID(fd uintptr) (int, error) {
	const solLocal, localPeerCred, version = 0, 1, 0
	var cred xucred
	size := uint32(unsafe.Sizeof(cred))
	_, _, errno := syscall.Syscall6(syscall.SYS_GETSOCKOPT, fd, solLocal, localPeerCred,
		uintptr(unsafe.Pointer(&cred)), uintptr(unsafe.Pointer(&size)), 0)
	if errno != 0 {
		return -1, errno
	}
	if cred.version != version || size < 8 {
		return -1, syscall.EINVAL
	}
	return int(cred.uid), nil
}
