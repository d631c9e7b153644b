package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/wire01"
	"github.com/holdpoint/holdpoint/ahp/wiredraft"
	"github.com/holdpoint/holdpoint/backend"
	"github.com/holdpoint/holdpoint/facts"
	"github.com/holdpoint/holdpoint/gateway"
	"github.com/holdpoint/holdpoint/harness"
	"github.com/holdpoint/holdpoint/settle"
	"github.com/holdpoint/holdpoint/transport"
)

// draftGate is how much more than revision 0.1 revision draft may cost for the same
// event.
const draftGate = 1.2

// harnesses collects what a group opened, in order to close it.
type harnesses []*harness.Harness

// open makes a harness that asks n backends behind tr about tool calls. In revision
// draft it offers what caps says; revision 0.1 knows deny alone.
func (hs *harnesses) open(v ahp.Version, caps ahp.Capabilities, n int, tr ahp.Transport, rec harness.Recorder, local transport.Local) (*harness.Harness, error) {
	reg := &ahp.Registration{Version: v}
	o := harness.Options{Source: "urn:example:bench", Capabilities: caps, Recorder: rec}
	if local != nil {
		o.Local = map[string]transport.Local{}
	}
	s := ahp.Subscription{Events: []ahp.EventType{ahp.ToolBefore}, Mode: ahp.ModeIntercept, Timeout: 10 * time.Second, FailurePolicy: ahp.FailClosed}
	if v == ahp.VersionDraft {
		s.Content = ahp.ContentSelection{Default: ahp.SelectBody}
		o.Manifest = manifest(caps)
	}
	for i := range n {
		id := fmt.Sprintf("com.example.b%d", i)
		reg.Hooks = append(reg.Hooks, ahp.Backend{ID: id, Transport: tr, Subscriptions: []ahp.Subscription{s}})
		if local != nil {
			o.Local[id] = local
		}
	}
	h, err := harness.New(reg, o)
	if err == nil {
		*hs = append(*hs, h)
	}
	return h, err
}

func (hs *harnesses) close(ctx context.Context) {
	for _, h := range *hs {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
		_ = h.Close(ctx) // its processes are ours, and are killed with it
		cancel()
	}
}

func manifest(caps ahp.Capabilities) *ahp.Manifest {
	return &ahp.Manifest{
		Events:     []ahp.ManifestEvent{{Event: ahp.ToolBefore, Modes: []ahp.Mode{ahp.ModeIntercept}, Capabilities: &caps}},
		Gaps:       []ahp.Gap{{Path: "limits", Reason: "nothing is limited here"}},
		Transports: []string{"http", "stdio", "in_process"}, ToolPaths: []string{"native"}, ContentCategories: []string{"text"},
		Authentication: []string{}, ManagedPolicy: ahp.ManagedPolicy{Scopes: []ahp.Scope{}}, Correlation: []string{},
	}
}

// settles is one call of h about ev, which gets a new id each time.
func settles(ctx context.Context, h *harness.Harness, ev *ahp.Event, proceeds bool) func() error {
	return func() error {
		once := *ev
		once.ID = ""
		s, err := h.Begin(ctx, &once).Settle()
		if err == nil && s.Proceeds() != proceeds {
			err = fmt.Errorf("settled as %v", s)
		}
		return err
	}
}

// inDraft is ev as revision draft says it: the same tool call, with its origin and
// path, which are required there.
func inDraft(ev *ahp.Event) *ahp.Event {
	out, tool := *ev, *ev.Tool
	tool.Origin, tool.Path = ahp.OriginNative, "native"
	out.Tool = &tool
	return &out
}

// bulky is a tool call with an input of about n bytes.
func bulky(n int) *ahp.Event {
	ev := toolEvent("Write", ahp.KindOther, nil)
	ev.Tool.Input = document(n, false)
	return ev
}

// A revision is a revision of the protocol with the name of its targets.
type revision struct {
	name string
	v    ahp.Version
	caps ahp.Capabilities
}

// The middle one offers what revision 0.1 offers.
var revisions = []revision{
	{"0.1", ahp.Version01, ahp.DenyOnly()},
	{"draft", ahp.VersionDraft, ahp.DenyOnly()},
	{"draft full", ahp.VersionDraft, ahp.Bounds(ahp.ToolBefore)},
}

func (r *revision) event(ev *ahp.Event) *ahp.Event {
	if r.v == ahp.VersionDraft {
		return inDraft(ev)
	}
	return ev
}

// frame is the request about ev, without an end of line.
func (r *revision) frame(ev *ahp.Event) (*frame, error) {
	var text []byte
	var err error
	if ev = r.event(ev); r.v == ahp.VersionDraft {
		text, err = wiredraft.AppendIntercept(nil, ev, &r.caps, nil, nil)
	} else {
		text, err = wire01.AppendIntercept(nil, ev, r.caps, nil)
	}
	if err != nil {
		return nil, err
	}
	f := newFrame(text)
	if f.at == nil {
		return nil, errors.New("no id in the frame")
	}
	return f, nil
}

