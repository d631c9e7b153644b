package main

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	webpki "github.com/gowebpki/jcs"
	"github.com/open-policy-agent/opa/v1/rego"
	"mvdan.cc/sh/v3/syntax"

	"github.com/holdpoint/holdpoint/agenthooks"
	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/wire01"
	"github.com/holdpoint/holdpoint/backend"
	"github.com/holdpoint/holdpoint/facts"
	"github.com/holdpoint/holdpoint/jcs"
	"github.com/holdpoint/holdpoint/policy"
	"github.com/holdpoint/holdpoint/policy/cel"
	"github.com/holdpoint/holdpoint/shell"
)

// inProcess measures n calls of do, one by one, with their allocations; the cost
// is that of the middle call, as in [blockOf]. The collector runs before the block,
// not in it, so its share is in no figure of small calls: the allocations tell it.
func inProcess(name string, n int, do func() error) target {
	block := blockOf(n, do)
	return target{name, func() (sample, error) {
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		s, err := block()
		runtime.ReadMemStats(&after)
		s.allocs = float64(after.Mallocs-before.Mallocs) / float64(n)
		return s, err
	}}
}

// calls is how many calls of about that size make a block of a few milliseconds.
func calls(size int) int { return max(2, 200*1024/(size+512)) }

// document is JSON of about n bytes: many objects whose members are out of
// order, as tool arguments hold them, or one string.
func document(n int, oneString bool) []byte {
	if oneString {
		b, err := json.Marshal(map[string]string{"path": "a.go", "content": strings.Repeat("a line of text\nand \"quotes\" ", n/30)})
		if err != nil {
			panic(err)
		}
		return b
	}
	rnd := rand.New(rand.NewPCG(1, 2)) // the same document in every run
	var b bytes.Buffer
	b.WriteString(`{"rows":[`)
	for i := 0; b.Len() < n-200; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		members := []string{
			fmt.Sprintf(`"path":"src/pkg/file%d.go"`, i), fmt.Sprintf(`"line":%d`, i*7), fmt.Sprintf(`"ratio":%d.25`, i), `"ok":true`,
			`"body":"a line of text\nand a second, longer one with \"quotes\""`, `"tags":["x","é"]`,
		}
		rnd.Shuffle(len(members), func(i, j int) { members[i], members[j] = members[j], members[i] })
		b.WriteString("{" + strings.Join(members, ",") + "}")
	}
	b.WriteString(`],"id":"tc-1"}`)
	return b.Bytes()
}

// identities is row 9: canonical JSON and its digest.
func identities(*env) (*group, error) {
	g := &group{}
	for _, in := range []struct {
		name          string
		text          []byte
		gate, stretch float64
	}{
		{"1 KB", document(1<<10, false), 4, 7},
		{"20 KB", document(20<<10, false), 4, 0},
		{"1 MB, one string", document(1<<20, true), 3, 0},
		{"1 MB, many objects", document(1<<20, false), 3, 6},
	} {
		theirs := func() (string, error) {
			b, err := webpki.Transform(in.text)
			if err != nil {
				return "", err
			}
			sum := sha256.Sum256(b)
			return "sha256:" + hex.EncodeToString(sum[:]), nil
		}
		a, err := jcs.Digest(in.text)
		if err != nil {
			return nil, err
		}
		if b, err := theirs(); err != nil || a != b {
			return nil, fmt.Errorf("%s: digests differ: %s and %s, %w", in.name, a, b, err)
		}
		g.targets = append(g.targets,
			inProcess("ours "+in.name, calls(len(in.text)), func() error { _, err := jcs.Digest(in.text); return err }),
			inProcess("theirs "+in.name, calls(len(in.text)), func() error { _, err := theirs(); return err }),
		)
		g.compares = append(g.compares, comparison{
			row: "9", what: "gowebpki/jcs / identity, " + in.name, num: "theirs " + in.name, den: "ours " + in.name, atLeast: true, gate: in.gate, stretch: in.stretch,
		})
	}
	return g, nil
}

