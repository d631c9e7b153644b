package hookwire

import "errors"

// The reasons for which a socket is not used. [CheckSocket] joins one of them
// with the cause.
var (
	ErrSocketMissing   = errors.New("hookwire: there is no socket")
	ErrSocketUntrusted = errors.New("hookwire: the socket's path is not the user's alone")
	ErrSocketPath      = errors.New("hookwire: the socket's path is not a clean absolute path of at most 100 bytes")
)

const maxPathBytes = 4096

// checkPath accepts a clean absolute slash path that names something in a folder.
func checkPath(path string) error {
	if len(path) > maxPathBytes || len(path) < 4 || path[0] != '/' {
		return ErrSocketPath
	}
	start := 1
	parts := 0
	for i := 1; i <= len(path); i++ {
		if i < len(path) && path[i] != '/' {
			if path[i] == 0 {
				return ErrSocketPath
			}
			continue
		}
		switch path[start:i] {
		case "", ".", "..":
			return ErrSocketPath
		}
		parts++
		start = i + 1
	}
	if parts < 2 {
		return ErrSocketPath // a socket in the root folder is nobody's own
	}
	return nil
}
