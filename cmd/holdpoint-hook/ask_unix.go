//go:build linux || darwin

package main

import (
	"errors"
	"os"
	"syscall"
	"time"

	"github.com/holdpoint/holdpoint/hookwire"
)

const firstRead = 16 << 10

// readStdin reads the payload until its end, the limit or the deadline. Above the
// limit it still drains: a hook that stops reading is a failed hook to some
// agents, and a failed hook opens.
func (c *client) readStdin() hookwire.Cause {
	const most = hookwire.PrefixBytes + hookwire.MaxPayloadBytes
	c.buf = make([]byte, hookwire.PrefixBytes, hookwire.PrefixBytes+firstRead)
	var drain []byte
	for {
		if !readable(0, c.deadline) {
			if drain != nil {
				return hookwire.CausePayloadTooLarge
			}
			return hookwire.CauseStdinTimeout
		}
		to := drain
		if to == nil {
			if len(c.buf) == cap(c.buf) {
				// One byte above the limit tells "full" from "too large".
				bigger := make([]byte, len(c.buf), min(2*cap(c.buf), most+1))
				copy(bigger, c.buf)
				c.buf = bigger
			}
			to = c.buf[len(c.buf):cap(c.buf)]
		}
		n, err := syscall.Read(0, to)
		switch {
		case err == syscall.EINTR || err == syscall.EAGAIN:
			continue
		case err != nil && drain == nil:
			return hookwire.CauseStdinError
		case n <= 0 || err != nil: // end
			if drain != nil {
				return hookwire.CausePayloadTooLarge
			}
			c.whole = true
			return ""
		case drain == nil:
			c.buf = c.buf[:len(c.buf)+n]
			if len(c.buf) > most {
				drain = c.buf[hookwire.PrefixBytes : hookwire.PrefixBytes+firstRead]
			}
		}
	}
}

// ask sends the payload and reads the answer. The cause is empty exactly when the
// answer is whole, valid and in time.
func (c *client) ask() (*hookwire.Answer, hookwire.Cause) {
	deadline := c.deadline
	if c.fallback != "" {
		deadline = deadline.Add(-time.Until(deadline) / 2)
	}
	socket := c.socket
	if socket == "" {
		var err error
		if socket, err = hookwire.DefaultSocket(); err != nil {
			return nil, hookwire.CauseNoHome
		}
		c.socket = socket
	}
	uid := os.Geteuid()
	if err := hookwire.CheckSocket(socket, uid); err != nil {
		switch {
		case errors.Is(err, hookwire.ErrSocketPath):
			return nil, hookwire.CauseSocketPath
		case errors.Is(err, hookwire.ErrSocketMissing):
			return nil, hookwire.CauseSocketMissing
		}
		return nil, hookwire.CauseSocketUntrusted
	}
	conn, cause := dial(socket, deadline)
	if cause != "" {
		return nil, cause
	}
	defer syscall.Close(conn.fd)
	if peer, err := hookwire.PeerUID(uintptr(conn.fd)); err != nil || peer != uid {
		return nil, hookwire.CausePeerUntrusted
	}
	request, ok := c.frame(deadline)
	if !ok {
		return nil, hookwire.CauseUsage // only the agent's and event's names can be too long
	}
	sendErr := conn.write(request)
	if errors.Is(sendErr, errDeadline) {
		return nil, hookwire.CauseDeadline
	}
	testHook("sent")
	a, err := hookwire.ReadAnswer(conn)
	if sendErr != nil && (err != nil || a.Status == hookwire.StatusAnswer) {
		// An answer to a payload that was not sent whole is about something else.
		return nil, hookwire.CauseSendFailed
	}
	if err != nil {
		return nil, causeOf(err)
	}
	switch a.Status {
	case hookwire.StatusAnswer:
		if !time.Now().Before(deadline) {
			return nil, hookwire.CauseDeadline
		}
		return a, ""
	case hookwire.StatusTooLarge:
		return nil, hookwire.CausePayloadTooLarge
	case hookwire.StatusVersion:
		return nil, hookwire.CauseVersion
	case hookwire.StatusBusy:
		return nil, hookwire.CauseBusy
	case hookwire.StatusMalformed, hookwire.StatusInternal:
	}
	return nil, hookwire.CauseGatewayFault
}

func causeOf(err error) hookwire.Cause {
	var large *hookwire.TooLargeError
	var version *hookwire.VersionError
	switch {
	case errors.Is(err, errDeadline):
		return hookwire.CauseDeadline
	case errors.Is(err, errLost):
		return hookwire.CauseAnswerLost
	case errors.As(err, &large):
		return hookwire.CauseAnswerTooLarge
	case errors.As(err, &version):
		return hookwire.CauseVersion
	}
	return hookwire.CauseAnswerMalformed
}

