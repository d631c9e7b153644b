//go:build !unix

package hookwire

func homeOf(int) (string, error) { return "", ErrNoHome }
