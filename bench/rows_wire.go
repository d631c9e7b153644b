package main

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/harness"
	"github.com/holdpoint/holdpoint/settle"
)

const perBlock = 100 // calls in a block of serial round trips

// children collects what a group started, in order to end it.
type children []*child

func (cs *children) start(e *env, name string, args ...string) (*child, error) {
	c, err := e.start(name, args...)
	if err == nil {
		*cs = append(*cs, c)
	}
	return c, err
}

func (cs *children) stop() {
	for _, c := range *cs {
		c.stop()
	}
}

// stdio is row 1: decisions over persistent stdio beside a pipe echo, on one CPU.
func stdio(e *env) (_ *group, err error) {
	var cs children
	unpin, err := pin()
	if err != nil {
		return nil, err
	}
	end := func() { cs.stop(); unpin() }
	defer func() {
		if err != nil {
			end()
		}
	}()
	g := &group{close: end, perRound: 2}
	deny, _, err := kilobyte(denied)
	if err != nil {
		return nil, err
	}
	plain, _, err := kilobyte(harmless)
	if err != nil {
		return nil, err
	}
	long, _, err := kilobyte(chained)
	if err != nil {
		return nil, err
	}
	edit, err := frameOf(toolEvent("Edit", ahp.KindFileEdit, map[string]any{
		"file_path": "/home/dev/repo/internal/parser/recover.go", "old_string": "return nil",
		"new_string": string(bytes.Repeat([]byte("if tok == brace { p.skip(); } "), 14)),
	}))
	if err != nil {
		return nil, err
	}
	one, err := e.policy("one", oneRule)
	if err != nil {
		return nil, err
	}
	pack, err := e.policy("default", defaultRules)
	if err != nil {
		return nil, err
	}
	add := func(name, want string, f *frame, program string, args ...string) {
		if err != nil {
			return
		}
		var c *child
		if c, err = cs.start(e, program, args...); err == nil {
			g.targets = append(g.targets, pipeTarget(name, c, f.clone(len(g.targets)), perBlock, want))
		}
	}
	add("echo", "hooks/intercept", deny, "echo")
	add("bare", `"deny"`, deny, "decide", "-policy", one)
	add("allow", `"effects":[]`, plain, "decide", "-policy", one)
	add("identity", `"deny"`, deny, "decide", "-policy", one, "-identity")
	add("pack", `"deny"`, deny, "decide", "-policy", pack)
	add("pack allow", `"effects":[]`, plain, "decide", "-policy", pack)
	add("pack chain", `"effects":[]`, long, "decide", "-policy", pack)
	add("pack edit", `"effects":[]`, edit, "decide", "-policy", pack)
	add("shipped", `"deny"`, deny, "holdpoint", "backend")
	add("stub", `"deny"`, deny, "stub")
	if err != nil {
		return nil, err
	}
	c := func(what, num string) comparison {
		return comparison{row: "1", what: what, num: num, den: "echo"}
	}
	gated := c("bare decision over stdio / pipe echo", "bare")
	gated.gate, gated.stretch = 3.5, 2.5
	g.compares = []comparison{
		gated,
		c("  the same event, harmless command", "allow"),
		c("  with operation identity", "identity"),
		c("  default pack instead of one rule", "pack"),
		c("  default pack, harmless command", "pack allow"),
		c("  default pack, four commands in a chain", "pack chain"),
		c("  default pack, edit of a file", "pack edit"),
		c("  shipped: holdpoint backend (default pack, links on disk)", "shipped"),
		c("  alternative: encoding/json stub", "stub"),
	}
	return g, nil
}

// gatewayArgs are the flags of a gateway with its own folders, and its socket.
func (e *env) gatewayArgs(name, policy string, more ...string) (args []string, socket string) {
	dir := filepath.Join(e.dir, name)
	socket = filepath.Join(dir, "hook.sock")
	return append([]string{
		"serve", "--policy-timeout", "5s", "--failure-policy", "fail-closed", "--policy", policy, "--socket", socket,
		"--audit-dir", filepath.Join(dir, "audit"), "--log-level", "error",
	}, more...), socket
}

const token = "bench-token-0123456789abcdef"

// startGateway runs holdpoint serve on the hook socket and on a TCP address, and
// waits until it answers.
func (e *env) startGateway(cs *children, name, policy string, more ...string) (c *child, socket, addr string, err error) {
	if err := os.MkdirAll(filepath.Join(e.dir, name), 0o700); err != nil {
		return nil, "", "", err
	}
	tokenFile := filepath.Join(e.dir, "token")
	if err := os.WriteFile(tokenFile, []byte(token), 0o600); err != nil {
		return nil, "", "", err
	}
	if addr, err = freeAddr(); err != nil {
		return nil, "", "", err
	}
	args, socket := e.gatewayArgs(name, policy, append(more, "--listen", addr, "--token-file", tokenFile)...)
	if c, err = cs.start(e, "holdpoint", args...); err != nil {
		return nil, "", "", err
	}
	ctx, cancel := context.WithTimeout(e.ctx, 30*time.Second)
	defer cancel()
	return c, socket, addr, waitHTTP(ctx, "http://"+addr+"/healthz")
}

