// Package peercred tells which user is at the other end of a unix socket. The
// kernel says so, not the peer.
package peercred

import (
	"errors"
	"fmt"
	"net"
)

// ErrUnsupported means that this system cannot say who the peer is. Whoever
// guards a socket refuses such a peer.
var ErrUnsupported = errors.New("peer credentials are not supported on this system")

// UID returns the user id of the process that connected c, as it was at connect
// time. It may be called concurrently with reads and writes of c.
func UID(c *net.UnixConn) (int, error) {
	raw, err := c.SyscallConn()
	if err != nil {
		return -1, fmt.Errorf("peer credentials: %w", err)
	}
	uid, inner := -1, error(nil)
	if err := raw.Control(func(fd uintptr) { uid, inner = peerUID(int(fd)) }); err != nil {
		return -1, fmt.Errorf("peer credentials: %w", err)
	}
	if inner != nil {
		return -1, fmt.Errorf("peer credentials: %w", inner)
	}
	return uid, nil
}
