package main

import (
	"os/exec"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdpoint/holdpoint/shell"
)

func TestQuoteArgv(t *testing.T) {
	tests := []struct {
		argv []string
		d    shell.Dialect
		want string
	}{
		{[]string{"git", "push", "--force"}, shell.Bash, "git push --force"},
		{[]string{"git", "commit", "-m", "a; rm -rf ~"}, shell.Bash, "git commit -m 'a; rm -rf ~'"},
		{[]string{"echo", "it's"}, shell.Sh, `echo 'it'\''s'`},
		{[]string{"A=b", "x"}, shell.Bash, "'A=b' x"},
		{[]string{"env", "A=b", ""}, shell.Bash, "env A=b ''"},
		{[]string{"if"}, shell.Bash, "'if'"},
		{[]string{"echo", "=ls", "~", "$HOME", "*"}, shell.Zsh, "echo '=ls' '~' '$HOME' '*'"},
		{[]string{"git", "push", "it's", "-Force"}, shell.PowerShell, "& 'git' push 'it''s' -Force"},
	}
	for _, tt := range tests {
		got, err := quoteArgv(tt.argv, tt.d)
		if err != nil || got != tt.want {
			t.Errorf("%q for %s: %q, %v; want %q", tt.argv, tt.d, got, err, tt.want)
		}
	}
	for name, err := range map[string]error{
		"NUL":     second(quoteArgv([]string{"a\x00b"}, shell.Bash)),
		"cmd.exe": second(quoteArgv([]string{"dir"}, shell.Cmd)),
	} {
		if err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// A real shell must start exactly the words that went in.
func TestQuoteArgvAgainstARealShell(t *testing.T) {
	sh, err := exec.LookPath("sh")
	if err != nil {
		t.Skip(err)
	}
	rapid.Check(t, func(t *rapid.T) {
		words := rapid.SliceOfN(rapid.StringOf(rapid.Rune().Filter(func(r rune) bool { return r != 0 })), 1, 4).Draw(t, "words")
		for i, w := range words {
			words[i] = strings.ToValidUTF8(w, "?")
		}
		text, err := quoteArgv(append([]string{"printf", `%s\0`}, words...), shell.Sh)
		if err != nil {
			t.Fatal(err)
		}
		out, err := exec.Command(sh, "-c", text).Output()
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		got := strings.Split(strings.TrimSuffix(string(out), "\x00"), "\x00")
		if !slices.Equal(got, words) {
			t.Fatalf("%s: started %q, want %q", text, got, words)
		}
	})
}
