package hookwire

import (
	"errors"
	"os/user"
	"strconv"
)

// homeOf asks the directory service; LookupId, unlike Current, does not read the
// environment.
func homeOf(uid int) (string, error) {
	u, err := user.LookupId(strconv.Itoa(uid))
	if err != nil {
		return "", errors.Join(ErrNoHome, err)
	}
	if u.HomeDir == "" {
		return "", ErrNoHome
	}
	return u.HomeDir, nil
}
