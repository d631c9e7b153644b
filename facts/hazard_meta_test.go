package facts_test

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/holdpoint/holdpoint/internal/corpus"
)

// rewrites change how a command is written but not what it does. only says for
// which commands a rewrite keeps the meaning; nil means all.
var rewrites = []struct {
	name string
	fn   func(string) string
	only func(string) bool
}{
	{"braces", func(c string) string { return "{ " + c + "\n}" }, nil},
	{"parens", func(c string) string { return "( " + c + "\n)" }, nil},
	{"if", func(c string) string { return "if true; then " + c + "\nfi" }, nil},
	{"after &&", func(c string) string { return "true && " + c }, oneLine},
	{"after ;", func(c string) string { return "echo start; " + c }, oneLine},
	{"before ;", func(c string) string { return c + "\necho done" }, nil},
	{"bash -c", func(c string) string { return "bash -c " + quoted(c) }, nil},
	{"bash -c twice", func(c string) string { return "bash -c " + quoted("bash -c "+quoted(c)) }, nil},
	{"heredoc", func(c string) string { return "sh <<'HOLDEOF'\n" + c + "\nHOLDEOF" }, nil},
	{"function", func(c string) string { return "wrapped_fn() { " + c + "\n}; wrapped_fn" }, nil},
	{"env", func(c string) string { return "env " + c }, plainCommand},
	{"nice", func(c string) string { return "nice -n 5 " + c }, plainCommand},
	{"command", func(c string) string { return "command " + c }, plainCommand},
	{"pipe from true", func(c string) string { return "true | " + c }, plainCommand},
	{"continuation", func(c string) string { return strings.Replace(c, " ", " \\\n", 1) }, plainCommand},
	{"quoted name", func(c string) string { w, rest, _ := strings.Cut(c, " "); return "'" + w + "' " + rest }, plainCommand},
	{"double-quoted name", func(c string) string { w, rest, _ := strings.Cut(c, " "); return `"` + w + `" ` + rest }, plainCommand},
	{"split name", func(c string) string { return c[:1] + "''" + c[1:] }, plainCommand},
	{"backslash name", func(c string) string { return `\` + c }, plainCommand},
	{"literal variable", func(c string) string { w, rest, _ := strings.Cut(c, " "); return "zz=" + w + "\n$zz " + rest }, plainCommand},
}

func oneLine(c string) bool { return !strings.Contains(c, "\n") && plainCommand(c) }

// plainCommand: one simple command of an external program, without anything
// that a prefix would bind to or that the shell has to see first.
func plainCommand(c string) bool {
	if strings.ContainsAny(c, "\n|&;<>`#{}()\\\r") || strings.Contains(c, "$(") || len(c) < 4 {
		return false
	}
	w, _, ok := strings.Cut(c, " ")
	if !ok || strings.ContainsAny(w, "=$'\"*?[~!/") {
		return false
	}
	for _, r := range w {
		if r > 0x7e {
			return false
		}
	}
	switch w {
	case "if", "for", "while", "until", "case", "{", "!", "[", "[[", "test", "cd", "pushd", "popd", "eval", "source", ".", "exec", "export", "unset", "trap", "alias", "unalias", "set", "shift", "read", "declare", "local", "readonly", "typeset", "let", "echo", "printf", ":",
		"function", "time", "coproc", "select", "mapfile", "command", "builtin", "env", "exit", "return", "shopt", "wait", "jobs", "umask", "type", "ulimit", "history", "kill", "printenv", "then", "do", "else", "done", "fi", "compgen", "set-script":
		return false
	}
	return true
}

func quoted(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

// balancedText leaves out what bash rejects as a whole: wrapped, it would not run
// its first lines any more.
func wellFormed(c string) bool {
	return strings.Count(c, "(")-strings.Count(c, ")") == 0 && !strings.HasSuffix(c, "then") && !strings.Contains(c, "unterminated") && !strings.HasSuffix(c, `\`) && !strings.Contains(c, "HOLDEOF") && !strings.HasSuffix(c, "&&") && !strings.HasSuffix(c, "; fi") && !strings.Contains(c, "shopt -s expand_aliases")
}

// TestRewrites holds that harmless rewrites change no hazard, and make none.
func TestRewrites(t *testing.T) {
	cases := readCorpus(t, corpus.File(t, "shell/dev.jsonl"))
	data, err := os.ReadFile("testdata/cases.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		if line = strings.TrimRight(line, "\n"); line == "" || line[0] == '#' || strings.HasPrefix(line, "== ") {
			continue
		}
		cases = append(cases, entry{Command: caseText(line), CWD: "/home/dev/repo", Roots: []string{"/home/dev/repo"}})
	}
	runs, bad := 0, 0
	for _, e := range cases {
		if !wellFormed(e.Command) {
			continue
		}
		want, _ := judge(t, e)
		for _, rw := range rewrites {
			if rw.only != nil && !rw.only(e.Command) {
				continue
			}
			n := e
			n.Command = rw.fn(e.Command)
			got, _ := judge(t, n)
			runs++
			if same(got, want) {
				continue
			}
			if bad++; bad <= 60 {
				t.Errorf("%s: %q: got %v, want %v", rw.name, n.Command, got, want)
			}
		}
	}
	if bad > 60 {
		t.Errorf("%d of %d rewrites changed the hazards", bad, runs)
	}
	if runs < 20_000 {
		t.Errorf("%d rewrites run, expected at least 20,000", runs)
	}
}

// same compares codes. Nesting may add that the text is disguised: wrapped code
// is text made by the shell.
func same(got, want []string) bool {
	strip := func(s []string) []string {
		return slices.DeleteFunc(slices.Clone(s), func(c string) bool { return c == "obfuscation" })
	}
	return slices.Equal(strip(got), strip(want))
}
