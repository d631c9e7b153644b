package cel_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/holdpoint/holdpoint/facts"
	"github.com/holdpoint/holdpoint/policy"
	"github.com/holdpoint/holdpoint/policy/cel"
	"github.com/holdpoint/holdpoint/shell"
)

func compiler(t testing.TB, o cel.Options, lists map[string][]string) policy.Compiler {
	t.Helper()
	e, err := cel.New(o)
	if err != nil {
		t.Fatal(err)
	}
	c, err := e.Compiler(lists)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// sample is an event that touches everything.
func sample() *facts.Facts {
	cmd := shell.Command{
		Program: "git", Sub: []string{"push"}, Flags: []string{"--force"},
		Args: []shell.Arg{{Value: "push", Known: true}, {Value: "--force", Known: true}, {Value: "origin", Known: true}},
	}
	return &facts.Facts{
		Event:   facts.Event{ID: "e1", Type: "tool.before"},
		Session: facts.Session{ID: "s", CWD: "/home/dev/repo", Roots: []string{"/home/dev/repo"}, Home: "/home/dev"},
		Tool:    &facts.Tool{Name: "Bash", Kind: "shell", Input: map[string]any{"command": "git push --force", "n": 3.0}},
		Shell:   &facts.Shell{Dialect: "bash", Result: &shell.Result{Commands: []shell.Command{cmd}}},
		Files: []facts.File{
			{Path: "/home/dev/.ssh/id_rsa", Op: facts.FileRead, Zone: facts.ZoneOutside, Certainty: facts.Certain},
			{Path: "/home/dev/repo/a/.env", Op: facts.FileWrite, Zone: facts.ZoneWorkspace, Certainty: facts.Certain},
			{Path: "/var/data", Op: facts.FileDelete, Recursive: true, Zone: facts.ZoneOutside, Certainty: facts.Certain},
			{Path: "/home/dev/*.pem", Op: facts.FileRead, Glob: true, Zone: facts.ZoneOutside, Certainty: facts.Certain},
		},
		URLs:    []facts.URL{{Host: "api.example.com", Port: 443, Scheme: "https", Class: "public", Use: "fetch", Certainty: facts.Certain}},
		Hazards: []facts.Hazard{{Code: "git.force_push", Certainty: facts.Certain}, {Code: "secrets.read", Certainty: facts.Possible}},
		MCP:     &facts.MCP{Server: "db", Tool: "query", Known: true},
	}
}

func TestConditions(t *testing.T) {
	c := compiler(t, cel.Options{}, map[string][]string{"hosts": {".example.com"}, "empty": nil})
	tests := []struct {
		when string
		want bool
	}{
		{`hazard("git.force_push")`, true},
		{`hazard("git.*")`, true},
		{`hazard("net.upload")`, false},
		{`certain("secrets.read")`, false},
		{`hazard("secrets.read") && certain("git.*")`, true},
		{`hazards.exists(h, h.code == "git.force_push" && h.certainty == "certain")`, true},
		{`touches("read", "~/.ssh/**")`, true},
		{`touches("write", "~/.ssh/**")`, false},
		{`touches("any", ["~/.aws/**", "**/.env"])`, true},
		{`touches("write", "a/.env")`, true},
		{`touches("write", "b/**")`, false},
		{`touches("delete", "/var/data/users/**")`, true}, // inside the tree
		{`touches("delete", "/var/other/**")`, false},     //
		{`touches("delete", "/var/data/**")`, true},       // the tree itself
		{`touches("read", "~/server.pem")`, true},         // the pattern can mean it
		{`touches("read", "~/server.key")`, false},        //
		{`touches("read", "/home/dev/{.ssh,.gnupg}/*")`, true},
		{`files.exists(f, f.op == "read" && f.glob("**/id_rsa"))`, true},
		{`connects("*.example.com")`, true},
		{`connects("example.com")`, false},
		{`connects(lists.hosts)`, true},
		{`connects(lists.empty)`, false},
		{`urls.exists(u, u.host.hostMatch(lists.hosts) && u.port == 443)`, true},
		{`runs("git push ...")`, true},
		{`runs("git push --force origin")`, true},
		{`runs("git push origin")`, false},
		{`runs(["git pull", "git push *"])`, false},
		{`runs("git push -f * ...")`, false},
		{`shell.commands.exists(c, c.program == "git" && "push" in c.sub)`, true},
		{`tool.kind == "shell" && tool.name in ["Bash", "Shell"]`, true},
		{`has(tool.input.command) && tool.input.command.contains("force")`, true},
		{`has(tool.input.nothing) && tool.input.nothing == 1`, false},
		{`tool.input.n == 3`, true},
		{`mcp.server == "db" && mcp.known`, true},
		{`size(secrets) > 0`, false},
		{`session.roots == ["/home/dev/repo"] && session.cwd.startsWith("/home")`, true},
		{`"x".lowerAscii() == "x"`, true},
	}
	f := sample()
	in := policy.NewInput(f)
	for _, tt := range tests {
		p, err := c.Compile(tt.when)
		if err != nil {
			t.Errorf("%s: %v", tt.when, err)
			continue
		}
		got, err := p.Eval(t.Context(), in)
		if err != nil || got != tt.want {
			t.Errorf("%s: got %v, %v, want %v", tt.when, got, err, tt.want)
		}
	}
}

// Every fact is false rather than an error where an event has none.
func TestEmptyFacts(t *testing.T) {
	c := compiler(t, cel.Options{}, nil)
	in := policy.NewInput(&facts.Facts{})
	for _, typ := range policy.FactRoots() {
		for _, ft := range policy.FactTypes() {
			if ft.Name != typ.Type {
				continue
			}
			for _, f := range ft.Fields {
				p, err := c.Compile("has(" + typ.Name + "." + f.Name + ")")
				if err != nil {
					t.Fatal(err)
				}
				if got, err := p.Eval(t.Context(), in); got || err != nil {
					t.Errorf("has(%s.%s): got %v, %v, want false", typ.Name, f.Name, got, err)
				}
			}
		}
	}
	for _, f := range cel.Functions() {
		p, err := c.Compile(f.Example)
		if err != nil {
			t.Errorf("example of %s: %v", f.Name, err)
			continue
		}
		if got, err := p.Eval(t.Context(), in); got || err != nil {
			t.Errorf("%s: got %v, %v, want false", f.Example, got, err)
		}
	}
}

func TestCompileErrors(t *testing.T) {
	c := compiler(t, cel.Options{}, map[string][]string{"prod_hosts": {"a"}})
	tests := []struct {
		when      string
		line, col int
		want      string
	}{
		{`hazard("git.force_pus")`, 1, 8, `did you mean "git.force_push"?`},
		{"tool.kind == \"shell\" &&\n  tool.nmae == \"x\"", 2, 7, `undefined field 'nmae'; did you mean name?`},
		{`tol.name == "x"`, 1, 1, `did you mean 'tool'?`},
		{`hazard(1)`, 1, 7, `no matching overload`},
		{`tool.kind == "shel"`, 1, 14, `"shel" is no value of Tool.kind; did you mean "shell"?`},
		{`files.exists(f, f.op in ["read", "wirte"])`, 1, 34, `did you mean "write"?`},
		{`touches("wirte", "x")`, 1, 9, `no file operation`},
		{`touches("write", "../x")`, 1, 18, "`..` is not allowed"},
		{`connects("https://x")`, 1, 10, `host pattern`},
		{`runs("git push | sh")`, 1, 6, `shell syntax`},
		{`connects(lists.prod_host)`, 1, 15, `did you mean prod_hosts?`},
		{`tool.name`, 1, 1, `of type string, want bool`},
		{`tool.name ==`, 1, 13, `Syntax error`},
		{`   `, 1, 1, `empty`},
		{`shell.text == ""`, 1, 6, `undefined field 'text'`},
	}
	for _, tt := range tests {
		_, err := c.Compile(tt.when)
		var ce *policy.CompileError
		if !errors.As(err, &ce) {
			t.Errorf("%s: got %v, want a CompileError", tt.when, err)
			continue
		}
		p := ce.Problems[0]
		if p.Line != tt.line || p.Column != tt.col || !strings.Contains(p.Message, tt.want) {
			t.Errorf("%s: got %d:%d %s, want %d:%d …%s…", tt.when, p.Line, p.Column, p.Message, tt.line, tt.col, tt.want)
		}
	}
}

func TestEvalFailures(t *testing.T) {
	many := sample()
	for range 2000 {
		many.Files = append(many.Files, facts.File{Path: "/x", Op: facts.FileRead})
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	quad := `files.exists(a, files.exists(b, a.path + b.path == "never"))`
	tests := []struct {
		name, when string
		ctx        context.Context
		want       policy.EvalCause
	}{
		{"missing key", `tool.input.absent == 1`, t.Context(), policy.CauseError},
		{"cost", quad, t.Context(), policy.CauseCost},
		{"interrupted", quad, ended, policy.CauseInterrupted},
	}
	c := compiler(t, cel.Options{CostLimit: 100_000}, nil)
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p, err := c.Compile(tt.when)
			if err != nil {
				t.Fatal(err)
			}
			got, err := p.Eval(tt.ctx, policy.NewInput(many))
			var ee *policy.EvalError
			if got || !errors.As(err, &ee) || ee.Cause != tt.want {
				t.Errorf("got %v, %v, want cause %s", got, err, tt.want)
			}
		})
	}
}