// freeAddr is a loopback address that nobody listened on a moment ago.
func freeAddr() (string, error) {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	return ln.Addr().String(), ln.Close()
}

// startOPA runs the OPA server with a policy file and waits until it answers.
func (e *env) startOPA(cs *children, rego string) (*child, string, error) {
	addr, err := freeAddr()
	if err != nil {
		return nil, "", err
	}
	c, err := cs.start(e, "opa", "run", "--server", "--addr", addr, "--log-level", "error", "--disable-telemetry", rego)
	if err != nil {
		return nil, "", err
	}
	ctx, cancel := context.WithTimeout(e.ctx, 30*time.Second)
	defer cancel()
	return c, addr, waitHTTP(ctx, "http://"+addr+"/health")
}

// overHTTP is rows 2 to 6: decisions over HTTP beside an echo and the OPA server.
func overHTTP(e *env) (_ *group, err error) {
	var cs children
	defer func() {
		if err != nil {
			cs.stop()
		}
	}()
	g := &group{close: func() { cs.stop() }}
	deny, ev, err := kilobyte(denied)
	if err != nil {
		return nil, err
	}
	input, err := opaInput(ev)
	if err != nil {
		return nil, err
	}
	opaFrame := newFrame(append(append([]byte(`{"input":`), input...), '}'))
	one, err := e.policy("one", oneRule)
	if err != nil {
		return nil, err
	}
	pack, err := e.policy("default", defaultRules)
	if err != nil {
		return nil, err
	}
	rego := filepath.Join(e.dir, "policy.rego")
	if err := os.WriteFile(rego, []byte(regoModule), 0o600); err != nil {
		return nil, err
	}

	type server struct {
		name, addr, path, token, want string
		f                             *frame
		pid                           int
	}
	var servers []server
	simple := func(name, want string, program string, args ...string) error {
		c, err := cs.start(e, program, args...)
		if err != nil {
			return err
		}
		addr, err := c.line()
		servers = append(servers, server{name: name, addr: addr, path: "/", want: want, f: deny, pid: c.pid()})
		return err
	}
	if err := errors.Join(
		simple("echo", "hooks/intercept", "echohttp"),
		simple("bare", `"deny"`, "decide", "-policy", one, "-http"),
		simple("identity", `"deny"`, "decide", "-policy", one, "-http", "-identity"),
		simple("pack", `"deny"`, "decide", "-policy", pack, "-http"),
		simple("stub", `"deny"`, "stub", "-http"),
	); err != nil {
		return nil, err
	}
	c, _, addr, err := e.startGateway(&cs, "gw-http", pack)
	if err != nil {
		return nil, err
	}
	servers = append(servers, server{"shipped", addr, "/ahp", token, `"deny"`, deny, c.pid()})
	c, addr, err = e.startOPA(&cs, rego)
	if err != nil {
		return nil, err
	}
	servers = append(servers, server{"opa", addr, "/v1/data/holdpoint/decision", "", `"deny"`, opaFrame, c.pid()})

	slice := 400 * time.Millisecond
	if e.quick {
		slice = 200 * time.Millisecond
	}
	for i, s := range servers {
		f := s.f.clone(i)
		g.targets = append(g.targets, httpTarget(s.name, "http://"+s.addr+s.path, s.token, f.next, perBlock, s.want))
	}
	for i, s := range servers {
		if s.name == "pack" {
			continue
		}
		t, err := loadTarget(s.name+" load", s.addr, s.path, s.token, s.pid, 32, slice, func(lane int) func() []byte {
			return s.f.clone(100*(i+1) + lane).next
		}, s.want)
		if err != nil {
			return nil, err
		}
		g.targets = append(g.targets, t)
	}
	g.compares = []comparison{
		{row: "2", what: "bare decision over HTTP / net/http echo", num: "bare", den: "echo", gate: 1.5, stretch: 1.25},
		{row: "2", what: "  default pack instead of one rule", num: "pack", den: "echo"},
		{row: "2", what: "  shipped: gateway, identity and audit on", num: "shipped", den: "echo"},
		{row: "2", what: "  alternative: encoding/json stub", num: "stub", den: "echo"},
		{row: "3", what: "with operation identity / net/http echo", num: "identity", den: "echo", gate: 1.7, stretch: 1.4},
		{row: "4", what: "decisions/s at 32 connections, ours / OPA server", num: "opa load", den: "bare load", atLeast: true, gate: 2.5, stretch: 4},
		{row: "4", what: "  with operation identity", num: "opa load", den: "identity load", atLeast: true},
		{row: "4", what: "  shipped: gateway, identity and audit on", num: "opa load", den: "shipped load", atLeast: true},
		{row: "4", what: "  alternative: encoding/json stub", num: "opa load", den: "stub load", atLeast: true},
		{row: "4", what: "  ceiling: net/http echo / OPA server", num: "opa load", den: "echo load", atLeast: true},
		{row: "5", what: "server CPU per decision, ours / OPA server", num: "bare load", den: "opa load", metric: byCPU, gate: 1 / 2.4, stretch: 1 / 3.5},
		{row: "5", what: "  with operation identity", num: "identity load", den: "opa load", metric: byCPU},
		{row: "5", what: "  shipped: gateway, identity and audit on", num: "shipped load", den: "opa load", metric: byCPU},
		{row: "5", what: "  alternative: encoding/json stub", num: "stub load", den: "opa load", metric: byCPU},
		{row: "5", what: "  floor: net/http echo / OPA server", num: "echo load", den: "opa load", metric: byCPU},
		{row: "6", what: "serial decision, ours / OPA server", num: "bare", den: "opa", gate: 0.5, stretch: 0.35},
		{row: "6", what: "  shipped: gateway, identity and audit on", num: "shipped", den: "opa"},
		{row: "6", what: "  alternative: encoding/json stub", num: "stub", den: "opa"},
	}
	return g, nil
}

