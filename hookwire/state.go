package hookwire

import (
	"errors"
	"os"
	"strings"
)

// The names inside the state folder.
const (
	SocketName = "hook.sock"
	SpoolName  = "hook.spool"
)

// MaxSocketPathBytes bounds the path of a socket: the shortest limit among the
// systems that we serve is 104 bytes with the final zero.
const MaxSocketPathBytes = 100

// ErrNoHome reports that the user database has no home folder for this user, so
// that there is no default state folder and the socket must be named.
var ErrNoHome = errors.New("hookwire: no home folder is known for this user")

// StateDir returns the folder that holds the hook socket and the spool when
// nothing else is said: .local/state/holdpoint in the home folder that the user
// database gives for the process's effective user. It reads no environment
// variable, HOME and XDG_STATE_HOME included: what runs below an agent can set
// those, and must not move the gate (design decision 12). It does not create the
// folder. The error is [ErrNoHome] or the database's own. On Linux the database
// is /etc/passwd; users who are kept elsewhere name the socket.
func StateDir() (string, error) {
	home, err := homeOf(os.Geteuid())
	if err != nil {
		return "", err
	}
	if !strings.HasPrefix(home, "/") || home == "/" {
		return "", ErrNoHome
	}
	return strings.TrimRight(home, "/") + "/.local/state/holdpoint", nil
}

// DefaultSocket returns the path of the hook socket when none is named:
// [SocketName] in [StateDir]. Client and gateway both use it.
func DefaultSocket() (string, error) {
	dir, err := StateDir()
	if err != nil {
		return "", err
	}
	return dir + "/" + SocketName, nil
}

// SpoolPath returns where the client of a socket keeps its spool: beside it, in
// the folder that only the user can enter.
func SpoolPath(socket string) string {
	return socket[:strings.LastIndexByte(socket, '/')+1] + SpoolName
}