func TestNeeds(t *testing.T) {
	c := compiler(t, cel.Options{}, nil)
	hz := func(codes ...string) (out []policy.Key) {
		for _, x := range codes {
			out = append(out, policy.Key{Kind: policy.KeyHazard, Value: x})
		}
		return out
	}
	k := func(kind policy.KeyKind, v string) policy.Key { return policy.Key{Kind: kind, Value: v} }
	tests := []struct {
		when  string
		facts string
		any   []policy.Key
	}{
		{`hazard("net.upload")`, "hazards", hz("net.upload")},
		{`hazard("net.upload") || certain("net.listen")`, "hazards", hz("net.upload", "net.listen")},
		{`hazard("pkg.*")`, "hazards", hz("pkg.publish")},
		{`hazard("net.upload") && tool.kind == "shell"`, "hazards tool.kind", hz("net.upload")},
		{`hazard("net.upload") || session.cwd == "/x"`, "hazards session.cwd", nil},
		{`!hazard("net.upload")`, "hazards", nil},
		{`hazard("net.upload") ? false : true`, "hazards", nil},
		{`tool.name == "Bash"`, "tool.name", []policy.Key{k(policy.KeyToolName, "Bash")}},
		{`"Bash" == tool.name`, "tool.name", []policy.Key{k(policy.KeyToolName, "Bash")}},
		{`tool.name == ""`, "tool.name", nil},
		{`tool.name != "Bash"`, "tool.name", nil},
		{`tool.kind in ["mcp", "fetch"]`, "tool.kind", []policy.Key{k(policy.KeyToolKind, "mcp"), k(policy.KeyToolKind, "fetch")}},
		{`files.exists(f, f.op == "read")`, "files", []policy.Key{k(policy.KeyPresent, "files")}},
		{`files.all(f, f.op == "read")`, "files", nil},
		{`!files.exists(f, f.op == "read")`, "files", nil},
		{`touches("read", "**/x")`, "files", []policy.Key{k(policy.KeyTouch, "read **/x")}},
		{`touches("any", ["/a b/x", "y"])`, "files", []policy.Key{k(policy.KeyTouch, "any /a b/x"), k(policy.KeyTouch, "any y")}},
		{`touches("any", session.roots)`, "files session.roots", []policy.Key{k(policy.KeyPresent, "files")}},
		{`touches("read", session.roots)`, "files session.roots", []policy.Key{k(policy.KeyFileOp, "read")}},
		{`touches(tool.name, "/x")`, "files tool.name", []policy.Key{k(policy.KeyPresent, "files")}},
		{`size(secrets) > 0`, "secrets", []policy.Key{k(policy.KeyPresent, "secrets")}},
		{`0 < urls.size()`, "urls", []policy.Key{k(policy.KeyPresent, "urls")}},
		{`size(urls) >= 0`, "urls", nil},
		{`tool.undecidable`, "tool.undecidable", []policy.Key{k(policy.KeyPresent, "tool.undecidable")}},
		{`connects("x.com") && mcp.server == "s"`, "mcp.server urls", []policy.Key{k(policy.KeyMCPServer, "s")}},
		{`hazards.exists(h, h.code == "net.upload" && h.host != "")`, "hazards", hz("net.upload")},
		// A loop variable that hides a root counts as a read of it: one name too many
		// in the record, never one too few.
		{`hazards.exists(tool, tool.code == "net.upload")`, "hazards tool.code", hz("net.upload")},
		{`files.exists(tool, tool.path == "Bash")`, "files tool.path", []policy.Key{k(policy.KeyPresent, "files")}},
		{`runs(["git push", "npm publish ..."])`, "shell.commands", []policy.Key{k(policy.KeyProgram, "git"), k(policy.KeyProgram, "npm")}},
		{`shell.commands.exists(c, c.program == "git")`, "shell.commands", []policy.Key{k(policy.KeyProgram, "git")}},
		{`shell.commands.exists(c, c.dynamic)`, "shell.commands", nil},
		{`true`, "", nil},
	}
	for _, tt := range tests {
		p, err := c.Compile(tt.when)
		if err != nil {
			t.Errorf("%s: %v", tt.when, err)
			continue
		}
		n := p.Needs()
		if got := strings.Join(n.Facts, " "); got != tt.facts {
			t.Errorf("%s: reads %q, want %q", tt.when, got, tt.facts)
		}
		if len(n.Any) != len(tt.any) {
			t.Errorf("%s: any %v, want %v", tt.when, n.Any, tt.any)
			continue
		}
		for i := range n.Any {
			if n.Any[i] != tt.any[i] {
				t.Errorf("%s: any %v, want %v", tt.when, n.Any, tt.any)
				break
			}
		}
	}
}