func engine() (policy.Engine, error) { return cel.New(cel.Options{}) }

func parsePolicy(text string) (*policy.Set, error) {
	en, err := engine()
	if err != nil {
		return nil, err
	}
	return policy.Parse("bench.yaml", []byte(text), policy.Options{Engine: en})
}

var factOptions = facts.Options{Home: "/home/dev", Dialect: shell.Bash}

// embedded is row 10: the decision as a library, bytes in.
func embedded(e *env) (*group, error) {
	const n = 100
	f, ev, err := kilobyte(denied)
	if err != nil {
		return nil, err
	}
	set, err := parsePolicy(oneRule)
	if err != nil {
		return nil, err
	}
	pack, err := parsePolicy(defaultRules)
	if err != nil {
		return nil, err
	}
	ours := func(set *policy.Set) func() error {
		return func() error {
			m, bad := wire01.DecodeRequest(f.text[:len(f.text)-1], wire01.Limits{})
			if bad != nil {
				return bad
			}
			fs, err := facts.Extract(e.ctx, m.Event, factOptions)
			if err != nil {
				return err
			}
			d, err := set.Decide(e.ctx, fs)
			if err == nil && !d.Denied() {
				err = errors.New("not refused")
			}
			return err
		}
	}
	handler := backend.HandlerFunc(func(ctx context.Context, r *backend.Request) ([]ahp.Effect, error) {
		fs, err := facts.Extract(ctx, r.Event, factOptions)
		if err != nil {
			return nil, err
		}
		d, err := set.Decide(ctx, fs)
		return d.Effects(), err
	})
	server := func(name string, o backend.Options) (target, error) {
		srv, err := backend.New(handler, o)
		return inProcess(name, n, func() error {
			b, err := srv.Local(e.ctx, bytes.TrimSuffix(f.next(), []byte("\n")))
			if err == nil && !bytes.Contains(b, []byte(`"deny"`)) {
				err = fmt.Errorf("answer %q", b)
			}
			return err
		}), err
	}
	apart, err := server("server", backend.Options{})
	if err != nil {
		return nil, err
	}
	inPlace, err := server("prompt server", backend.Options{Prompt: true})
	if err != nil {
		return nil, err
	}
	input, err := opaInput(ev)
	if err != nil {
		return nil, err
	}
	query, err := rego.New(rego.Query("data.holdpoint.decision"), rego.Module("policy.rego", regoModule)).PrepareForEval(e.ctx)
	if err != nil {
		return nil, err
	}
	theirs := func() error {
		var v any
		if err := json.Unmarshal(input, &v); err != nil {
			return err
		}
		rs, err := query.Eval(e.ctx, rego.EvalInput(v))
		if err != nil {
			return err
		}
		if d, ok := rs[0].Expressions[0].Value.(map[string]any); !ok || d["effect"] != "deny" {
			return fmt.Errorf("decided %v", rs)
		}
		return nil
	}
	return &group{
		targets: []target{
			inProcess("ours", n, ours(set)),
			inProcess("pack", n, ours(pack)),
			apart,
			inPlace,
			inProcess("opa", n, theirs),
		},
		compares: []comparison{
			{row: "10", what: "embedded decision / embedded OPA, bytes in", num: "ours", den: "opa", gate: 0.5, stretch: 0.3},
			{row: "10", what: "  default pack instead of one rule", num: "pack", den: "opa"},
			{row: "10", what: "  bytes out too: backend.Server.Local, Prompt", num: "prompt server", den: "opa"},
			{row: "10", what: "  bytes out too: backend.Server.Local", num: "server", den: "opa"},
			{row: "10", what: "  embedded OPA / itself", num: "opa", den: "opa"},
		},
	}, nil
}

// plain is what agents run most of the time.
var plain = []string{
	"ls -la", "git status --short", "go test ./...", "cat internal/parser/recover.go", "rg -n 'func Parse' --type go",
	"git diff HEAD~1 -- internal/parser", "npm run build", "python3 -m pytest tests/test_parser.py -q", "mkdir -p build/out", "git commit -m 'parser: recover after a stray brace'",
}

