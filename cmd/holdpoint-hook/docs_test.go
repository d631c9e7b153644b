//go:build linux || darwin

package main_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdpoint/holdpoint/hookwire"
	"github.com/holdpoint/holdpoint/native/refuse"
)

// documented returns the hook commands of the first JSON block of a page, by event.
func documented(t *testing.T, page string) map[string]string {
	t.Helper()
	b, err := os.ReadFile(filepath.Join("..", "..", "docs", "agents", page))
	if err != nil {
		t.Fatal(err)
	}
	_, block, ok := strings.Cut(string(b), "```json\n")
	block, _, ok2 := strings.Cut(block, "```")
	if !ok || !ok2 {
		t.Fatal("no JSON block")
	}
	var config struct {
		Hooks map[string][]struct {
			Hooks []struct {
				Type, Command string
				Timeout       int
			}
		}
	}
	if err := json.Unmarshal([]byte(block), &config); err != nil {
		t.Fatal(err)
	}
	commands := map[string]string{}
	for event, groups := range config.Hooks {
		if len(groups) != 1 || len(groups[0].Hooks) != 1 || groups[0].Hooks[0].Type != "command" || groups[0].Hooks[0].Timeout < 5 {
			t.Fatalf("%s: %+v", event, groups)
		}
		commands[event] = groups[0].Hooks[0].Command
	}
	if page == "codex.md" {
		// The same command stands in the managed form.
		if _, managed, ok := strings.Cut(string(b), "command = '''"); !ok || !strings.HasPrefix(managed, commands["PreToolUse"]) {
			t.Error("the two forms of the PreToolUse hook differ")
		}
	}
	return commands
}

// TestDocumentedConfiguration runs what the documentation says to paste, through
// the shells that the agents use.
func TestDocumentedConfiguration(t *testing.T) {
	const guard = "The policy hook did not run, so this operation was refused.\n"
	for page, agent := range map[string]string{"claude-code.md": "claude-code", "codex.md": "codex"} {
		commands := documented(t, page)
		if len(commands) < 3 || commands["PreToolUse"] == "" || commands["Stop"] != "" {
			t.Fatalf("%s: %v", page, commands)
		}
		for event, command := range commands {
			m := mode{agent, event, "fail-closed"}
			if guarded := strings.Contains(command, "exit 2"); guarded != refuse.Refusable(agent, event) {
				t.Errorf("%s %s: guarded is %v", agent, event, guarded)
			}
			for _, shell := range []string{"/bin/sh", "/bin/bash"} {
				t.Run(agent+"/"+event+shell, func(t *testing.T) {
					if _, err := os.Stat(shell); err != nil {
						t.Skip(err)
					}
					p := newPlace(t)
					run := func(binary string) result {
						c := strings.ReplaceAll(command, "/usr/local/bin/holdpoint-hook", binary)
						c = strings.ReplaceAll(c, "/home/you/.local/state/holdpoint/hook.sock", p.socket)
						if c == command || strings.Contains(c, "/home/you") {
							t.Fatalf("the command names other paths: %s", command)
						}
						return start{binary: shell, args: []string{"-c", c}, stdin: strings.NewReader(m.payload())}.run(t)
					}
					want := result{}
					if event == "PreToolUse" {
						want = recordedRefusal(t, agent, event, textNoAnswer)
					}
					expect(t, run(hookBinary), want) // the gateway is down

					got := run("/nonexistent/holdpoint-hook")
					if event == "PreToolUse" {
						if got.code != 2 || got.stdout != "" || !strings.HasSuffix(got.stderr, guard) {
							t.Errorf("without the client: %+v", got)
						}
					} else if got.code == 2 || got.stdout != "" {
						t.Errorf("without the client: %+v", got)
					}

					p.serve(t, answering(&hookwire.Answer{Status: hookwire.StatusAnswer}))
					expect(t, run(hookBinary), result{}) // no objection
				})
			}
		}
	}
}