// serves is what a server speaks that is asked in this revision: 0.1 alone, or both,
// so that draft pays for telling them apart.
func (r *revision) serves() []ahp.Version {
	if r.v == ahp.VersionDraft {
		return gateway.Revisions()
	}
	return []ahp.Version{ahp.Version01}
}

// draft is revision draft beside revision 0.1.
func draft(e *env) (_ *group, err error) {
	var cs children
	var hs harnesses
	stop := func() { hs.close(e.ctx); cs.stop() }
	defer func() {
		if err != nil {
			stop()
		}
	}()
	g := &group{close: stop}
	if err := draftWire(e, g, &cs, &hs); err != nil {
		return nil, err
	}
	if err := draftLocal(e, g, &hs); err != nil {
		return nil, err
	}
	return g, draftSettle(g)
}

// draftWire adds harnesses that ask a backend in a process of its own.
func draftWire(e *env, g *group, cs *children, hs *harnesses) error {
	plain, ev, err := kilobyte(harmless)
	if err != nil {
		return err
	}
	one, err := e.policy("one", oneRule)
	if err != nil {
		return err
	}
	echo, err := cs.start(e, "echo")
	if err != nil {
		return err
	}
	web, err := cs.start(e, "echohttp")
	if err != nil {
		return err
	}
	addr, err := web.line()
	if err != nil {
		return err
	}
	decide, err := e.build("decide")
	if err != nil {
		return err
	}
	g.targets = append(g.targets,
		pipeTarget("pipe echo", echo, plain.clone(0), perBlock, "hooks/intercept"),
		httpTarget("http echo", "http://"+addr+"/", "", plain.clone(1).next, perBlock, "hooks/intercept"),
	)
	for _, r := range revisions {
		args := []string{"-policy", one}
		if r.v == ahp.VersionDraft {
			args = append(args, "-draft")
		}
		server, err := cs.start(e, "decide", append(args, "-http")...)
		if err != nil {
			return err
		}
		if addr, err = server.line(); err != nil {
			return err
		}
		u := url.URL{Scheme: "http", Host: addr, Path: "/"}
		for _, c := range []struct {
			name string
			tr   ahp.Transport
		}{
			{"stdio ", &ahp.StdioTransport{Command: decide, Args: args, Lifecycle: ahp.Persistent}},
			{"http ", &ahp.HTTPTransport{URL: u.String()}},
		} {
			h, err := hs.open(r.v, r.caps, 1, c.tr, harness.Discard, nil)
			if err != nil {
				return err
			}
			g.targets = append(g.targets, target{c.name + r.name, blockOf(perBlock, settles(e.ctx, h, r.event(ev), true))})
		}
	}
	for _, c := range []struct{ name, what, echo, anchor string }{
		{"stdio ", "harness + stdio backend", "pipe echo", "pipe echo"},
		{"http ", "harness + HTTP backend", "http echo", "net/http echo"},
	} {
		g.compares = append(g.compares,
			comparison{row: "draft", what: c.what + ", draft / 0.1", num: c.name + "draft", den: c.name + "0.1", gate: draftGate},
			comparison{row: "draft", what: "  every effect offered / 0.1", num: c.name + "draft full", den: c.name + "0.1"},
			comparison{row: "draft", what: "  draft / " + c.anchor, num: c.name + "draft", den: c.echo},
			comparison{row: "draft", what: "  0.1 / " + c.anchor, num: c.name + "0.1", den: c.echo},
		)
	}
	return nil
}

// draftLocal adds a backend in this process, asked with frames and by a harness.
func draftLocal(e *env, g *group, hs *harnesses) error {
	_, small, err := kilobyte(harmless)
	if err != nil {
		return err
	}
	set, err := parsePolicy(oneRule)
	if err != nil {
		return err
	}
	silent := backend.HandlerFunc(func(context.Context, *backend.Request) ([]ahp.Effect, error) { return nil, nil })
	rule := backend.HandlerFunc(func(ctx context.Context, r *backend.Request) ([]ahp.Effect, error) {
		fs, err := facts.Extract(ctx, r.Event, factOptions)
		if err != nil {
			return nil, err
		}
		d, err := set.Decide(ctx, fs)
		return d.Effects(), err
	})
	big := bulky(100 << 10)
	mark := []byte(`"effects":[]`)
	for _, t := range []struct {
		name    string
		handler backend.Handler
		ev      *ahp.Event
		n       int
	}{
		{"silent ", silent, small, perBlock},
		{"rule ", rule, small, perBlock},
		{"silent 100 KB ", silent, big, 20},
	} {
		for _, r := range revisions {
			srv, err := backend.New(t.handler, backend.Options{Versions: r.serves(), Prompt: true})
			if err != nil {
				return err
			}
			f, err := r.frame(t.ev)
			if err != nil {
				return err
			}
			h, err := hs.open(r.v, r.caps, 1, &ahp.LocalTransport{}, harness.Discard, srv.Local)
			if err != nil {
				return err
			}
			g.targets = append(g.targets,
				inProcess(t.name+r.name, t.n, func() error {
					b, err := srv.Local(e.ctx, f.next())
					if err == nil && !bytes.Contains(b, mark) {
						err = fmt.Errorf("answer %q", b)
					}
					return err
				}),
				inProcess("asked "+t.name+r.name, t.n, settles(e.ctx, h, r.event(t.ev), true)),
			)
		}
	}
	beside := func(what, name string, gate float64) {
		g.compares = append(g.compares, comparison{row: "draft", what: what, num: name + "draft", den: name + "0.1", gate: gate})
	}
	beside("backend alone, in process, no rule, draft / 0.1", "silent ", draftGate)
	g.compares = append(g.compares, comparison{row: "draft", what: "  every effect offered / 0.1", num: "silent draft full", den: "silent 0.1"})
	beside("  one rule", "rule ", draftGate)
	beside("  no rule, 100 KB of input", "silent 100 KB ", 0)
	beside("harness + backend in process, no rule, draft / 0.1", "asked silent ", 0)
	beside("  one rule", "asked rule ", 0)
	beside("  no rule, 100 KB of input", "asked silent 100 KB ", 0)
	return nil
}

