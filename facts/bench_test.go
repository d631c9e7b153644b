package facts_test

import (
	"encoding/json"
	"testing"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/facts"
	"github.com/holdpoint/holdpoint/shell"
)

var plainLines = []string{
	"ls -la", "git status --short", "go test ./...", "cat internal/parser/recover.go", "rg -n 'func Parse' --type go", "git diff HEAD~1 -- internal/parser", "npm run build",
	"python3 -m pytest tests/test_parser.py -q", "mkdir -p build/out", "git commit -m 'parser: recover after a stray brace'",
}

func shellEvent(tb testing.TB, line string) *ahp.Event {
	tb.Helper()
	input, err := json.Marshal(map[string]string{"command": line})
	if err != nil {
		tb.Fatal(err)
	}
	return &ahp.Event{
		ID: "e", Type: "tool.call", Source: "urn:x",
		Session: ahp.Session{ID: "s", CWD: "/home/dev/repo", WorkspaceRoots: []string{"/home/dev/repo"}},
		Tool:    &ahp.Tool{Name: "Bash", Kind: ahp.KindShell, CallID: "c", Input: input},
	}
}

// BenchmarkExtract is all facts of plain lines, beside what shell alone takes.
func BenchmarkExtract(b *testing.B) {
	o := facts.Options{Home: "/home/dev", Dialect: shell.Bash}
	events := make([]*ahp.Event, len(plainLines))
	for i, l := range plainLines {
		events[i] = shellEvent(b, l)
	}
	b.Run("all", func(b *testing.B) {
		b.ReportAllocs()
		for i := 0; b.Loop(); i++ {
			if _, err := facts.Extract(b.Context(), events[i%len(events)], o); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("shell", func(b *testing.B) {
		b.ReportAllocs()
		so := shell.Options{Dialect: shell.Bash, CWD: "/home/dev/repo", Roots: []string{"/home/dev/repo"}, Home: "/home/dev"}
		for i := 0; b.Loop(); i++ {
			shell.Analyze(b.Context(), plainLines[i%len(plainLines)], so)
		}
	})
}
