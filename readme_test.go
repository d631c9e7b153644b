package holdpoint_test

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func readme(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// TestReadmeCodeIsInTheExamples keeps the README's Go code compiled: each block
// stands, line for line, in a program under examples/.
func TestReadmeCodeIsInTheExamples(t *testing.T) {
	var programs []string
	err := filepath.WalkDir("examples", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".go" {
			return err
		}
		b, err := os.ReadFile(path)
		programs = append(programs, string(b))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	blocks := regexp.MustCompile("(?s)```go\n(.*?)```").FindAllStringSubmatch(readme(t), -1)
	if len(blocks) < 2 {
		t.Fatalf("%d Go blocks in README.md", len(blocks))
	}
	for _, b := range blocks {
		found := false
		for _, p := range programs {
			found = found || strings.Contains(p, b[1])
		}
		if !found {
			t.Errorf("this code of README.md is in no example:\n%s", b[1])
		}
	}
}

// TestReadmeLinksLeadSomewhere follows every relative link of the documents.
func TestReadmeLinksLeadSomewhere(t *testing.T) {
	docs, err := filepath.Glob("docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	agents, err := filepath.Glob("docs/agents/*.md")
	if err != nil {
		t.Fatal(err)
	}
	link := regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)
	n := 0
	for _, doc := range append(append(docs, agents...), "README.md", "SECURITY.md", "CHANGELOG.md") {
		b, err := os.ReadFile(doc)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(b), -1) {
			n++
			if _, err := os.Stat(filepath.Join(filepath.Dir(doc), m[1])); err != nil {
				t.Errorf("%s links to %s: %v", doc, m[1], err)
			}
		}
	}
	if n < 10 {
		t.Fatalf("%d links were checked", n)
	}
}

// TestRules holds the conformance claim to what the contract wants in it.
func TestRules(t *testing.T) {
	text := strings.Join(strings.Fields(readme(t)), " ")
	_, claim, ok := strings.Cut(text, "## Conformance")
	if !ok {
		t.Fatal("README.md has no conformance claim")
	}
	tests := []struct {
		rule string
		want []string
	}{
		{"AHP-CORE-001", []string{"Harness:", "Backend:", "stdio", "HTTP", "Tool Interception"}},
		{"AHP-CORE-002", []string{"Base Protocol", "Tool Interception"}},
		{"V-CLAIM-1", []string{"tool.before", "tool.after", "tool.error", "session.start", "session.end"}},
		{"V-ADAPT-10", []string{"do not conform to Tool Interception"}},
	}
	for _, tt := range tests {
		t.Run(tt.rule, func(t *testing.T) {
			for _, w := range tt.want {
				if !strings.Contains(claim, w) {
					t.Errorf("the claim does not say %q", w)
				}
			}
		})
	}
}
