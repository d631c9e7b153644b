package gateway

import (
	"errors"
	"io/fs"
	"os"
	"syscall"
	"time"

	"github.com/holdpoint/holdpoint/shell"
)

// disk reads links for facts. A dead network mount can hold a look for ever, and
// no context ends it: each look has a goroutine of its own, and when maxStuck of
// them hang, further looks fail at once.
type disk struct{}

var _ shell.FS = disk{}

const maxStuck = 16

// diskLimit bounds one look. Less would tell a busy machine from a dead mount
// no more, and an unresolved path makes a harmless command look open. Tests have
// more: none of them has a dead mount.
var diskLimit = 250 * time.Millisecond

var (
	looks       = make(chan struct{}, maxStuck)
	errSlowDisk = errors.New("the disk gave no answer in time")
)

func (disk) Readlink(name string, limit time.Duration) (string, bool, error) {
	type result struct {
		target string
		err    error
	}
	timer := time.NewTimer(limit)
	defer timer.Stop()
	select {
	case looks <- struct{}{}:
	case <-timer.C:
		return "", false, errSlowDisk
	}
	done := make(chan result, 1)
	go func() { // ends with the look; at most maxStuck are under way
		defer func() { <-looks }()
		target, err := os.Readlink(name)
		done <- result{target, err}
	}()
	var r result
	select {
	case r = <-done:
	case <-timer.C:
		select {
		case r = <-done: // both at once: the answer counts
		default:
			return "", false, errSlowDisk
		}
	}
	switch {
	case r.err == nil:
		return r.target, true, nil
	// No link there, or nothing at all: that is an answer.
	case errors.Is(r.err, fs.ErrNotExist), errors.Is(r.err, syscall.EINVAL), errors.Is(r.err, syscall.ENOTDIR):
		return "", false, nil
	}
	return "", false, errors.New("the disk could not be read")
}