// appender is a recorder that encodes each record and keeps none.
type appender struct{ buf []byte }

func (a *appender) Record(_ context.Context, r *settle.Record) error {
	a.buf = r.MarshalAppend(a.buf[:0])
	return nil
}

// endToEnd is a harness that asks our backends, each a process of its own.
func endToEnd(e *env) (_ *group, err error) {
	var cs children
	var hs harnesses
	stop := func() { hs.close(e.ctx); cs.stop() }
	defer func() {
		if err != nil {
			stop()
		}
	}()
	g := &group{close: stop}
	deny, _, err := kilobyte(denied)
	if err != nil {
		return nil, err
	}
	one, err := e.policy("one", oneRule)
	if err != nil {
		return nil, err
	}
	echo, err := cs.start(e, "echo")
	if err != nil {
		return nil, err
	}
	g.targets = append(g.targets, pipeTarget("pipe echo", echo, deny.clone(0), perBlock, "hooks/intercept"))
	web, err := cs.start(e, "echohttp")
	if err != nil {
		return nil, err
	}
	addr, err := web.line()
	if err != nil {
		return nil, err
	}
	g.targets = append(g.targets, httpTarget("http echo", "http://"+addr+"/", "", deny.clone(1).next, perBlock, "hooks/intercept"))

	decide, err := e.build("decide")
	if err != nil {
		return nil, err
	}
	server, err := cs.start(e, "decide", "-policy", one, "-http")
	if err != nil {
		return nil, err
	}
	if addr, err = server.line(); err != nil {
		return nil, err
	}
	u := url.URL{Scheme: "http", Host: addr, Path: "/"}
	pipe := &ahp.StdioTransport{Command: decide, Args: []string{"-policy", one}, Lifecycle: ahp.Persistent}
	add := func(name, command string, proceeds bool, n int, tr ahp.Transport, rec harness.Recorder) error {
		h, err := hs.open(ahp.Version01, ahp.DenyOnly(), n, tr, rec, nil)
		if err != nil {
			return err
		}
		_, ev, err := kilobyte(command)
		if err != nil {
			return err
		}
		g.targets = append(g.targets, target{name, blockOf(perBlock, settles(e.ctx, h, ev, proceeds))})
		return nil
	}
	err = errors.Join(
		add("deny", denied, false, 1, pipe, harness.Discard),
		add("allow", harmless, true, 1, pipe, harness.Discard),
		add("allow recorded", harmless, true, 1, pipe, &appender{}),
		add("chain 2", harmless, true, 2, pipe, harness.Discard),
		add("chain 4", harmless, true, 4, pipe, harness.Discard),
		add("http allow", harmless, true, 1, &ahp.HTTPTransport{URL: u.String()}, harness.Discard),
	)
	g.compares = []comparison{
		{row: "e2e", what: "harness + stdio backend, deny / pipe echo", num: "deny", den: "pipe echo"},
		{row: "e2e", what: "harness + stdio backend, proceed / pipe echo", num: "allow", den: "pipe echo"},
		{row: "e2e", what: "  with identity and an encoded record", num: "allow recorded", den: "pipe echo"},
		{row: "e2e", what: "harness + HTTP backend, proceed / net/http echo", num: "http allow", den: "http echo"},
		{row: "e2e", what: "chain of 2 stdio backends / 1", num: "chain 2", den: "allow"},
		{row: "e2e", what: "chain of 4 stdio backends / 1", num: "chain 4", den: "allow"},
	}
	return g, err
}
