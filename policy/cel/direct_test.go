package cel_test

import (
	"fmt"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdpoint/holdpoint/facts"
	"github.com/holdpoint/holdpoint/policy"
	"github.com/holdpoint/holdpoint/policy/cel"
	"github.com/holdpoint/holdpoint/shell"
)

// plain are conditions that need no library, odd those that look like them.
var (
	plain = []string{
		`hazard("git.force_push")`, `hazard("git.*")`, `certain("net.upload")`, `runs("git push ...")`, `runs(["npm ...", "git ..."])`,
		`touches("write", "**/x")`, `touches("any", ["/a/**", "~/.ssh/**"])`, `touches("read", "~/.ssh")`, `connects("*.example.com")`,
		`connects(["10.0.0.0/8", "api.example.com:443"])`, `tool.name == "Bash"`, `"Bash" == tool.name`, `tool.name != "Bash"`,
		`tool.kind in ["fetch", "mcp"]`, `mcp.server == ""`, `session.cwd == "/w"`, `event.type != "session.start"`, `tool.undecidable`,
		`session.cwd.startsWith("/w")`, `session.cwd.endsWith("v")`, `tool.name.contains("as")`,
		`mcp.known`, `shell.assumed`, `shell.dialect == "bash"`, `true`, `false`,
	}
	odd = []string{
		`runs([])`, `runs(tool.name)`, `runs(["git ...", tool.name])`, `tool.kind in []`, `tool.name in [tool.kind]`, `tool.name == tool.kind`,
		`hazards.exists(h, h.code == "net.upload")`, `size(files) > 0`, `tool.input.x == 1.0`, `has(tool.input.x)`, `has(tool.name)`,
		`files.exists(f, f.op == "read")`, `session.cwd.startsWith(tool.name)`, `"/w/x".startsWith(session.cwd)`, `session.cwd.matches("^/w")`, `session.roots == ["/w"]`, `"/w" in session.roots`,
		`["Bash"] == [tool.name]`, `tool.input == "x"`, `tool.name == "a" ? true : false`, `connects(tool.name)`,
	}
)

func genFacts(t *rapid.T) *facts.Facts {
	some := func(label string) bool { return rapid.Bool().Draw(t, label) }
	f := &facts.Facts{Undecidable: some("undecidable"), FoldCase: some("fold")}
	f.Event.Type = rapid.SampledFrom([]string{"tool.before", "session.start"}).Draw(t, "type")
	f.Session.Home = rapid.SampledFrom([]string{"", "/h"}).Draw(t, "home")
	f.Session.CWD = rapid.SampledFrom([]string{"/w", "/v"}).Draw(t, "cwd")
	if some("roots") {
		f.Session.Roots = []string{"/w"}
	}
	if some("tool") {
		f.Tool = &facts.Tool{Name: rapid.SampledFrom([]string{"Bash", "X", "git ..."}).Draw(t, "name"), Kind: rapid.SampledFrom([]string{"shell", "mcp"}).Draw(t, "kind"), Input: map[string]any{"x": 1.0}}
	}
	if some("mcp") {
		f.MCP = &facts.MCP{Server: rapid.SampledFrom([]string{"", "db"}).Draw(t, "server"), Known: some("known")}
	}
	if some("shell") {
		f.Shell = &facts.Shell{Dialect: "bash", Assumed: some("assumed")}
		if some("result") {
			f.Shell.Result = &shell.Result{Commands: []shell.Command{{
				Program: rapid.SampledFrom([]string{"git", "npm", "ls"}).Draw(t, "program"), Args: []shell.Arg{{Value: "push", Known: true}},
			}}}
		}
	}
	for range rapid.IntRange(0, 2).Draw(t, "hazards") {
		f.Hazards = append(f.Hazards, facts.Hazard{
			Code:      rapid.SampledFrom([]string{"git.force_push", "git.hook_bypass", "net.upload"}).Draw(t, "code"),
			Certainty: rapid.SampledFrom([]facts.Certainty{facts.Certain, facts.Possible}).Draw(t, "certainty"),
		})
	}
	for range rapid.IntRange(0, 2).Draw(t, "files") {
		f.Files = append(f.Files, facts.File{
			Path: rapid.SampledFrom([]string{"/a/x", "/h/.ssh", "/h/.ssh/id", "/b"}).Draw(t, "path"),
			Op:   rapid.SampledFrom([]facts.FileOp{facts.FileRead, facts.FileWrite}).Draw(t, "op"), Recursive: some("recursive"),
		})
	}
	for range rapid.IntRange(0, 2).Draw(t, "urls") {
		f.URLs = append(f.URLs, facts.URL{Host: rapid.SampledFrom([]string{"api.example.com", "10.1.2.3", "x"}).Draw(t, "host"), Port: 443})
	}
	return f
}

// TestDirect holds: a condition that needs no library says what the library says.
func TestDirect(t *testing.T) {
	byLibrary, err := cel.New(cel.Options{})
	if err != nil {
		t.Fatal(err)
	}
	byLibrary.Indirect()
	slow, err := byLibrary.Compiler(nil)
	if err != nil {
		t.Fatal(err)
	}
	quick := compiler(t, cel.Options{}, nil)
	for _, text := range append(slices.Clone(plain), odd...) {
		p, err := quick.Compile(text)
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		if cel.IsDirect(p) != slices.Contains(plain, text) {
			t.Errorf("%s: direct %v", text, cel.IsDirect(p))
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		atom := rapid.SampledFrom(append(slices.Clone(plain), odd...))
		text := atom.Draw(t, "condition")
		for range rapid.IntRange(0, 4).Draw(t, "more") {
			switch next := atom.Draw(t, "next"); rapid.IntRange(0, 3).Draw(t, "join") {
			case 0:
				text = fmt.Sprintf("(%s) && (%s)", text, next)
			case 1:
				text = fmt.Sprintf("%s || %s", text, next)
			case 2:
				text = fmt.Sprintf("!(%s) && (%s)", text, next)
			default:
				text = fmt.Sprintf("(%s) || !(%s)", next, text)
			}
		}
		a, err := quick.Compile(text)
		if err != nil {
			t.Fatal(err)
		}
		b, err := slow.Compile(text)
		if err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(a.Needs()) != fmt.Sprint(b.Needs()) {
			t.Errorf("needs %v, expected %v", a.Needs(), b.Needs())
		}
		f := genFacts(t)
		got, err := a.Eval(t.Context(), policy.NewInput(f))
		want, wantErr := b.Eval(t.Context(), policy.NewInput(f))
		if got != want || (err == nil) != (wantErr == nil) {
			t.Fatalf("%s: %v, %v; expected %v, %v", text, got, err, want, wantErr)
		}
	})
}
