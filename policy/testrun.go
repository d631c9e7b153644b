package policy

import (
	"context"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"

	"github.com/go-json-experiment/json"
	"go.yaml.in/yaml/v4"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/facts"
	"github.com/holdpoint/holdpoint/shell"
)

// A TestResult is the outcome of one case of a *_test.yaml file.
type TestResult struct {
	File string   `json:"file"`
	Line int      `json:"line"`
	Name string   `json:"name"`
	OK   bool     `json:"ok"`
	Diff []string `json:"diff,omitempty"` // one line per difference: what, got, want
}

// A TestReport is the outcome of [Test].
type TestReport struct {
	Results  []TestResult `json:"results"`
	Problems []*Problem   `json:"problems,omitempty"` // faults of the case files
	Passed   int          `json:"passed"`
	Failed   int          `json:"failed"`
}

// OK reports whether at least one case ran, all passed and no file is faulty.
func (r *TestReport) OK() bool {
	return r.Failed == 0 && r.Passed > 0 && len(r.Problems) == 0
}

// WriteText writes the report for people: what failed, then the counts.
func (r *TestReport) WriteText(w io.Writer) error {
	var b strings.Builder
	for _, p := range r.Problems {
		fmt.Fprintln(&b, p.Error())
	}
	for _, t := range r.Results {
		if t.OK {
			continue
		}
		fmt.Fprintf(&b, "FAIL %s:%d: %s\n", t.File, t.Line, Escape(t.Name, 200))
		for _, d := range t.Diff {
			fmt.Fprintf(&b, "     %s\n", d)
		}
	}
	fmt.Fprintf(&b, "%d passed, %d failed", r.Passed, r.Failed)
	if len(r.Problems) > 0 {
		fmt.Fprintf(&b, ", %d problems in case files", len(r.Problems))
	}
	b.WriteByte('\n')
	_, err := io.WriteString(w, b.String())
	return err
}

// Test runs the cases in the *_test.yaml files of dir against s. base completes
// the options of the facts; the cases name their own home, roots and shell, and
// the programs are those of s. The error says why the folder could not be read; a case that fails is no error.
func Test(ctx context.Context, dir string, s *Set, base facts.Options) (*TestReport, error) {
	return TestFS(ctx, os.DirFS(dir), s, base)
}

// TestFS is [Test] over any file system, such as that of [PackFiles].
func TestFS(ctx context.Context, fsys fs.FS, s *Set, base facts.Options) (*TestReport, error) {
	entries, err := fs.ReadDir(fsys, ".")
	if err != nil {
		return nil, fmt.Errorf("policy: %w", err)
	}
	report := &TestReport{}
	for _, e := range entries {
		if !testFile(e.Name()) {
			continue
		}
		data, err := fs.ReadFile(fsys, e.Name())
		if err != nil {
			return nil, fmt.Errorf("policy: %w", err)
		}
		cases, problems := parseCases(e.Name(), data)
		report.Problems = append(report.Problems, problems...)
		for i := range cases {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			res := cases[i].run(ctx, s, base)
			res.File = e.Name()
			report.Results = append(report.Results, res)
			if res.OK {
				report.Passed++
			} else {
				report.Failed++
			}
		}
	}
	return report, nil
}

// testCase is one case. The fields that describe the call may be given once for
// all cases of a file, under `defaults`.
type testCase struct {
	name string
	line int

	command string
	shell   string
	tool    string
	kind    string
	input   any
	event   string // type
	mcp     map[string]any
	cwd     string
	roots   []string
	home    string

	want wanted
}

type wanted struct {
	decision    string
	rule        *string
	rules       []string
	rulesSaid   bool
	hazards     []string
	hazardsSaid bool
	flags       []string
	flagsSaid   bool
	undecidable *bool
	breach      *bool
	effects     []string
	effectsSaid bool
	input       any // effective; nil: not said
	messages    []string
	messageSaid bool
	injections  []string
	injectSaid  bool
}

