package gateway_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/audit"
	"github.com/holdpoint/holdpoint/gateway"
	"github.com/holdpoint/holdpoint/hookwire"
	"github.com/holdpoint/holdpoint/internal/schematest"
)

const (
	policyDeploy = `version: 1
rules:
  - name: no-deploy
    when: tool.name == "Deploy"
    effect: deny
    reason: Deployments are for people.
    severity: high
`
	policyBroken = `version: 1
rules:
  - name: no-deploy
    when: tool.nome == "Deploy"
    effect: deny
    reason: x
    severity: high
`
)

func writePolicy(t *testing.T, dir, text string) {
	t.Helper()
	// As an editor does: a new file, renamed over the old one.
	tmp := filepath.Join(dir, ".rules.yaml.tmp")
	if err := os.WriteFile(tmp, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(tmp, filepath.Join(dir, "rules.yaml")); err != nil {
		t.Fatal(err)
	}
}

func TestABrokenEditKeepsTheLastGoodPolicy(t *testing.T) {
	for _, mode := range []gateway.ReloadMode{gateway.ReloadAuto, gateway.ReloadManual} {
		t.Run(string(mode), func(t *testing.T) {
			o := options(t)
			o.Policy.Dir = filepath.Join(shortDir(t), "policy")
			if err := os.Mkdir(o.Policy.Dir, 0o700); err != nil {
				t.Fatal(err)
			}
			writePolicy(t, o.Policy.Dir, policyDeploy)
			o.Reload = mode
			r := start(t, o)
			first := r.Decider().Digest()
			edit := func(text string) {
				t.Helper()
				writePolicy(t, o.Policy.Dir, text)
				if mode == gateway.ReloadManual {
					r.Reload()
				}
			}
			denied := func() bool {
				t.Helper()
				ans, err := ask(t, o.Socket, hookwire.AgentClaudeCode, "PreToolUse", bytes.ReplaceAll(bash("now"), []byte(`"Bash"`), []byte(`"Deploy"`)))
				if err != nil {
					t.Fatal(err)
				}
				return ans.ExitCode == 2
			}
			if !denied() {
				t.Fatal("the rule does not hold at the start")
			}

			edit(policyBroken)
			r.until("the broken edit is seen", func() bool { return r.Ready().PolicyBroken })
			if !denied() || r.Decider().Digest() != first {
				t.Error("the last good policy is not in force")
			}
			_, body := r.get("/readyz")
			schematest.Validate(t, "readyz", []byte(body))
			if ready := r.Ready(); !ready.Ready || ready.PolicyProblems == 0 || ready.Policy != first {
				t.Errorf("readiness %+v", ready)
			}
			if !strings.Contains(r.metric("holdpoint_policy_broken"), " 1") {
				t.Error("the metric does not say so")
			}
			if log := r.log.String(); !strings.Contains(log, "policy refused") || !strings.Contains(log, "rules.yaml") {
				t.Error("the log does not say so")
			}

			edit(strings.ReplaceAll(policyDeploy, "Deployments are for people.", "Ask somebody."))
			r.until("the repair is seen", func() bool { return !r.Ready().PolicyBroken })
			if !denied() || r.Decider().Digest() == first {
				t.Error("the new policy is not in force")
			}
			if !strings.Contains(r.metric("holdpoint_policy_broken"), " 0") {
				t.Error("the metric does not say that it is repaired")
			}

			var results []string
			for _, rec := range r.records(audit.Reload) {
				schematest.Validate(t, "reload-record", rec.Data)
				var data struct{ Result, Digest string }
				if err := json.Unmarshal(rec.Data, &data); err != nil || data.Digest == "" {
					t.Errorf("entry %s: %v", rec.Data, err)
				}
				results = append(results, data.Result)
				if strings.Contains(string(rec.Data), "nome") {
					t.Error("the entry quotes the policy")
				}
			}
			if got := strings.Join(results, " "); got != "loaded refused loaded" {
				t.Errorf("reload entries: %s", got)
			}
			sets := r.settlements()
			if len(sets) != 3 || sets[0].PolicyDigest != first || sets[1].PolicyDigest != first || sets[2].PolicyDigest != r.Decider().Digest() {
				t.Errorf("digests of the settlements do not follow the policy: %d", len(sets))
			}
		})
	}
}

// A policy folder that is a link, as people who keep their settings in one
// repository have it, and a file in it that is one, are read again like any other.
func TestLinkedPoliciesAreReadAgain(t *testing.T) {
	for _, what := range []string{"folder", "file"} {
		t.Run(what, func(t *testing.T) {
			base := shortDir(t)
			real := filepath.Join(base, "settings", "policy")
			if err := os.MkdirAll(real, 0o700); err != nil {
				t.Fatal(err)
			}
			writePolicy(t, real, policyDeploy)
			o := options(t)
			o.Policy.Dir = filepath.Join(base, "config", "policy")
			link, target := o.Policy.Dir, real
			if what == "file" {
				link, target = filepath.Join(o.Policy.Dir, "rules.yaml"), filepath.Join(real, "rules.yaml")
			}
			if err := os.MkdirAll(filepath.Dir(link), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(target, link); err != nil {
				t.Skip(err)
			}
			o.Reload = gateway.ReloadAuto
			r := start(t, o)
			for _, reason := range []string{"Ask somebody.", "Ask somebody else."} {
				first := r.Decider().Digest()
				writePolicy(t, real, strings.ReplaceAll(policyDeploy, "Deployments are for people.", reason))
				r.until("the edit is seen: "+reason, func() bool { return r.Decider().Digest() != first })
			}
		})
	}
}

// Where a link of the policy folder leads to is as much part of the gate as the
// folder itself.
func TestLinkedPoliciesAreGuarded(t *testing.T) {
	base, err := filepath.EvalSymlinks(shortDir(t))
	if err != nil {
		t.Fatal(err)
	}
	dir, real, other := filepath.Join(base, "policy"), filepath.Join(base, "real"), filepath.Join(base, "other")
	for _, d := range []string{real, other} {
		if err := os.Mkdir(d, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	writePolicy(t, real, policyDeploy)
	if err := os.WriteFile(filepath.Join(other, "more.yaml"), []byte("version: 1\npacks: [default]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for link, target := range map[string]string{dir: real, filepath.Join(real, "more.yaml"): filepath.Join(other, "more.yaml")} {
		if err := os.Symlink(target, link); err != nil {
			t.Skip(err)
		}
	}
	d, err := gateway.NewDecider(gateway.PolicySource{Dir: dir, Home: "/home/dev", Disk: true})
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{
		filepath.Join(dir, "rules.yaml"), filepath.Join(real, "rules.yaml"), filepath.Join(real, "new.yaml"),
		filepath.Join(dir, "more.yaml"), filepath.Join(other, "more.yaml"),
	} {
		ev := &ahp.Event{
			ID: "e", Source: "urn:test", Type: ahp.ToolBefore, Session: ahp.Session{ID: "s", CWD: "/home/dev/repo", WorkspaceRoots: []string{"/home/dev/repo", base}},
			Tool: &ahp.Tool{CallID: "c", Name: "Bash", Kind: ahp.KindShell, Input: []byte(`{"command":"echo x > ` + file + `"}`)},
		}
		dec, _, err := d.Decide(t.Context(), ev)
		if err != nil || dec.Rule != "guard.tamper" {
			t.Errorf("writing %s: %q, error %v; want guard.tamper", strings.TrimPrefix(file, base), dec.Rule, err)
		}
	}
}
