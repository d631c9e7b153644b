package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdpoint/holdpoint/facts"
	"github.com/holdpoint/holdpoint/policy"
	"github.com/holdpoint/holdpoint/shell"
)

// atoms are conditions that the index has something to say of, and some of which
// it has not.
var atoms = []string{
	`hazard("git.force_push")`, `hazard("git.*")`, `certain("net.upload")`, `hazards.exists(h, h.code == "net.upload" && h.host != "")`,
	`hazards.all(h, h.code == "net.upload")`, `size(hazards) == 0`, `tool.name == "Bash"`, `tool.name != "Bash"`, `tool.kind in ["fetch", "mcp"]`,
	`touches("write", "**/x")`, `touches("any", "/a/**")`, `touches("read", ["/a/b/c", "~/k/{m,n}/**"])`, `touches("write", "src/*.go")`, `touches("any", "~/.ssh")`, `touches("read", "/h/u/k/**")`, `touches("write", ["**"])`, `files.exists(f, f.op == "read")`, `files.exists(f, f.zone == "outside" || f.via == "mcp")`,
	`connects("*.example.com")`, `urls.exists_one(u, u.port == 443)`, `size(secrets) > 0`, `secrets.size() > 0`, `0 < size(files)`, `size(urls) > 1`,
	`runs("git push ...")`, `runs(["npm ...", "git ..."])`, `shell.commands.exists(c, c.program == "git" && "--force" in c.flags)`,
	`shell.commands.exists(c, c.program in ["npm", "git"])`, `mcp.server == "db"`, `event.type == "tool.before"`, `tool.undecidable`,
	`session.cwd == "/w"`, `true`, `tool.input.absent == 1`, `has(tool.input.x)`,
}

func genCondition(t *rapid.T, depth int) string {
	if depth == 0 || rapid.IntRange(0, 2).Draw(t, "leaf") == 0 {
		return rapid.SampledFrom(atoms).Draw(t, "atom")
	}
	a, b := genCondition(t, depth-1), genCondition(t, depth-1)
	switch rapid.IntRange(0, 3).Draw(t, "op") {
	case 0:
		return "(" + a + " && " + b + ")"
	case 1:
		return "(" + a + " || " + b + ")"
	case 2:
		return "!(" + a + ")"
	}
	return "(" + a + " ? " + b + " : " + genCondition(t, depth-1) + ")"
}

func genFacts(t *rapid.T) *facts.Facts {
	some := func(label string) bool { return rapid.Bool().Draw(t, label) }
	f := &facts.Facts{Event: facts.Event{Type: rapid.SampledFrom([]string{"tool.before", "turn.start"}).Draw(t, "type")}, Undecidable: some("undecidable")}
	f.Session.Home = rapid.SampledFrom([]string{"", "/h/u"}).Draw(t, "home")
	f.Session.Roots = rapid.SampledFrom([][]string{nil, {"/a"}, {"/h/u/w", "/a"}}).Draw(t, "roots")
	f.FoldCase = rapid.IntRange(0, 9).Draw(t, "fold") == 0
	f.Session.CWD = rapid.SampledFrom([]string{"/w", "/v"}).Draw(t, "cwd")
	if some("tool") {
		f.Tool = &facts.Tool{Name: rapid.SampledFrom([]string{"Bash", "X"}).Draw(t, "name"), Kind: rapid.SampledFrom([]string{"shell", "mcp", "fetch"}).Draw(t, "kind"), Input: map[string]any{"x": 1.0}}
	}
	if some("mcp") {
		f.MCP = &facts.MCP{Server: rapid.SampledFrom([]string{"", "db"}).Draw(t, "server")}
	}
	if some("shell") {
		f.Shell = &facts.Shell{Result: &shell.Result{Commands: []shell.Command{{Program: rapid.SampledFrom([]string{"git", "npm", "ls"}).Draw(t, "program"), Flags: []string{"--force"}, Args: words("push", "--force")}}}}
	}
	for range rapid.IntRange(0, 2).Draw(t, "hazards") {
		f.Hazards = append(f.Hazards, facts.Hazard{Code: rapid.SampledFrom([]string{"git.force_push", "git.hook_bypass", "net.upload"}).Draw(t, "code"), Certainty: facts.Certain, Host: rapid.SampledFrom([]string{"", "h"}).Draw(t, "host")})
	}
	for range rapid.IntRange(0, 2).Draw(t, "files") {
		f.Files = append(f.Files, facts.File{
			Recursive: some("tree"), Glob: rapid.IntRange(0, 4).Draw(t, "glob") == 0,
			Path: rapid.SampledFrom([]string{"/a/x", "/b", "/", "/a", "/a/b", "/a/b/c", "/a/b/c/d", "/A/X", "/h", "/h/u", "/h/u/k/m/z", "/h/u/k", "/h/u/.ssh", "/a/src/m.go", "/a/src", "/h/u/w/src/q.go", "/a/*", "/h/u/.s*", "/home/z/.ssh", "~/k/m/z", "rel/x", "x"}).Draw(t, "path"), Op: rapid.SampledFrom([]facts.FileOp{facts.FileRead, facts.FileWrite}).Draw(t, "op"), Zone: facts.ZoneOutside, Via: "tool",
		})
	}
	for range rapid.IntRange(0, 2).Draw(t, "urls") {
		f.URLs = append(f.URLs, facts.URL{Host: "a.example.com", Port: rapid.SampledFrom([]int{80, 443}).Draw(t, "port")})
	}
	if some("secret") {
		f.Secrets = []facts.Secret{{Kind: "k"}}
	}
	return f
}