func parseCases(name string, data []byte) ([]testCase, []*Problem) {
	d, root := parseYAML(name, data)
	if root == nil {
		return nil, d.problems
	}
	base := testCase{cwd: "/home/dev/repo", roots: []string{"/home/dev/repo"}, home: "/home/dev", shell: "bash", event: string(ahp.ToolBefore)}
	var cases []testCase
	var list *yaml.Node
	d.object(root, "", map[string]member{
		"version": func(n *yaml.Node, ptr string) {
			if n.ShortTag() != "!!int" || n.Value != "1" {
				d.fail(n, ptr, "found %s, want the number 1", found(n))
			}
		},
		"defaults": func(n *yaml.Node, ptr string) { d.object(n, ptr, base.members(d)) },
		"cases":    func(n *yaml.Node, _ string) { list = n },
	}, "version", "cases")
	if list == nil {
		return nil, d.problems
	}
	d.list(list, "/cases", func(n *yaml.Node, ptr string) {
		c := base
		c.line = n.Line
		m := c.members(d)
		m["name"] = func(n *yaml.Node, ptr string) { c.name, _ = d.text(n, ptr, 512) }
		m["want"] = func(n *yaml.Node, ptr string) { c.want.parse(d, n, ptr) }
		before := d.faults
		d.object(n, ptr, m, "want")
		if c.command == "" && c.tool == "" && c.event != string(ahp.SessionStart) && c.event != string(ahp.SessionEnd) {
			d.fail(n, ptr, "a case needs a command or a tool")
		}
		if c.command != "" && c.tool != "" && c.input != nil {
			d.fail(n, ptr, "a case has either a command or a tool with its input")
		}
		if c.name == "" {
			c.name = c.command
		}
		if d.faults == before {
			cases = append(cases, c)
		}
	})
	return cases, d.problems
}

func (c *testCase) members(d *document) map[string]member {
	text := func(to *string) member {
		return func(n *yaml.Node, ptr string) { *to, _ = d.text(n, ptr, 1<<18) }
	}
	return map[string]member{
		"command": text(&c.command),
		"shell": func(n *yaml.Node, ptr string) {
			s, _ := choice(d, n, ptr, shell.Bash, shell.Sh, shell.Zsh, shell.PowerShell, shell.Cmd)
			c.shell = string(s)
		},
		"tool": text(&c.tool),
		"kind": func(n *yaml.Node, ptr string) {
			if s, ok := d.text(n, ptr, 64); ok {
				if !ahp.ToolKind(s).Known() {
					d.fail(n, ptr, "found %q, want a tool kind", s)
				}
				c.kind = s
			}
		},
		"event": func(n *yaml.Node, ptr string) {
			if s, ok := d.text(n, ptr, 64); ok {
				if !ahp.EventType(s).Known() {
					d.fail(n, ptr, "found %q, want an event type", s)
				}
				c.event = s
			}
		},
		"input": func(n *yaml.Node, ptr string) {
			if n.Kind != yaml.MappingNode {
				d.fail(n, ptr, "found %s, want a mapping", kindOf(n))
				return
			}
			c.input = d.plainValue(n, ptr)
		},
		"mcp": func(n *yaml.Node, ptr string) {
			if m, ok := d.plainValue(n, ptr).(map[string]any); ok {
				c.mcp = m
				return
			}
			d.fail(n, ptr, "found %s, want a mapping", kindOf(n))
		},
		"cwd":   text(&c.cwd),
		"home":  text(&c.home),
		"roots": func(n *yaml.Node, ptr string) { c.roots = d.texts(n, ptr, 4096, nil) },
	}
}

// plainValue turns a node into what JSON would give.
func (d *document) plainValue(n *yaml.Node, ptr string) any {
	switch n.Kind {
	case yaml.MappingNode:
		m := map[string]any{}
		d.entries(n, ptr, func(k, v *yaml.Node, ptr string) { m[k.Value] = d.plainValue(v, ptr) })
		return m
	case yaml.SequenceNode:
		l := []any{}
		d.list(n, ptr, func(c *yaml.Node, ptr string) { l = append(l, d.plainValue(c, ptr)) })
		return l
	default:
	}
	switch n.ShortTag() {
	case "!!null":
		return nil
	case "!!bool":
		return n.Value == "true"
	case "!!int", "!!float":
		var f float64
		if n.Decode(&f) == nil {
			return f
		}
	}
	return n.Value
}

