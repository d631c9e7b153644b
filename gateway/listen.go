package gateway

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"

	"github.com/holdpoint/holdpoint/hookwire"
	"github.com/holdpoint/holdpoint/internal/privdir"
)

// errPeers is why the sockets of a gateway serve nobody on this system.
var errPeers = errors.New("this system does not tell whose process connects to a socket, so that every connection to the hook and AHP sockets is refused, and hook clients decide alone by their failure policy")

// checkPeers refuses to serve nobody: where peers are not known, only TCP is left. The
// warning is for who serves that.
func checkPeers(known, tcp bool) (warning, err error) {
	switch {
	case known:
		return nil, nil
	case tcp:
		return errPeers, nil
	}
	return nil, fmt.Errorf("%w; AHP can be served on a TCP address (--listen)", errPeers)
}

// listenUnix listens on path, in a folder that only this user can enter. A
// socket that a dead daemon left behind is replaced; any other file there is
// an error. The caller holds the lock that goes with the socket, so that a live
// daemon's socket is never taken away.
func listenUnix(ctx context.Context, path string) (*net.UnixListener, error) {
	if err := checkSocketPath(path); err != nil {
		return nil, err
	}
	if err := privdir.Make(filepath.Dir(path)); err != nil {
		return nil, fmt.Errorf("socket folder: %w", err)
	}
	if runtime.GOOS == "linux" || runtime.GOOS == "darwin" {
		// What the client will check: a socket that it refuses helps nobody.
		if err := hookwire.CheckDir(path, os.Geteuid()); err != nil {
			return nil, fmt.Errorf("socket %s: %w", path, err)
		}
	}
	switch fi, err := os.Lstat(path); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, err
	case fi.Mode()&fs.ModeSocket == 0:
		return nil, fmt.Errorf("socket %s: there is something else than a socket", path)
	default:
		if err := os.Remove(path); err != nil {
			return nil, err
		}
	}
	ln, err := new(net.ListenConfig).Listen(ctx, "unix", path)
	if err != nil {
		return nil, err
	}
	// The folder keeps others out from the first moment; this is the second bolt.
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, ln.Close())
	}
	u, ok := ln.(*net.UnixListener)
	if !ok {
		return nil, errors.Join(fmt.Errorf("socket %s: listener is a %T", path, ln), ln.Close())
	}
	return u, nil
}

func checkSocketPath(path string) error {
	switch {
	case !filepath.IsAbs(path):
		return fmt.Errorf("socket %q: the path must be absolute", path)
	case len(path) > hookwire.MaxSocketPathBytes:
		return fmt.Errorf("socket %q: the path has %d bytes, at most %d", path, len(path), hookwire.MaxSocketPathBytes)
	}
	return nil
}

// samePeer reports whether the other end of c is a process of our own user.
// Root may connect as well: it can read everything here in any case.
func samePeer(c *net.UnixConn) error {
	raw, err := c.SyscallConn()
	if err != nil {
		return err
	}
	uid, inner := -1, error(nil)
	if err := raw.Control(func(fd uintptr) { uid, inner = hookwire.PeerUID(fd) }); err != nil {
		return err
	}
	if inner != nil {
		return inner
	}
	if uid != os.Geteuid() && uid != 0 {
		return fmt.Errorf("peer is user %d", uid)
	}
	return nil
}

// peerListener hands out connections of our own user only; others are closed
// and counted.
type peerListener struct {
	*net.UnixListener
	refused func(error)
}

func (l *peerListener) Accept() (net.Conn, error) {
	for {
		c, err := l.AcceptUnix()
		if err != nil {
			return nil, err
		}
		err = samePeer(c)
		if err == nil {
			return c, nil
		}
		_ = c.Close() // a stranger's: nothing to lose
		l.refused(err)
	}
}
