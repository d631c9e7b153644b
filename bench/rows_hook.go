package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// A program is one process per event: it gets the payload on stdin.
type program struct {
	args    []string
	payload []byte
	code    int    // exit code that is expected
	want    string // must be on stdout; empty means that nothing may be
}

// run starts the program once and waits for it. Stdin is a pipe that holds the
// whole payload already, and stdout a pipe that is read when the process has
// ended, so that a run costs the parent no goroutine.
func (p *program) run() ([]byte, error) {
	inR, in, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer inR.Close()
	out, outW, err := os.Pipe()
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	defer out.Close()
	if _, err := in.Write(p.payload); err != nil { // less than a pipe holds
		return nil, errors.Join(err, in.Close(), outW.Close())
	}
	if err := in.Close(); err != nil {
		return nil, errors.Join(err, outW.Close())
	}
	cmd := exec.Cmd{Path: p.args[0], Args: p.args, Env: os.Environ(), Stdin: inR, Stdout: outW}
	err = cmd.Run()
	if cerr := outW.Close(); cerr != nil {
		return nil, cerr
	}
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return nil, err
	}
	answer, err := io.ReadAll(out)
	if err != nil {
		return nil, err
	}
	if code := cmd.ProcessState.ExitCode(); code != p.code || !bytes.Contains(answer, []byte(p.want)) || p.want == "" && len(answer) > 0 {
		return nil, fmt.Errorf("%s: exit code %d, stdout %q; expected %d and %q", p.args[0], code, answer, p.code, p.want)
	}
	return answer, nil
}

func (p *program) target(name string, n int) target {
	return target{name, blockOf(n, func() error { _, err := p.run(); return err })}
}

// fixed is a figure that does not change from block to block.
func fixed(name string, v float64) target {
	return target{name, func() (sample, error) { return sample{bytes: v, allocs: math.NaN()}, nil }}
}

const (
	mebi  = 1.0 / (1 << 20)
	mega  = 1e-6
	spawn = 3 // processes of each kind in a block
)

// spawns is rows 7, 8 and 14: what one hook event costs an agent.
func spawns(e *env) (_ *group, err error) {
	var cs children
	defer func() {
		if err != nil {
			cs.stop()
		}
	}()
	g := &group{close: func() { cs.stop() }}
	pack, err := e.policy("default", defaultRules)
	if err != nil {
		return nil, err
	}
	_, socket, _, err := e.startGateway(&cs, "gw-hook", pack)
	if err != nil {
		return nil, err
	}
	_, durable, _, err := e.startGateway(&cs, "gw-sync", pack, "--audit-sync", "always")
	if err != nil {
		return nil, err
	}
	path := map[string]string{}
	for _, name := range []string{"holdpoint-hook", "echo", "hello", "spawn"} {
		if path[name], err = e.build(name); err != nil {
			return nil, err
		}
	}
	deny, err := hookPayload(denied)
	if err != nil {
		return nil, err
	}
	plain, err := hookPayload(harmless)
	if err != nil {
		return nil, err
	}
	client := func(socket string) []string {
		return []string{path["holdpoint-hook"], "--failure-policy", "fail-closed", "--socket", socket, "claude-code", "PreToolUse"}
	}
	hook := &program{client(socket), deny, 2, `"deny"`}
	add := func(name string, p *program, n int) { g.targets = append(g.targets, p.target(name, n)) }
	add("echo", &program{[]string{path["echo"]}, deny, 0, "PreToolUse"}, spawn)
	add("hook", hook, spawn)
	add("hook allow", &program{client(socket), plain, 0, ""}, spawn)
	add("hook sync", &program{client(durable), deny, 2, `"deny"`}, spawn)
	add("hello", &program{[]string{path["hello"]}, nil, 0, "hello"}, spawn)
	add("version", &program{[]string{path["holdpoint-hook"], "--version"}, nil, 0, "holdpoint-hook"}, spawn)
	g.compares = []comparison{
		{row: "7", what: "hook client with decision (deny) / Go echo process", num: "hook", den: "echo", gate: 1.25, stretch: 1.12},
		{row: "7", what: "  the same, harmless command", num: "hook allow", den: "echo"},
		{row: "7", what: "  the same, record on disk before the answer", num: "hook sync", den: "echo"},
	}

	interpreters := []struct {
		name, what, file, script string
		args                     []string
		gate, stretch            float64
	}{
		{"/usr/bin/python3", "hook client / python3 -I -S hook script", "hook.py", pyHook, []string{"-I", "-S"}, 1. / 10, 1. / 14},
		{"/usr/bin/python3", "  / python3 hook script, as it is usually started", "hook.py", pyHook, nil, 0, 0},
		{"node", "hook client / Node hook script", "hook.cjs", nodeHook, nil, 1. / 40, 1. / 55},
	}
	for _, in := range interpreters {
		bin, err := exec.LookPath(in.name)
		if err != nil {
			g.missing = append(g.missing, fmt.Sprintf("row 8: %s is not here", in.name))
			continue
		}
		script := filepath.Join(e.dir, in.file)
		if err := os.WriteFile(script, []byte(in.script), 0o600); err != nil {
			return nil, err
		}
		args := append(append([]string{bin}, in.args...), script)
		version, err := exec.Command(bin, "--version").Output()
		if err != nil {
			return nil, err
		}
		add(in.what, &program{args, deny, 2, `"deny"`}, 1)
		g.compares = append(g.compares, comparison{
			row: "8", what: in.what + " (" + strings.TrimSpace(string(version)) + ")", num: "hook", den: in.what, gate: in.gate, stretch: in.stretch,
		})
	}

	peak := func(name string, args []string, payload []byte) {
		p := &program{append([]string{path["spawn"]}, args...), payload, 0, "\n"}
		g.targets = append(g.targets, target{name, func() (sample, error) {
			out, err := p.run()
			if err != nil {
				return sample{}, err
			}
			kib, err := strconv.Atoi(strings.TrimSpace(string(out)))
			return sample{bytes: float64(kib) * 1024, allocs: math.NaN()}, err
		}})
	}
	peak("hook peak", client(socket), deny)
	peak("hello peak", []string{path["hello"]}, nil)
	size, err := os.Stat(path["holdpoint-hook"])
	if err != nil {
		return nil, err
	}
	g.targets = append(g.targets, fixed("hook size", float64(size.Size())))
	g.compares = append(g.compares,
		comparison{row: "14", what: "hook client start-up (--version) / hello", num: "version", den: "hello", gate: 1.2, stretch: 1.1},
		comparison{row: "14", what: "hook client, peak resident memory", num: "hook peak", metric: byBytes, unit: " MiB", scale: mebi, gate: 3, stretch: 2.5},
		comparison{row: "14", what: "  hello, by the same meter", num: "hello peak", metric: byBytes, unit: " MiB", scale: mebi},
		comparison{row: "14", what: "hook client, size", num: "hook size", metric: byBytes, unit: " MB", scale: mega, gate: 2.5, stretch: 2.1},
	)
	return g, nil
}

