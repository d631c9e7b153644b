package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// An env is where one run of the command happens: a folder that is removed at
// the end, the programs in it, and the children that are to be ended.
type env struct {
	ctx   context.Context
	dir   string // for files and sockets; mode 0700
	quick bool

	built map[string]string // program to path
}

func newEnv(ctx context.Context, quick bool) (*env, error) {
	dir, err := os.MkdirTemp("", "hpb-")
	if err != nil {
		return nil, err
	}
	return &env{ctx: ctx, dir: dir, quick: quick, built: map[string]string{}}, nil
}

func (e *env) close() error { return os.RemoveAll(e.dir) }

// modules of the programs that are measured: folder, package.
var programs = map[string][2]string{
	"holdpoint":      {"..", "./cmd/holdpoint"},
	"holdpoint-hook": {"..", "./cmd/holdpoint-hook"},
	"echo":           {".", "./peer/echo"},
	"echohttp":       {".", "./peer/echohttp"},
	"decide":         {".", "./peer/decide"},
	"stub":           {".", "./peer/stub"},
	"hello":          {".", "./peer/hello"},
	"spawn":          {".", "./peer/spawn"},
	"opa":            {".", "github.com/open-policy-agent/opa"},
}

// build returns the path of a program, built as releases are.
func (e *env) build(name string) (string, error) {
	if p := e.built[name]; p != "" {
		return p, nil
	}
	out := filepath.Join(e.dir, name)
	cmd := exec.CommandContext(e.ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", out, programs[name][1])
	cmd.Dir = programs[name][0]
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0")
	if b, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build %s: %w\n%s", name, err, b)
	}
	e.built[name] = out
	return out, nil
}

// policy writes a policy folder and returns its path.
func (e *env) policy(name, text string) (string, error) {
	dir := filepath.Join(e.dir, "policy-"+name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	return dir, os.WriteFile(filepath.Join(dir, "a.yaml"), []byte(text), 0o600)
}

// A child is a server that this run started.
type child struct {
	cmd   *exec.Cmd
	in    *os.File
	out   *bufio.Reader
	files []*os.File
}

// start runs a program with pipes on stdin and stdout. Its stderr is shown only
// if it ends badly.
func (e *env) start(name string, args ...string) (*child, error) {
	path, err := e.build(name)
	if err != nil {
		return nil, err
	}
	inR, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	out, outW, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, inR.Close(), in.Close())
	}
	cmd := exec.CommandContext(e.ctx, path, args...)
	cmd.Stdin, cmd.Stdout = inR, outW
	cmd.Env = append(os.Environ(), "HOME="+e.dir)
	err = cmd.Start()
	if err := errors.Join(err, inR.Close(), outW.Close()); err != nil {
		return nil, errors.Join(err, in.Close(), out.Close())
	}
	// Fd makes the pipes blocking: a round trip is then two system calls of one
	// thread here, and the runtime's poller has no part in it.
	_, _ = in.Fd(), out.Fd()
	return &child{cmd: cmd, in: in, out: bufio.NewReaderSize(out, 64<<10), files: []*os.File{in, out}}, nil
}

func (c *child) pid() int { return c.cmd.Process.Pid }

// line is the first line that the child writes.
func (c *child) line() (string, error) {
	s, err := c.out.ReadString('\n')
	return strings.TrimSpace(s), err
}

// ask sends one line and returns the answer's.
func (c *child) ask(line []byte) ([]byte, error) {
	if _, err := c.in.Write(line); err != nil {
		return nil, err
	}
	return c.out.ReadSlice('\n')
}

// stop ends the child and waits for it.
func (c *child) stop() {
	for _, f := range c.files {
		_ = f.Close()
	}
	// A gateway ends on TERM; echoes and backends have ended with their stdin.
	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	kill := time.AfterFunc(10*time.Second, func() { _ = c.cmd.Process.Kill() })
	defer kill.Stop()
	_ = c.cmd.Wait() // its status says how it was ended
}

// blockOf measures n calls of do, one by one, as one block: the cost is that of the
// middle call, so that a call during which the scheduler ran somebody else does
// not count.
func blockOf(n int, do func() error) func() (sample, error) {
	took := make([]float64, n)
	return func() (sample, error) {
		for i := range took {
			start := time.Now()
			if err := do(); err != nil {
				return sample{}, err
			}
			took[i] = float64(time.Since(start))
		}
		return sample{ns: spreadOf(took).Median, allocs: math.NaN()}, nil
	}
}

