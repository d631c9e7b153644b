package policy_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/facts"
	"github.com/holdpoint/holdpoint/facts/secret"
	"github.com/holdpoint/holdpoint/policy"
	"github.com/holdpoint/holdpoint/shell"
)

// manyRules gives n rules of the kinds that policies are made of: one in four on
// a hazard, a tool, a program, a file.
func manyRules(n int) string {
	if n == 0 {
		return "version: 1\n"
	}
	codes := policy.HazardCodes()
	var b strings.Builder
	b.WriteString("version: 1\nrules:\n")
	for i := range n {
		when := ""
		switch i % 4 {
		case 0:
			when = fmt.Sprintf("hazard(%q) && session.cwd.startsWith('/srv/team%d')", codes[i/4%len(codes)], i)
		case 1:
			when = fmt.Sprintf("tool.name == 'mcp__server%d__write' && mcp.known", i)
		case 2:
			when = fmt.Sprintf("runs('tool%d deploy ...')", i)
		default:
			when = fmt.Sprintf("touches('write', '~/.config/app%d/**')", i)
		}
		b.WriteString(rule(fmt.Sprintf("r%d", i), when, "deny"))
	}
	return b.String()
}

// plainFacts is what most calls are: a harmless command.
func plainFacts() *facts.Facts {
	cmds := []shell.Command{{Program: "go", Sub: []string{"test"}, Args: words("test", "./...")}}
	return &facts.Facts{
		Event:   facts.Event{ID: "e", Type: "tool.before"},
		Session: facts.Session{CWD: "/home/dev/repo", Roots: []string{"/home/dev/repo"}, Home: "/home/dev"},
		Tool:    &facts.Tool{Name: "Bash", Kind: "shell", Input: map[string]any{"command": "go test ./..."}},
		Shell:   &facts.Shell{Text: "go test ./...", Result: &shell.Result{Commands: cmds}},
	}
}

func BenchmarkDecide(b *testing.B) {
	inputs := []struct {
		name  string
		facts *facts.Facts
	}{{"harmless", plainFacts()}, {"two hazards and a file", pushFacts()}}
	for _, n := range []int{10, 100, 1000} {
		s := load(b, folder(b, "a.yaml", manyRules(n)), policy.Options{})
		for _, in := range inputs {
			b.Run(fmt.Sprintf("%d rules, %s", n, in.name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					if _, err := s.Decide(b.Context(), in.facts); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
	s := load(b, "", policy.Options{Packs: []string{policy.DefaultPack}})
	for _, in := range inputs {
		b.Run("default pack, "+in.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Decide(b.Context(), in.facts); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkLoad(b *testing.B) {
	for _, n := range []int{0, 1000} {
		dir := folder(b, "a.yaml", manyRules(n))
		b.Run(fmt.Sprintf("%d rules and the default pack", n), func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				load(b, dir, policy.Options{Packs: []string{policy.DefaultPack}})
			}
		})
	}
}

// BenchmarkWhole is a decision from the event to the answer: facts and rules.
func BenchmarkWhole(b *testing.B) {
	events := []struct {
		name string
		ev   *ahp.Event
	}{
		{"plain command", toolEvent("Bash", `{"command":"go test ./... && git status"}`)},
		{"force push", toolEvent("Bash", `{"command":"git push --force origin main"}`)},
		{"edit of 1 KB", toolEvent("Edit", `{"file_path":"/home/dev/repo/a.go","old_string":"a","new_string":"`+strings.Repeat("x := 1; ", 128)+`"}`)},
	}
	det := secret.New(secret.Options{})
	for _, n := range []int{0, 10, 100, 1000} {
		s := load(b, folder(b, "a.yaml", manyRules(n)), policy.Options{Packs: []string{policy.DefaultPack}})
		for _, e := range events {
			b.Run(fmt.Sprintf("%d rules and the default pack, %s", n, e.name), func(b *testing.B) {
				b.ReportAllocs()
				for b.Loop() {
					f, err := facts.Extract(b.Context(), e.ev, facts.Options{Home: "/home/dev", Secrets: det.Find})
					if err != nil {
						b.Fatal(err)
					}
					if _, err := s.Decide(b.Context(), f); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}

func toolEvent(name, input string) *ahp.Event {
	return &ahp.Event{
		ID: "e", Source: "urn:example:bench", Type: ahp.ToolBefore, Time: "2026-01-01T00:00:00Z",
		Session: ahp.Session{ID: "s", CWD: "/home/dev/repo", WorkspaceRoots: []string{"/home/dev/repo"}},
		Tool:    &ahp.Tool{CallID: "c", Name: name, Kind: facts.KindOf(name), Input: ahp.Raw(input)},
	}
}
