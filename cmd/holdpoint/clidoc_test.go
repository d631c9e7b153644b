package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// cliDoc writes docs/cli.md from the command tree.
func cliDoc() string {
	root := newRoot(&app{in: strings.NewReader(""), out: io.Discard, err: io.Discard})
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	var b strings.Builder
	b.WriteString(`# The command line

<!-- Written from the command tree by the tests of cmd/holdpoint. Do not edit: UPDATE_DOCS=1 go test ./cmd/holdpoint -run TestCLIDoc -->

` + "`holdpoint`" + ` is the gateway and its tools; ` + "`holdpoint-hook`" + ` is the small client that agents start (its own ` + "`--help`" + ` and the
pages in [agents](agents) describe it).

## Exit codes

| code | meaning |
| --- | --- |
`)
	for _, row := range exitCodes {
		fmt.Fprintf(&b, "| %d | %s |\n", row.code, row.meaning)
	}
	b.WriteString("\n`holdpoint hook` ends with the code that the agent expects instead.\n")
	b.WriteString(`
## JSON

Every ` + "`--json`" + ` output has a JSON Schema in [schemas](schemas): ` + "`check`, `check --batch`" + ` (check-batch), ` + "`version`, `lint`, `policy test`" + `
(policy-test), ` + "`policy explain`" + ` (policy-explain), ` + "`policy packs`" + ` (policy-packs), ` + "`inspect`, `doctor`, `audit tail`" + ` and ` + "`audit query`" + `
(audit-record, one object on each line), ` + "`audit explain`" + ` (audit-explain), ` + "`audit verify`" + ` (audit-verify), ` + "`audit checkpoint`" + `
(audit-checkpoint), ` + "`conform host`" + ` (conform). The gateway's own
` + "`/healthz` and `/readyz`" + ` are healthz and readyz. Members may be added, as the schemas allow; a reader ignores those that it does
not know.

## Completion

` + "```sh\nsource <(holdpoint completion bash)   # also: zsh, fish, powershell\n```\n")
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		if c.Hidden || c.Name() == "help" {
			return
		}
		fmt.Fprintf(&b, "\n## %s\n\n%s.\n\n```\n%s\n```\n", c.CommandPath(), c.Short, c.UseLine())
		if c.Long != "" && c.Name() != "completion" {
			fmt.Fprintf(&b, "\n```text\n%s\n```\n", strings.TrimSpace(c.Long))
		}
		if c.Example != "" {
			fmt.Fprintf(&b, "\nExamples:\n\n```sh\n%s\n```\n", unindent(c.Example))
		}
		c.InitDefaultVersionFlag() // else it comes when the command runs
		if flags := c.LocalFlags().FlagUsages(); flags != "" {
			fmt.Fprintf(&b, "\nFlags:\n\n```text\n%s```\n", flags)
		}
		if flags := c.InheritedFlags().FlagUsages(); flags != "" {
			fmt.Fprintf(&b, "\nFlags of the commands above:\n\n```text\n%s```\n", flags)
		}
		if c.Name() == "completion" {
			return // the library's own, one for each shell
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(root)
	return b.String()
}

// exitCodes is what docs/cli.md says of them.
var exitCodes = []struct {
	code    int
	meaning string
}{
	{exitOK, "done. `check`, `inspect`: nothing against it. `lint`, `doctor`, `policy test`, `audit verify`: nothing wrong"},
	{exitFailed, "failed, or something is wrong with what was looked at"},
	{exitUsage, "the command line is wrong"},
	{exitDenied, "denied (`check` and `inspect` only)"},
	{exitAsk, "needs an approval (`check` and `inspect` only)"},
}

func unindent(s string) string {
	lines := strings.Split(s, "\n")
	for i := range lines {
		lines[i] = strings.TrimPrefix(lines[i], "  ")
	}
	return strings.Join(lines, "\n")
}

// docs/cli.md is what the command tree says.
func TestCLIDoc(t *testing.T) {
	path := filepath.Join("..", "..", "docs", "cli.md")
	want := cliDoc()
	if os.Getenv("UPDATE_DOCS") != "" {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("docs/cli.md is not what the commands say: UPDATE_DOCS=1 go test ./cmd/holdpoint -run TestCLIDoc")
	}
}

// Each command says what it is for, and each flag what it does.
func TestCommandsAreDescribed(t *testing.T) {
	root := newRoot(&app{in: strings.NewReader(""), out: io.Discard, err: io.Discard})
	seen := 0
	var walk func(*cobra.Command)
	walk = func(c *cobra.Command) {
		seen++
		if c.Short == "" || strings.HasSuffix(c.Short, ".") {
			t.Errorf("%s: its short text is %q", c.CommandPath(), c.Short)
		}
		if c.Args == nil && !c.HasSubCommands() && !strings.Contains(c.Use, "-- COMMAND") {
			t.Errorf("%s takes any arguments and names none", c.CommandPath())
		}
		for _, sub := range c.Commands() {
			walk(sub)
		}
	}
	walk(root)
	if seen < 15 {
		t.Errorf("only %d commands", seen)
	}
}

// Values of flags that take one of a few are completed, and they are accepted.
func TestCompletion(t *testing.T) {
	tests := []struct {
		args []string
		want []string
	}{
		{[]string{"check", "--shell", ""}, []string{"bash", "sh", "zsh", "powershell", "cmd"}},
		{[]string{"check", "--agent", "co"}, []string{"codex"}},
		{[]string{"policy", "explain", "--agent", ""}, []string{"claude-code", "codex"}},
		{[]string{"doctor", "--agent", "cl"}, []string{"claude-code"}},
		{[]string{"doctor", "--failure-policy", ""}, []string{"fail-open", "fail-closed"}},
		{[]string{"lint", "--kind", ""}, []string{"message", "event", "registration", "manifest", "policy"}},
		{[]string{"audit", "query", "--kind", "s"}, []string{"settlement", "start", "stop"}},
		{[]string{"audit", "query", "--hazard", "git.force"}, []string{"git.force_push", "git.force_push_lease"}},
		{[]string{"inspect", "--method", ""}, []string{"intercept", "observe"}},
		{[]string{"serve", "--reload", ""}, []string{"auto", "manual"}},
		{[]string{"policy", "packs", "--show", ""}, []string{"default"}},
		{[]string{"hook", ""}, []string{"claude-code", "codex"}},
		{[]string{"audit", ""}, []string{"checkpoint", "explain", "query", "tail", "verify"}},
	}
	for _, tt := range tests {
		t.Run(strings.Join(tt.args, " "), func(t *testing.T) {
			var out, errs strings.Builder
			if code := run(t.Context(), append([]string{"__complete"}, tt.args...), strings.NewReader(""), &out, &errs); code != exitOK {
				t.Fatalf("exit code %d: %s", code, errs.String())
			}
			var got []string
			for line := range strings.Lines(out.String()) {
				word, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
				// The shell keeps what begins with what was typed.
				if !strings.HasPrefix(word, ":") && word != "" && strings.HasPrefix(word, tt.args[len(tt.args)-1]) {
					got = append(got, word)
				}
			}
			slices.Sort(got)
			slices.Sort(tt.want)
			if !slices.Equal(got, tt.want) {
				t.Errorf("completes %q, want %q", got, tt.want)
			}
		})
	}
}
