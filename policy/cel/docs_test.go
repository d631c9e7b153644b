package cel_test

import (
	"cmp"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/holdpoint/holdpoint/facts"
	"github.com/holdpoint/holdpoint/policy"
	"github.com/holdpoint/holdpoint/policy/cel"
)

var update = flag.Bool("update", false, "rewrite the generated parts of docs/policy.md")

var docFile = filepath.Join("..", "..", "docs", "policy.md")

// The reference of facts and the list of rules in docs/policy.md are written from
// the declarations, so they cannot drift.
func TestDocsAreGenerated(t *testing.T) {
	b, err := os.ReadFile(docFile)
	if err != nil {
		t.Fatal(err)
	}
	want := string(b)
	for name, text := range map[string]string{"facts": factReference(), "pack": packReference()} {
		start, end := "<!-- "+name+": generated, do not edit -->\n", "<!-- end of "+name+" -->"
		i, j := strings.Index(want, start), strings.Index(want, end)
		if i < 0 || j < i {
			t.Fatalf("docs/policy.md has no part %q", name)
		}
		want = want[:i+len(start)] + "\n" + text + "\n" + want[j:]
	}
	if want == string(b) {
		return
	}
	if !*update {
		t.Fatal("docs/policy.md is out of date; run go test ./policy/cel -run Docs -update")
	}
	if err := os.WriteFile(docFile, []byte(want), 0o644); err != nil {
		t.Fatal(err)
	}
}

func factReference() string {
	var b strings.Builder
	b.WriteString("### Names\n\n| name | type | |\n| --- | --- | --- |\n")
	for _, r := range policy.FactRoots() {
		fmt.Fprintf(&b, "| `%s` | %s | %s |\n", r.Name, typeLink(r.Type), r.Doc)
	}
	b.WriteString("| `lists` | Lists | The named lists of the policy, each a list(string). |\n\n### Functions\n\n| function | |\n| --- | --- |\n")
	for _, f := range cel.Functions() {
		fmt.Fprintf(&b, "| `%s` | %s Example: `%s` |\n", strings.ReplaceAll(f.Signature, "|", "\\|"), f.Doc, strings.ReplaceAll(f.Example, "|", "\\|"))
	}
	for _, t := range policy.FactTypes() {
		fmt.Fprintf(&b, "\n### %s\n\n%s\n\n| field | type | |\n| --- | --- | --- |\n", t.Name, t.Doc)
		for _, f := range t.Fields {
			fmt.Fprintf(&b, "| `%s` | %s | %s |\n", f.Name, typeLink(f.Type), f.Doc)
		}
	}
	return b.String()
}

func typeLink(typ string) string {
	for _, t := range policy.FactTypes() {
		if strings.Contains(typ, t.Name) {
			return strings.Replace(typ, t.Name, "["+t.Name+"](#"+strings.ToLower(t.Name)+")", 1)
		}
	}
	return typ
}

func packReference() string {
	var b strings.Builder
	for _, p := range policy.Packs() {
		fmt.Fprintf(&b, "%s\n\n| rule | effect | severity | reason |\n| --- | --- | --- | --- |\n", p.Description)
		for _, r := range p.Rules {
			fmt.Fprintf(&b, "| `%s` | %s | %s | %s %s |\n", r.Name, r.Effect, r.Severity, r.Reason, r.Hint)
		}
	}
	return b.String()
}

// Every YAML block of the documentation loads, and the cases in it pass: with the
// policy in front of them in the same section, or else with the first of all.
func TestDocsExamples(t *testing.T) {
	b, err := os.ReadFile(docFile)
	if err != nil {
		t.Fatal(err)
	}
	engine, err := cel.New(cel.Options{})
	if err != nil {
		t.Fatal(err)
	}
	var first, last *policy.Set
	blocks, cases := 0, 0
	for part := range strings.SplitSeq(string(b), "```yaml\n") {
		text, after, ok := strings.Cut(part, "```")
		if blocks++; !ok || blocks == 1 {
			continue
		}
		if strings.Contains(text, "\ncases:") {
			cases++
			fsys := fstest.MapFS{"doc_test.yaml": {Data: []byte(text)}}
			rep, err := policy.TestFS(t.Context(), fsys, cmp.Or(last, first), facts.Options{})
			if err != nil {
				t.Fatal(err)
			}
			if !rep.OK() {
				var out strings.Builder
				_ = rep.WriteText(&out)
				t.Errorf("cases:\n%s", out.String())
			}
			last = nil
			continue
		}
		if strings.HasPrefix(text, "# .holdpoint/") {
			for _, p := range policy.LintOverlay("doc.yaml", []byte(text), policy.Options{Engine: engine, Packs: []string{policy.DefaultPack}}) {
				t.Error(p)
			}
			continue
		}
		s, err := policy.Parse("doc.yaml", []byte(text), policy.Options{Engine: engine})
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		if first == nil {
			first = s
		}
		if last = s; strings.Contains(after, "\n## ") {
			last = nil
		}
	}
	if blocks < 4 || cases != 3 {
		t.Errorf("found %d blocks and %d with cases", blocks-1, cases)
	}
}