// batch is how many settlements are timed as one: a single one is near the clock's
// own cost.
const batch = 100

// inBatches is [inProcess] with the figures of one of the calls in a batch.
func inBatches(name string, n int, do func() error) target {
	t := inProcess(name, n, func() error {
		for range batch {
			if err := do(); err != nil {
				return err
			}
		}
		return nil
	})
	return target{name, func() (sample, error) {
		s, err := t.block()
		s.ns /= batch
		s.allocs /= batch
		return s, err
	}}
}

var errRefused = errors.New("the settlement refuses")

// draftSettle adds the settlement alone: the state machine, with decoded effects.
func draftSettle(g *group) error {
	caps, full := ahp.DenyOnly(), ahp.Bounds(ahp.ToolBefore)
	nothing := settle.Step{Backend: "com.example.b0", Policy: ahp.FailClosed}
	g.targets = append(g.targets, inBatches("chain", 20, func() error {
		c, _ := settle.Start(caps).Apply(nothing)
		if !c.Settlement().Proceeds() {
			return errRefused
		}
		return nil
	}))
	ev := inDraft(bulky(1 << 10))
	for _, n := range []int{1, 4, 16} {
		name := fmt.Sprintf("boundary %d", n)
		g.targets = append(g.targets, inBatches(name, 20, func() error {
			b := settle.Open(ev, &full, settle.BoundaryOptions{})
			for range n {
				b, _ = b.Apply(nothing)
			}
			if !b.Settlement().Proceeds() {
				return errRefused
			}
			return nil
		}))
		g.compares = append(g.compares, comparison{
			row: "draft", what: fmt.Sprintf("settle alone, no effects, %d asked / 0.1, one asked", n), num: name, den: "chain",
		})
	}
	for _, size := range []int{1 << 10, 100 << 10} {
		ev := inDraft(bulky(size))
		label := fmt.Sprintf("%d KB", size>>10)
		in := jsontext.Value(ev.Tool.Input)
		reps := max(20, calls(size))
		g.targets = append(g.targets, inProcess("valid "+label, reps, func() error {
			if !in.IsValid() {
				return errors.New("the input is not valid")
			}
			return nil
		}))
		for _, n := range []int{1, 4, 16} {
			steps := make([]settle.Step, n)
			for i := range steps {
				steps[i] = nothing
				steps[i].Effects = []ahp.Effect{&ahp.Modify{
					Target: ahp.TargetInput, Operation: ahp.OpMerge, Value: ahp.Value{JSON: ahp.Raw(`{"id":"moved-` + strconv.Itoa(i) + `"}`)},
				}}
			}
			merged := func() (settle.Boundary, error) {
				b := settle.Open(ev, &full, settle.BoundaryOptions{})
				for i := range steps {
					var v settle.Verdict
					if b, v = b.Apply(steps[i]); !v.Changed {
						return b, fmt.Errorf("merge %d: %v", i, v.Failure)
					}
				}
				return b, nil
			}
			b, err := merged()
			if err != nil {
				return err
			}
			if want := fmt.Sprintf(`"id":"moved-%d"`, n-1); !bytes.Contains(b.Event().Tool.Input, []byte(want)) {
				return fmt.Errorf("after %d merges there is no %s in the input", n, want)
			}
			name := fmt.Sprintf("merge %d %s", n, label)
			g.targets = append(g.targets, inProcess(name, reps, func() error { _, err := merged(); return err }))
			g.compares = append(g.compares, comparison{
				row: "draft", what: fmt.Sprintf("settle alone, %d asked, a merge each, %s / its validation", n, label), num: name, den: "valid " + label,
			})
			if n > 1 {
				continue
			}
			g.targets = append(g.targets, inProcess(name+" settled", reps, func() error {
				b, err := merged()
				if err == nil && b.Settlement().Operation == "" {
					err = errRefused
				}
				return err
			}))
			g.compares = append(g.compares, comparison{
				row: "draft", what: "  with the identity of the new operation", num: name + " settled", den: "valid " + label,
			})
		}
	}
	return nil
}