// shellCorpus is the commands of the shared corpus.
func shellCorpus() ([]string, error) {
	root := os.Getenv("HOLDPOINT_CORPUS")
	if root == "" {
		root = filepath.Join("..", "..", "shared", "corpus")
	}
	f, err := os.Open(filepath.Join(root, "shell", "dev.jsonl"))
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var out []string
	lines := bufio.NewScanner(f)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var c struct {
			Command string `json:"command"`
		}
		if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
			return nil, err
		}
		out = append(out, c.Command)
	}
	return out, lines.Err()
}

// shellFacts is row 11: what it costs to know what a command line does, beside
// parsing it.
func shellFacts(e *env) (*group, error) {
	g := &group{}
	o := shell.Options{Dialect: shell.Bash, CWD: "/home/dev/repo", Roots: []string{"/home/dev/repo"}, Home: "/home/dev"}
	sets := []struct {
		name          string
		cmds          []string
		gate, stretch float64
	}{{"ten plain commands", plain, 4, 2.5}}
	corpus, err := shellCorpus()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if corpus == nil {
		g.missing = append(g.missing, "row 11: the corpus is not here")
	} else {
		sets = append(sets, struct {
			name          string
			cmds          []string
			gate, stretch float64
		}{fmt.Sprintf("corpus of %d commands", len(corpus)), corpus, 6, 4})
	}
	for _, s := range sets {
		parser := syntax.NewParser(syntax.Variant(syntax.LangBash))
		events := make([]*ahp.Event, len(s.cmds))
		for i, c := range s.cmds {
			events[i] = bashEvent(c)
		}
		passes := max(5, 400/len(s.cmds))
		took := make([]float64, passes)
		// The mean over the commands of what each takes in the middle one of its runs.
		per := func(name string, do func(i int, cmd string) error) {
			g.targets = append(g.targets, target{name + s.name, func() (sample, error) {
				runtime.GC()
				var before, after runtime.MemStats
				runtime.ReadMemStats(&before)
				var out sample
				for i, c := range s.cmds {
					for p := range took {
						start := time.Now()
						if err := do(i, c); err != nil {
							return sample{}, err
						}
						took[p] = float64(time.Since(start))
					}
					out.ns += spreadOf(took).Median / float64(len(s.cmds))
				}
				runtime.ReadMemStats(&after)
				out.allocs = float64(after.Mallocs-before.Mallocs) / float64(passes*len(s.cmds))
				return out, nil
			}})
		}
		per("parse ", func(_ int, cmd string) error {
			_, _ = parser.Parse(strings.NewReader(cmd), "") // some of the corpus is no shell
			return nil
		})
		per("analyze ", func(_ int, cmd string) error { shell.Analyze(e.ctx, cmd, o); return nil })
		per("extract ", func(i int, _ string) error {
			_, err := facts.Extract(e.ctx, events[i], factOptions)
			return err
		})
		g.compares = append(g.compares,
			comparison{row: "11", what: "shell facts / bare parse, " + s.name, num: "analyze " + s.name, den: "parse " + s.name, gate: s.gate, stretch: s.stretch},
			comparison{row: "11", what: "  with hazards, paths, addresses (facts.Extract)", num: "extract " + s.name, den: "parse " + s.name},
		)
	}
	return g, nil
}