func (w *wanted) parse(d *document, n *yaml.Node, ptr string) {
	if n.Kind == yaml.ScalarNode {
		w.parseDecision(d, n, ptr)
		return
	}
	list := func(to *[]string, said *bool, check func(string) error) member {
		return func(n *yaml.Node, ptr string) { *to, *said = d.texts(n, ptr, 256, check), true }
	}
	texts := func(to *[]string, said *bool, maxBytes int) member {
		return func(n *yaml.Node, ptr string) { *to, *said = d.texts(n, ptr, maxBytes, nil), true }
	}
	flag := func(to **bool) member {
		return func(n *yaml.Node, ptr string) {
			if b, ok := d.boolean(n, ptr); ok {
				*to = &b
			}
		}
	}
	d.object(n, ptr, map[string]member{
		"decision": func(n *yaml.Node, ptr string) { w.parseDecision(d, n, ptr) },
		"rule": func(n *yaml.Node, ptr string) {
			if s, ok := d.text(n, ptr, maxNameBytes); ok {
				w.rule = &s
			}
		},
		"rules":       list(&w.rules, &w.rulesSaid, nil),
		"hazards":     list(&w.hazards, &w.hazardsSaid, CheckHazardCode),
		"flags":       list(&w.flags, &w.flagsSaid, nil),
		"undecidable": flag(&w.undecidable),
		"breach":      flag(&w.breach),
		"effects":     list(&w.effects, &w.effectsSaid, checkEffect),
		"input": func(n *yaml.Node, ptr string) {
			if n.Kind != yaml.MappingNode {
				d.fail(n, ptr, "found %s, want a mapping", kindOf(n))
				return
			}
			w.input = d.plainValue(n, ptr)
		},
		"messages":   texts(&w.messages, &w.messageSaid, MaxNoticeBytes),
		"injections": texts(&w.injections, &w.injectSaid, MaxInjectionBytes),
	})
}

func (w *wanted) parseDecision(d *document, n *yaml.Node, ptr string) {
	e, _ := choice(d, n, ptr, EffectDeny, EffectAsk, EffectFlag, EffectNone)
	w.decision = string(e)
}

func checkEffect(s string) error {
	switch Effect(s) {
	case EffectDeny, EffectAsk, EffectModify, EffectMessage, EffectInject:
		return nil
	case EffectFlag, EffectNone:
	}
	return fmt.Errorf("found %q, want one of deny, ask, modify, message, inject", s)
}

// eventOf makes the event that the case describes.
func (c *testCase) eventOf() (*ahp.Event, error) {
	ev := &ahp.Event{
		ID: "case", Source: "urn:holdpoint:policy-test", Type: ahp.EventType(c.event), Time: "2026-01-01T00:00:00Z",
		Session: ahp.Session{ID: "policy-test", CWD: c.cwd, WorkspaceRoots: c.roots},
	}
	if !ev.Type.HasTool() {
		return ev, nil
	}
	t := &ahp.Tool{CallID: "case", Name: c.tool, Kind: ahp.ToolKind(c.kind)}
	var input any = map[string]any{}
	switch {
	case c.command != "":
		if t.Name == "" {
			t.Name = "Bash"
		}
		t.Kind = ahp.KindShell
		input = map[string]any{"command": c.command, "shell": c.shell}
	case c.input != nil:
		input = c.input
	}
	if t.Kind == "" {
		t.Kind = facts.KindOf(t.Name)
	}
	b, err := json.Marshal(input)
	if err != nil {
		return nil, err
	}
	t.Input = b
	if c.mcp != nil {
		if t.MCP, err = json.Marshal(c.mcp); err != nil {
			return nil, err
		}
	}
	ev.Tool = t
	return ev, nil
}

