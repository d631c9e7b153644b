package shell_test

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"github.com/holdpoint/holdpoint/internal/corpus"
	"github.com/holdpoint/holdpoint/shell"
)

var plain = []string{
	"ls -la src", "git status", "git diff HEAD~1 --stat", "npm test", "go test ./...", "grep -rn 'foo' src | head -20", "cat package.json", "cd web && npm run build",
	"find . -name '*.go' -newer go.mod", "git add -A && git commit -m \"fix: handle empty input\"",
}

func corpusLines(b *testing.B) []string {
	var out []string
	for line := range strings.Lines(string(corpus.File(b, "shell/dev.jsonl"))) {
		var e struct {
			Command string `json:"command"`
		}
		if err := json.Unmarshal([]byte(line), &e); err != nil {
			b.Fatal(err)
		}
		out = append(out, e.Command)
	}
	return out
}

// BenchmarkFacts compares facts with the bare parse of the same text. The metric
// ratio is what the performance targets speak of.
func BenchmarkFacts(b *testing.B) {
	sets := map[string]func(*testing.B) []string{
		"plain":  func(*testing.B) []string { return plain },
		"corpus": corpusLines,
	}
	for name, lines := range sets {
		b.Run(name, func(b *testing.B) {
			texts := lines(b)
			p := syntax.NewParser(syntax.Variant(syntax.LangBash))
			o := options()
			b.ReportAllocs()
			var parse, facts time.Duration
			r := strings.NewReader("")
			for i := 0; b.Loop(); i++ {
				text := texts[i%len(texts)]
				start := time.Now()
				r.Reset(text)
				_, _ = p.Parse(r, "")
				mid := time.Now()
				shell.Analyze(b.Context(), text, o)
				parse += mid.Sub(start)
				facts += time.Since(mid)
			}
			b.ReportMetric(float64(facts)/float64(parse), "ratio")
			b.ReportMetric(float64(parse.Nanoseconds())/float64(b.N), "parse-ns/op")
		})
	}
}