// ruleCounts shows what the number of rules costs a whole decision.
func ruleCounts(e *env) (*group, error) {
	g := &group{}
	events := []struct {
		name string
		ev   *ahp.Event
	}{
		{"plain command", bashEvent("go test ./... && git status")},
		{"force push", bashEvent("git push --force origin main")},
		{"edit of 1 KB", toolEvent("Edit", ahp.KindFileEdit, map[string]any{
			"file_path": "/home/dev/repo/a.go", "old_string": "a", "new_string": strings.Repeat("x := 1; ", 128),
		})},
	}
	decide := func(ev *ahp.Event, set *policy.Set) func() error {
		return func() error {
			f, err := facts.Extract(e.ctx, ev, factOptions)
			if err == nil && set != nil {
				_, err = set.Decide(e.ctx, f)
			}
			return err
		}
	}
	sets := map[string]*policy.Set{"facts alone": nil}
	names := []string{"10 rules", "100 rules", "1000 rules", "default pack"}
	for i, n := range []int{10, 100, 1000} {
		s, err := parsePolicy(manyRules(n, policy.HazardCodes()))
		if err != nil {
			return nil, err
		}
		sets[names[i]] = s
	}
	var err error
	if sets["default pack"], err = parsePolicy(defaultRules); err != nil {
		return nil, err
	}
	for _, ev := range events {
		g.targets = append(g.targets, inProcess(ev.name, 200, decide(ev.ev, nil)))
		for _, n := range names {
			g.targets = append(g.targets, inProcess(ev.name+n, 200, decide(ev.ev, sets[n])))
			g.compares = append(g.compares, comparison{
				row: "rules", what: fmt.Sprintf("whole decision, %s, %s / facts alone", ev.name, n), num: ev.name + n, den: ev.name,
			})
		}
	}
	return g, nil
}

// onOneProcessor is t while the program has one processor. An interceptor has a
// goroutine of its own, and whoever starts one wakes an idle processor for it: a
// system call, and the caches of another CPU if that comes first.
func onOneProcessor(t target) target {
	return target{t.name + " on one processor", func() (sample, error) {
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
		return t.block()
	}}
}

// emissions is what an Agent Hooks emission costs beside the identity alone.
func emissions(e *env) (*group, error) {
	g := &group{}
	allow := agenthooks.InterceptorFunc(func(context.Context, *agenthooks.Context) (agenthooks.Verdict, error) {
		return agenthooks.Allow(), nil
	})
	for _, size := range []int{1 << 10, 20 << 10, 1 << 20} {
		in := document(size, false)
		label := fmt.Sprintf("%d KB", size>>10)
		for _, n := range []int{0, 1, 4, 16} {
			o := agenthooks.Options{AgentID: "agent-1", Framework: "reference", MaxRecords: -1, MaxContextBytes: 8 << 20}
			if n == 0 {
				o.Mode = agenthooks.EvaluateOnly // nobody refuses what nobody looked at
			}
			for range n {
				o.Interceptors = append(o.Interceptors, agenthooks.Registration{Interceptor: allow})
			}
			h, err := agenthooks.New(o)
			if err != nil {
				return nil, err
			}
			s, err := h.NewSession(agenthooks.SessionOptions{ID: "sess-1"})
			if err != nil {
				return nil, err
			}
			if _, err := s.EmitUnchecked(e.ctx, agenthooks.Startup("write")); err != nil {
				return nil, err
			}
			ev := agenthooks.BeforeTool("tc-1", "write", jsontext.Value(in))
			if n == 0 {
				out, err := s.Emit(e.ctx, ev)
				if err != nil {
					return nil, err
				}
				c := out.Context()
				g.targets = append(g.targets, inProcess("identity "+label, calls(size), func() error { _, err := agenthooks.Identity(c); return err }))
			}
			name := fmt.Sprintf("emit %d %s", n, label)
			g.targets = append(g.targets, inProcess(name, calls(size), func() error { _, err := s.Emit(e.ctx, ev); return err }))
			c := comparison{row: "emit", what: fmt.Sprintf("emission, %d interceptors, %s / identity alone", n, label), num: name, den: "identity " + label}
			g.compares = append(g.compares, c)
			if n == 1 && size == 1<<10 {
				one := onOneProcessor(g.targets[len(g.targets)-1])
				g.targets = append(g.targets, one)
				g.compares[len(g.compares)-1].gate = 1.6
				c.what, c.num = "  on one processor", one.name
				g.compares = append(g.compares, c)
			}
		}
	}
	return g, nil
}