func (c *testCase) run(ctx context.Context, s *Set, base facts.Options) TestResult {
	res := TestResult{Line: c.line, Name: c.name}
	fail := func(format string, args ...any) TestResult {
		res.Diff = append(res.Diff, fmt.Sprintf(format, args...))
		return res
	}
	ev, err := c.eventOf()
	if err != nil {
		return fail("event: %v", err)
	}
	o := base
	o.Home, o.Dialect = c.home, shell.Dialect(c.shell)
	d, f, err := s.Judge(ctx, ev, o)
	switch {
	case err != nil && f == nil:
		return fail("facts: %v", err)
	case err != nil:
		return fail("decision: %v", err)
	}
	res.Diff = c.want.compare(&d, f)
	res.OK = len(res.Diff) == 0
	return res
}

func (w *wanted) compare(d *Decision, f *facts.Facts) []string {
	var diff []string
	differ := func(what, got, want string) {
		if got != want {
			diff = append(diff, fmt.Sprintf("%s: got %s, want %s", what, got, want))
		}
	}
	list := func(l []string) string {
		l = slices.Clone(l)
		slices.Sort(l)
		return "[" + strings.Join(slices.Compact(l), " ") + "]"
	}
	flags := make([]string, 0, len(d.Flags))
	for _, f := range d.Flags {
		flags = append(flags, f.Rule)
	}
	if w.decision != "" {
		got := string(d.Effect)
		if d.Effect == EffectNone && len(d.Flags) > 0 {
			got = string(EffectFlag)
		}
		differ("decision", got, w.decision)
	}
	if w.rule != nil {
		got := d.Rule
		if !d.Denied() && slices.Contains(flags, *w.rule) {
			got = *w.rule
		}
		differ("rule", orNone(got), orNone(*w.rule))
	}
	if w.rulesSaid {
		differ("rules", list(d.RuleNames()), list(w.rules))
	}
	if w.hazardsSaid {
		differ("hazards", list(d.Hazards), list(w.hazards))
	}
	if w.flagsSaid {
		differ("flags", list(flags), list(w.flags))
	}
	if w.effectsSaid {
		differ("effects", list(d.effectNames()), list(w.effects))
	}
	if w.input != nil {
		differ("input", showInput(effectiveInput(d, f)), showInput(w.input))
	}
	if w.messageSaid {
		differ("messages", fmt.Sprintf("%q", d.noticeTexts(EffectMessage)), fmt.Sprintf("%q", w.messages))
	}
	if w.injectSaid {
		differ("injections", fmt.Sprintf("%q", d.noticeTexts(EffectInject)), fmt.Sprintf("%q", w.injections))
	}
	if w.undecidable != nil {
		differ("undecidable", fmt.Sprint(d.Undecidable), fmt.Sprint(*w.undecidable))
	}
	if w.breach != nil {
		differ("breach", fmt.Sprint(d.Breach != ""), fmt.Sprint(*w.breach))
	}
	return diff
}

// effectiveInput returns the decoded input that would run.
func effectiveInput(d *Decision, f *facts.Facts) any {
	if d.Input != nil {
		var v any
		if json.Unmarshal(d.Input, &v) == nil {
			return v
		}
	}
	if f.Tool == nil {
		return nil
	}
	return f.Tool.Input
}

func showInput(v any) string {
	b, err := EncodeValue(v)
	if err != nil {
		return "(not JSON)"
	}
	return Escape(string(b), 2048)
}

// effectNames lists the effects of the decision, once each.
func (d *Decision) effectNames() []string {
	var out []string
	add := func(e Effect, there bool) {
		if there && !slices.Contains(out, string(e)) {
			out = append(out, string(e))
		}
	}
	add(EffectDeny, d.Denied())
	add(EffectAsk, len(d.Asks) > 0)
	add(EffectModify, len(d.Changes) > 0)
	for _, n := range d.Notices {
		add(n.Effect, true)
	}
	return out
}

func (d *Decision) noticeTexts(e Effect) []string {
	var out []string
	for _, n := range d.Notices {
		if n.Effect == e {
			out = append(out, n.Text)
		}
	}
	return out
}

func orNone(s string) string {
	if s == "" {
		return "(none)"
	}
	return s
}
