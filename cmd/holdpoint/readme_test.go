package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// A reader who copies the rule of a document into the named files, and then runs
// the commands below it, must see what the document says: cases that pass, and a
// denial by that rule.
func TestDocumentedRuleFires(t *testing.T) {
	if _, err := exec.LookPath("sh"); err != nil {
		t.Skip("no sh")
	}
	const dir = ".config/holdpoint/policy"
	tests := []struct {
		doc, rule string
		commands  int // in the document's section about a rule
	}{
		{"README.md", "no-production", 3},
		{"docs/policy.md", "no-prod-database", 0},
	}
	for _, tt := range tests {
		t.Run(tt.doc, func(t *testing.T) {
			b, err := os.ReadFile(filepath.Join("..", "..", filepath.FromSlash(tt.doc)))
			if err != nil {
				t.Fatal(err)
			}
			files := regexp.MustCompile("(?s)```yaml\n# (?:~/"+regexp.QuoteMeta(dir)+"/)?([a-z_]+\\.yaml)\n.*?```").FindAllStringSubmatch(string(b), -1)
			if len(files) == 0 || len(files)%2 != 0 {
				t.Fatalf("%d files of policies, want for each the rule and its cases", len(files))
			}
			var home string
			for i, f := range files {
				if i%2 == 0 { // a policy of its own
					if i > 0 {
						testDocumentedPolicy(t, home, dir)
					}
					home = t.TempDir()
					if err := os.MkdirAll(filepath.Join(home, dir), 0o700); err != nil {
						t.Fatal(err)
					}
				}
				text := strings.TrimSuffix(strings.TrimPrefix(f[0], "```yaml\n"), "```")
				if err := os.WriteFile(filepath.Join(home, dir, f[1]), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			commands := []string{"holdpoint policy test ~/" + dir}
			if tt.commands > 0 {
				_, section, _ := strings.Cut(string(b), "\n## Write a rule\n")
				section, _, _ = strings.Cut(section, "\n## ")
				commands = nil
				for _, m := range regexp.MustCompile(`(?m)^\$ (.*)$`).FindAllStringSubmatch(section, -1) {
					commands = append(commands, m[1])
				}
				if len(commands) != tt.commands {
					t.Fatalf("commands %q, want %d", commands, tt.commands)
				}
			}
			for _, c := range commands {
				cmd := exec.Command("sh", "-c", c)
				cmd.Dir = home
				cmd.Env = []string{"HOME=" + home, "PATH=" + programs + string(os.PathListSeparator) + os.Getenv("PATH")}
				out, _ := cmd.CombinedOutput()
				code, text := cmd.ProcessState.ExitCode(), string(out)
				switch {
				case strings.HasPrefix(c, "holdpoint check ") && (code != exitDenied || !strings.Contains(text, tt.rule)),
					strings.HasPrefix(c, "holdpoint policy explain ") && (code != 0 || !strings.Contains(text, "deny by "+tt.rule)),
					strings.HasPrefix(c, "holdpoint policy test ") && (code != 0 || !strings.Contains(text, "0 failed")):
					t.Errorf("%s\nexit code %d\n%s", c, code, text)
				}
			}
		})
	}
}

// testDocumentedPolicy runs the cases of one documented policy.
func testDocumentedPolicy(t *testing.T, home, dir string) {
	t.Helper()
	cmd := exec.Command(filepath.Join(programs, "holdpoint"), "policy", "test", filepath.Join(home, dir))
	if out, err := cmd.CombinedOutput(); err != nil || !strings.Contains(string(out), "0 failed") {
		t.Errorf("policy test: %v\n%s", err, out)
	}
}