// The index never changes a decision: what it leaves out could not have held, and
// could not have failed.
func TestIndexIsExact(t *testing.T) {
	compiler, err := engine().Compiler(nil)
	if err != nil {
		t.Fatal(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		cond := genCondition(t, 3)
		prog, err := compiler.Compile(cond)
		if err != nil {
			t.Fatalf("%s: %v", cond, err)
		}
		set, err := setOf(cond)
		if err != nil {
			t.Fatal(err)
		}
		for range 4 {
			f := genFacts(t)
			want, wantErr := prog.Eval(t.Context(), policy.NewInput(f))
			d, gotErr := set.Decide(t.Context(), f)
			if (wantErr == nil) != (gotErr == nil) || wantErr == nil && d.Denied() != want {
				t.Fatalf("%s on %+v: by itself %v, %v; in a set %v, %v", cond, f, want, wantErr, d.Effect, gotErr)
			}
		}
	})
}

var setCount int

func setOf(cond string) (*policy.Set, error) {
	setCount++
	text := "version: 1\nrules:\n" + rule(fmt.Sprintf("r%d", setCount), strings.ReplaceAll(cond, "\n", " "), "deny") + "    on: [tool.before, turn.start]\n"
	return policy.Parse("p.yaml", []byte(text), policy.Options{Engine: engine()})
}

// FuzzCondition looks for a condition that the index treats wrongly, or that the
// engine does not survive.
func FuzzCondition(f *testing.F) {
	for _, a := range atoms {
		f.Add(a)
	}
	f.Add(`files.exists(hazards, hazards.path == "x") || [1].exists(x, hazard("net.upload"))`)
	f.Add(`shell.commands.exists(c, [c].exists(d, d.program == "git"))`)
	compiler, err := engine().Compiler(nil)
	if err != nil {
		f.Fatal(err)
	}
	f.Fuzz(func(t *testing.T, cond string) {
		if len(cond) > 512 || strings.ContainsAny(cond, "\r\n\t") || strings.TrimSpace(cond) != cond {
			return
		}
		prog, err := compiler.Compile(cond)
		if err != nil {
			return
		}
		set, err := setOf(cond)
		if err != nil {
			return // YAML cannot hold it in quotes
		}
		for _, x := range []*facts.Facts{{}, pushFacts(), plainFacts()} {
			want, wantErr := prog.Eval(t.Context(), policy.NewInput(x))
			d, gotErr := set.Decide(t.Context(), x)
			if (wantErr == nil) != (gotErr == nil) || wantErr == nil && d.Denied() != want {
				t.Errorf("%s: by itself %v, %v; in a set %v, %v", cond, want, wantErr, d.Effect, gotErr)
			}
		}
	})
}