// memory is row 15: what a gateway holds when it has just started, and after
// load. Each round starts new processes.
func memory(e *env) (*group, error) {
	slice := 3 * time.Second
	if e.quick {
		slice = time.Second
	}
	deny, ev, err := kilobyte(denied)
	if err != nil {
		return nil, err
	}
	plain, _, err := kilobyte(harmless)
	if err != nil {
		return nil, err
	}
	input, err := opaInput(ev)
	if err != nil {
		return nil, err
	}
	opaFrame := newFrame(append(append([]byte(`{"input":`), input...), '}'))
	rego := filepath.Join(e.dir, "policy.rego")
	if err := os.WriteFile(rego, []byte(regoModule), 0o600); err != nil {
		return nil, err
	}
	// after keeps the second figure of a round until its own target is asked.
	after := map[string]float64{}
	round := 0
	g := &group{perRound: 0.2}
	add := func(name string, frames []*frame, path, token, want string, start func(cs *children, round int) (*child, string, error)) {
		g.targets = append(g.targets, target{name, func() (_ sample, err error) {
			var cs children
			defer cs.stop()
			round++
			c, addr, err := start(&cs, round)
			if err != nil {
				return sample{}, err
			}
			time.Sleep(300 * time.Millisecond) // what starts up has settled
			idle, err := resident(c.pid(), "VmRSS")
			if err != nil {
				return sample{}, err
			}
			t, err := loadTarget(name, addr, path, token, c.pid(), 32, slice, func(lane int) func() []byte {
				return frames[lane%len(frames)].clone(round*100 + lane).next
			}, want)
			if err != nil {
				return sample{}, err
			}
			if _, err := t.block(); err != nil {
				return sample{}, err
			}
			after[name], err = resident(c.pid(), "VmRSS")
			return sample{bytes: idle, allocs: math.NaN()}, err
		}})
	}
	both := []*frame{deny, plain}
	// Without a text that may hold a secret the detector's rules stay unloaded.
	holds, _, err := kilobyte("export AWS_ACCESS_KEY_ID=" + "AKIA" + "QYLPMN5HFIQR7XYA && ./deploy")
	if err != nil {
		return nil, err
	}
	gateway := func(name, rules string, frames ...*frame) {
		add(name, frames, "/ahp", token, `"effects"`, func(cs *children, round int) (*child, string, error) {
			dir, err := e.policy(name, rules)
			if err != nil {
				return nil, "", err
			}
			c, _, addr, err := e.startGateway(cs, fmt.Sprintf("gw-%s-%d", name, round), dir)
			return c, addr, err
		})
	}
	gateway("gateway", defaultRules, both...)
	gateway("secrets", secretRules, deny, plain, holds)
	add("echo", both, "/", "", "hooks/intercept", func(cs *children, _ int) (*child, string, error) {
		c, err := cs.start(e, "echohttp")
		if err != nil {
			return nil, "", err
		}
		addr, err := c.line()
		return c, addr, err
	})
	add("opa", []*frame{opaFrame}, "/v1/data/holdpoint/decision", "", `"deny"`, func(cs *children, _ int) (*child, string, error) {
		return e.startOPA(cs, rego)
	})
	for _, t := range g.targets[:len(g.targets):len(g.targets)] {
		g.targets = append(g.targets, target{t.name + " loaded", func() (sample, error) {
			return sample{bytes: after[t.name], allocs: math.NaN()}, nil
		}})
	}
	g.inOrder = true
	c := func(what, num string, gate, stretch float64) comparison {
		return comparison{row: "15", what: what, num: num, metric: byBytes, unit: " MiB", scale: mebi, gate: gate, stretch: stretch}
	}
	g.compares = []comparison{
		c("gateway, default pack, idle", "gateway", 20, 12),
		c("gateway, default pack, after load", "gateway loaded", 35, 25),
		c("gateway with the secret detector, idle", "secrets", 0, 0),
		c("gateway with the secret detector, after load", "secrets loaded", 0, 0),
		c("  net/http echo, idle", "echo", 0, 0),
		c("  net/http echo, after load", "echo loaded", 0, 0),
		c("  OPA server, idle", "opa", 0, 0),
		c("  OPA server, after load", "opa loaded", 0, 0),
	}
	return g, nil
}
