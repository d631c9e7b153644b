//go:build linux || darwin

package main

import (
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/holdpoint/holdpoint/hookwire"
)

// execFallback becomes the fallback program, which gets the payload on a new
// stdin and this process's stdout: there is no child that could hold it open. It
// returns only when that failed.
func (c *client) execFallback(where string) {
	fd, ok := memFile(c.payload())
	if !ok {
		if fd, ok = c.diskFile(c.payload()); !ok {
			return
		}
	}
	if dup(fd, 0) != nil {
		return
	}
	syscall.Close(fd)
	argv := []string{c.fallback, "hook", c.agent}
	if where != "" {
		argv = append(argv, where)
	}
	const policy, budget, socket = "HOLDPOINT_HOOK_POLICY=", "HOLDPOINT_HOOK_BUDGET_MS=", "HOLDPOINT_HOOK_SOCKET="
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, policy) && !strings.HasPrefix(v, budget) && !strings.HasPrefix(v, socket) {
			env = append(env, v)
		}
	}
	left := max(time.Until(c.deadline).Milliseconds(), 0)
	env = append(env, policy+c.policy, budget+strconv.FormatInt(left, 10))
	if c.socket != "" { // the fallback decides as that socket's gateway would
		env = append(env, socket+c.socket)
	}
	_ = syscall.Exec(c.fallback, argv, env)
}

// diskFile is memFile for systems without one: a file without a name in the
// socket's folder.
func (c *client) diskFile(b []byte) (int, bool) {
	path := hookwire.SpoolPath(c.socket) + "." + strconv.Itoa(os.Getpid())
	if c.socket == "" || hookwire.CheckDir(path, os.Geteuid()) != nil {
		return -1, false
	}
	fd, err := syscall.Open(path, syscall.O_RDWR|syscall.O_CREAT|syscall.O_EXCL|syscall.O_NOFOLLOW|syscall.O_CLOEXEC, 0o600)
	if err != nil {
		return -1, false
	}
	if syscall.Unlink(path) != nil {
		return -1, false
	}
	return fd, fill(fd, b)
}

func fill(fd int, b []byte) bool {
	if !write(fd, b) {
		return false
	}
	_, err := syscall.Seek(fd, 0, 0)
	return err == nil
}

// note adds a line to the spool. Whatever goes wrong with it changes nothing.
func (c *client) note(where string, cause hookwire.Cause, outcome hookwire.Outcome) {
	socket, byDefault := c.socket, c.socket == ""
	if def, err := hookwire.DefaultSocket(); byDefault {
		if err != nil {
			return
		}
		socket = def
	} else if err == nil && def == socket {
		byDefault = true
	}
	if len(socket) == 0 || socket[0] != '/' {
		return
	}
	spool := hookwire.SpoolPath(socket)
	dir := spool[:strings.LastIndexByte(spool, '/')]
	if byDefault {
		// .local/state/holdpoint in a home that may be new.
		for i := strings.LastIndex(dir, "/.local"); i > 0; {
			next := strings.IndexByte(dir[i+1:], '/')
			if next < 0 {
				break
			}
			i += 1 + next
			_ = syscall.Mkdir(dir[:i], 0o700)
		}
	}
	_ = syscall.Mkdir(dir, 0o700)
	if hookwire.CheckDir(spool, os.Geteuid()) != nil {
		return
	}
	_ = hookwire.AppendSpool(spool, &hookwire.Fallback{
		Time:         time.Now(),
		Agent:        c.agent,
		Event:        where,
		Cause:        cause,
		Policy:       c.policy,
		Outcome:      outcome,
		PID:          os.Getpid(),
		ParentPID:    os.Getppid(),
		PayloadBytes: int64(len(c.payload())),
		Elapsed:      time.Since(c.start),
	})
}
