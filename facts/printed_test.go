package facts_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"github.com/holdpoint/holdpoint/facts"
	"github.com/holdpoint/holdpoint/internal/corpus"
	"github.com/holdpoint/holdpoint/shell"
)

// printerFaults are programs that the printer of the syntax library prints as other
// ones.
var printerFaults = map[string]func(text string, file *syntax.File) bool{
	// They are marks of the text/tabwriter that it prints through.
	"form feed and vertical tab": func(text string, _ *syntax.File) bool { return strings.ContainsAny(text, "\f\v") },
	// The parser leaves it out; no shell is given one in an argument.
	"zero byte": func(text string, _ *syntax.File) bool { return strings.Contains(text, "\x00") },
	// It is set apart by a space.
	"process substitution within a word": func(_ string, file *syntax.File) bool {
		return pair(file, func(_, b syntax.WordPart) bool { _, ok := b.(*syntax.ProcSubst); return ok })
	},
	// It becomes $$(…), the process id and more.
	"dollar before backquotes": func(_ string, file *syntax.File) bool {
		return pair(file, func(a, b syntax.WordPart) bool {
			l, ok := a.(*syntax.Lit)
			_, sub := b.(*syntax.CmdSubst)
			return ok && sub && strings.HasSuffix(l.Value, "$")
		})
	},
}

// pair reports whether two parts that stand side by side in a word are like that.
func pair(file *syntax.File, is func(a, b syntax.WordPart) bool) bool {
	return has(file, func(n syntax.Node) bool {
		var parts []syntax.WordPart
		switch n := n.(type) {
		case *syntax.Word:
			parts = n.Parts
		case *syntax.DblQuoted:
			parts = n.Parts
		}
		for i := 1; i < len(parts); i++ {
			if is(parts[i-1], parts[i]) {
				return true
			}
		}
		return false
	})
}

func has(file *syntax.File, is func(syntax.Node) bool) bool {
	found := false
	syntax.Walk(file, func(n syntax.Node) bool {
		found = found || n != nil && is(n)
		return !found
	})
	return found
}

// printed parses text and prints the tree. ok is false for text that the shell
// would reject, and for what is among the faults.
func printed(text string) (out string, ok bool) {
	text = strings.ReplaceAll(text, "\r\n", "\n")
	file, err := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true)).Parse(strings.NewReader(text), "")
	if err != nil {
		return "", false
	}
	for _, fault := range printerFaults {
		if fault(text, file) {
			return "", false
		}
	}
	var b strings.Builder
	if err := syntax.NewPrinter().Print(&b, file); err != nil {
		return "", false
	}
	return b.String(), true
}

// shown is what must be the same of a text and of its printed form: hazards with
// their certainty, and the commands with their words.
func shown(ctx context.Context, text string) string {
	r := shell.Analyze(ctx, text, shell.Options{Dialect: shell.Bash, CWD: "/home/dev/repo", Roots: []string{"/home/dev/repo"}, Home: "/home/dev"})
	var lines []string
	for _, h := range facts.CommandHazards(r, text, facts.Options{Home: "/home/dev"}) {
		lines = append(lines, fmt.Sprintf("%s %s %s", h.Code, h.Certainty, h.Path))
	}
	slices.Sort(lines)
	lines = slices.Compact(lines)
	for i := range r.Commands {
		c := &r.Commands[i]
		line := "$ " + c.Program + " via " + fmt.Sprint(c.Via, c.Wrappers, c.Host)
		for j := range c.Args {
			line += fmt.Sprintf(" %q", c.Args[j].Value)
		}
		lines = append(lines, line)
	}
	for _, b := range r.Breaches {
		lines = append(lines, "breach "+b.Bound)
	}
	return strings.Join(append(lines, fmt.Sprintf("open %v", r.Material())), "\n")
}

func corpusCommands(tb testing.TB) []string {
	var out []string
	for _, name := range []string{"dev", "undecidable"} {
		for line := range strings.Lines(string(corpus.File(tb, "shell/"+name+".jsonl"))) {
			var e struct {
				Command string `json:"command"`
			}
			if err := json.Unmarshal([]byte(line), &e); err != nil {
				tb.Fatal(err)
			}
			out = append(out, e.Command)
		}
	}
	return out
}

func TestPrintedFormGivesTheSameFacts(t *testing.T) {
	checked := 0
	for _, text := range corpusCommands(t) {
		p, ok := printed(text)
		if !ok {
			continue
		}
		checked++
		if a, b := shown(t.Context(), text), shown(t.Context(), p); a != b {
			t.Errorf("%q\n%s\nprinted %q\n%s", text, a, p, b)
		}
	}
	t.Logf("%d texts", checked)
}

// FuzzPrinted holds that facts do not hang on how a program is laid out.
func FuzzPrinted(f *testing.F) {
	// TestPrintedFormGivesTheSameFacts runs all of them; as seeds they would take the
	// whole time of a short run, and nothing new would be tried.
	for i, text := range corpusCommands(f) {
		if i%8 == 0 {
			f.Add(text)
		}
	}
	f.Fuzz(func(t *testing.T, text string) {
		p, ok := printed(text)
		if !ok {
			return
		}
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		if a, b := shown(ctx, text), shown(ctx, p); a != b {
			t.Fatalf("%q\n%s\nprinted %q\n%s", text, a, p, b)
		}
	})
}