// pipeTarget is n round trips over the child's pipes. want must be in each answer.
func pipeTarget(name string, c *child, f *frame, n int, want string) target {
	mark := []byte(want)
	return target{name, blockOf(n, func() error {
		answer, err := c.ask(f.next())
		if err != nil {
			return err
		}
		if !bytes.Contains(answer, mark) {
			return fmt.Errorf("answer %q, expected %q in it", answer, want)
		}
		return nil
	})}
}

// httpTarget is n posts, one after another, over one connection.
func httpTarget(name, url, token string, next func() []byte, n int, want string) target {
	client := &http.Client{Transport: &http.Transport{DisableCompression: true}}
	mark := []byte(want)
	var buf bytes.Buffer
	return target{name, blockOf(n, func() error {
		req, err := http.NewRequest(http.MethodPost, url, bytes.NewReader(next()))
		if err != nil {
			return err
		}
		req.Header.Set("Content-Type", "application/json")
		if token != "" {
			req.Header.Set("Authorization", "Bearer "+token)
		}
		resp, err := client.Do(req)
		if err != nil {
			return err
		}
		defer resp.Body.Close()
		buf.Reset()
		if _, err := buf.ReadFrom(resp.Body); err != nil {
			return err
		}
		if resp.StatusCode != http.StatusOK || !bytes.Contains(buf.Bytes(), mark) {
			return fmt.Errorf("%s: %s, %q; expected %q", url, resp.Status, buf.Bytes(), want)
		}
		return nil
	})}
}

// loadTarget keeps conns connections busy for a while and reports the wall time
// and the server's CPU time of one request. Its client writes ready requests and
// reads just enough of the answers, so that the server is what is measured.
func loadTarget(name, addr, path, token string, pid, conns int, slice time.Duration, body func(lane int) func() []byte, want string) (target, error) {
	type lane struct {
		c    net.Conn
		r    *bufio.Reader
		head []byte
		next func() []byte
		buf  []byte
	}
	mark := []byte(want)
	lanes := make([]*lane, conns)
	for i := range lanes {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			return target{}, err
		}
		l := &lane{c: c, r: bufio.NewReaderSize(c, 8<<10), next: body(i)}
		auth := ""
		if token != "" {
			auth = "Authorization: Bearer " + token + "\r\n"
		}
		l.head = fmt.Appendf(nil, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\n%sContent-Length: ", path, addr, auth)
		lanes[i] = l
	}
	one := func(l *lane) error {
		b := l.next()
		l.buf = append(l.buf[:0], l.head...)
		l.buf = strconv.AppendInt(l.buf, int64(len(b)), 10)
		l.buf = append(l.buf, "\r\n\r\n"...)
		l.buf = append(l.buf, b...)
		if _, err := l.c.Write(l.buf); err != nil {
			return err
		}
		status, err := l.r.ReadSlice('\n')
		if err != nil {
			return err
		}
		if !bytes.HasPrefix(status, []byte("HTTP/1.1 200")) {
			return fmt.Errorf("%s: %q", name, status)
		}
		size := -1
		for {
			h, err := l.r.ReadSlice('\n')
			if err != nil {
				return err
			}
			if len(h) <= 2 {
				break
			}
			if v, ok := bytes.CutPrefix(h, []byte("Content-Length: ")); ok {
				if size, err = strconv.Atoi(string(bytes.TrimSpace(v))); err != nil {
					return err
				}
			}
		}
		if size < 0 {
			return fmt.Errorf("%s: an answer without a length", name)
		}
		answer, err := l.r.Peek(size)
		if err != nil {
			return err
		}
		if !bytes.Contains(answer, mark) {
			return fmt.Errorf("%s: %q, expected %q", name, answer, want)
		}
		_, err = l.r.Discard(size)
		return err
	}
	return target{name, func() (sample, error) {
		before, err := cpuTime(pid)
		if err != nil {
			return sample{}, err
		}
		start := time.Now()
		end := start.Add(slice)
		counts, errs := make([]int, conns), make([]error, conns)
		var wg sync.WaitGroup
		for i, l := range lanes {
			wg.Go(func() {
				for time.Now().Before(end) && errs[i] == nil {
					errs[i] = one(l)
					counts[i]++
				}
			})
		}
		wg.Wait()
		took := time.Since(start)
		after, err := cpuTime(pid)
		n := 0
		for _, c := range counts {
			n += c
		}
		return sample{
			ns: float64(took) / float64(n), cpu: float64(after-before) / float64(n), allocs: math.NaN(),
		}, errors.Join(append(errs, err)...)
	}}, nil
}

// waitHTTP waits until addr takes connections.
func waitHTTP(ctx context.Context, url string) error {
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		resp, err := http.DefaultClient.Do(req)
		if err == nil {
			_, _ = io.Copy(io.Discard, resp.Body)
			return resp.Body.Close()
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(20 * time.Millisecond):
		}
	}
}
