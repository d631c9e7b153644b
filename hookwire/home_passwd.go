//go:build unix && !darwin

package hookwire

import (
	"errors"
	"io"
	"os"
	"strconv"
	"strings"
)

const maxPasswdBytes = 4 << 20

// homeOf reads the password file itself: os/user falls back on the environment.
func homeOf(uid int) (string, error) {
	f, err := os.Open("/etc/passwd")
	if err != nil {
		return "", errors.Join(ErrNoHome, err)
	}
	defer f.Close()
	return homeIn(f, uid)
}

// homeIn takes the first entry of the uid, as the C library does.
func homeIn(r io.Reader, uid int) (string, error) {
	var text strings.Builder
	if _, err := io.Copy(&text, io.LimitReader(r, maxPasswdBytes)); err != nil {
		return "", errors.Join(ErrNoHome, err)
	}
	for line := range strings.Lines(text.String()) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), ":")
		if len(f) == 7 && f[2] == strconv.Itoa(uid) && f[0] != "" && f[0][0] != '#' {
			if f[5] == "" {
				return "", ErrNoHome
			}
			return f[5], nil
		}
	}
	return "", ErrNoHome
}