// frame writes the request's prefix in front of the payload, where room was left,
// so that one write sends both.
func (c *client) frame(deadline time.Time) ([]byte, bool) {
	h := hookwire.Header{
		Client:    release,
		Agent:     c.agent,
		Event:     c.event,
		BudgetMs:  max(time.Until(deadline).Milliseconds(), 1),
		ParentPID: os.Getppid(),
	}
	// Not os.Getwd: that believes the environment.
	h.CWD, _ = syscall.Getwd()
	for _, name := range hookwire.ProjectVariables(c.agent) {
		if v, ok := syscall.Getenv(name); ok {
			if h.Env == nil {
				h.Env = map[string]string{}
			}
			h.Env[name] = v
		}
	}
	h.ParentStart = processStart(h.ParentPID)
	prefix, err := hookwire.AppendPrefix(make([]byte, 0, 512), &h, len(c.payload()))
	if err != nil {
		return nil, false
	}
	at := hookwire.PrefixBytes - len(prefix)
	copy(c.buf[at:], prefix)
	return c.buf[at:], true
}

var (
	errDeadline = errors.New("deadline")
	errLost     = errors.New("connection lost")
)

// A conn is a blocking socket whose every call ends at the deadline. The net
// package would start a poller and threads for the same.
type conn struct {
	fd       int
	deadline time.Time
	room     [4096]byte
	have     []byte
}

func dial(path string, deadline time.Time) (*conn, hookwire.Cause) {
	fd, err := syscall.Socket(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		return nil, hookwire.CauseConnectFailed
	}
	syscall.CloseOnExec(fd)
	c := &conn{fd: fd, deadline: deadline}
	for {
		if err := c.arm(syscall.SO_SNDTIMEO); err != nil {
			syscall.Close(fd)
			return nil, hookwire.CauseDeadline
		}
		err := syscall.Connect(fd, &syscall.SockaddrUnix{Name: path})
		switch err {
		case nil, syscall.EISCONN:
			return c, ""
		case syscall.EINTR:
			continue
		}
		syscall.Close(fd)
		switch err {
		case syscall.EAGAIN, syscall.ETIMEDOUT: // its queue stayed full
			return nil, hookwire.CauseDeadline
		case syscall.ENOENT:
			return nil, hookwire.CauseSocketMissing
		}
		return nil, hookwire.CauseConnectFailed
	}
}

// arm bounds the next call on the socket by what is left of the time.
func (c *conn) arm(option int) error {
	left := time.Until(c.deadline)
	if left <= 0 {
		return errDeadline
	}
	// Zero would mean "for ever".
	tv := syscall.NsecToTimeval(max(left, time.Millisecond).Nanoseconds())
	return syscall.SetsockoptTimeval(c.fd, syscall.SOL_SOCKET, option, &tv)
}

func (c *conn) write(b []byte) error {
	for len(b) > 0 {
		if err := c.arm(syscall.SO_SNDTIMEO); err != nil {
			return err
		}
		n, err := syscall.Write(c.fd, b)
		switch {
		case n > 0:
			b = b[n:]
		case err == syscall.EINTR:
		case err == syscall.EAGAIN:
			return errDeadline
		default:
			return errLost
		}
	}
	return nil
}

// Read implements io.Reader over one buffer, so that an answer of usual size is
// one call to the system.
func (c *conn) Read(p []byte) (int, error) {
	for len(c.have) == 0 {
		if err := c.arm(syscall.SO_RCVTIMEO); err != nil {
			return 0, err
		}
		n, err := syscall.Read(c.fd, c.room[:])
		switch {
		case n > 0:
			c.have = c.room[:n]
		case err == syscall.EINTR:
		case err == syscall.EAGAIN:
			return 0, errDeadline
		default: // an end inside an answer, too
			return 0, errLost
		}
	}
	n := copy(p, c.have)
	c.have = c.have[n:]
	return n, nil
}

// write writes all of b to a file descriptor and reports whether it could.
func write(fd int, b []byte) bool {
	for len(b) > 0 {
		n, err := syscall.Write(fd, b)
		switch {
		case n > 0:
			b = b[n:]
		case err == syscall.EINTR:
		case err == syscall.EAGAIN:
			if !writable(fd, time.Now().Add(time.Second)) {
				return false
			}
		default:
			return false
		}
	}
	return true
}
