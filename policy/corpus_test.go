package policy_test

import (
	"bufio"
	"bytes"
	"slices"
	"testing"

	"github.com/go-json-experiment/json"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/facts"
	"github.com/holdpoint/holdpoint/internal/corpus"
	"github.com/holdpoint/holdpoint/policy"
)

// Over the whole corpus the decision follows from the hazards: what has a hazard
// that the pack denies is denied, and nothing else is.
func TestCorpusDecisions(t *testing.T) {
	s := load(t, "", policy.Options{Packs: []string{policy.DefaultPack}})
	lines := 0
	sc := bufio.NewScanner(bytes.NewReader(corpus.File(t, "shell/dev.jsonl")))
	sc.Buffer(nil, 1<<20)
	for sc.Scan() {
		var e struct {
			ID             string   `json:"id"`
			Command        string   `json:"command"`
			CWD            string   `json:"cwd"`
			WorkspaceRoots []string `json:"workspaceRoots"`
		}
		if err := json.Unmarshal(sc.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		lines++
		input, err := json.Marshal(map[string]string{"command": e.Command})
		if err != nil {
			t.Fatal(err)
		}
		f, err := facts.Extract(t.Context(), &ahp.Event{
			ID: e.ID, Type: ahp.ToolBefore, Session: ahp.Session{CWD: e.CWD, WorkspaceRoots: e.WorkspaceRoots},
			Tool: &ahp.Tool{Name: "Bash", Kind: ahp.KindShell, Input: input},
		}, facts.Options{Home: "/home/dev"})
		if err != nil {
			t.Fatal(err)
		}
		d := decide(t, s, f)
		want := slices.ContainsFunc(d.Hazards, func(c string) bool { return c != facts.GitForcePushLease })
		metadata := slices.ContainsFunc(f.URLs, func(u facts.URL) bool { return u.Class == facts.ClassMetadata })
		if d.Denied() != (want || metadata) {
			t.Errorf("%s %q: hazards %v, decision %s by %s", e.ID, e.Command, d.Hazards, d.Effect, d.Rule)
		}
		if d.Breach != "" {
			t.Errorf("%s: breach %s", e.ID, d.Breach)
		}
		if _, err := s.Explain(t.Context(), f); err != nil {
			t.Errorf("%s: explain: %v", e.ID, err)
		}
	}
	if lines < 600 {
		t.Errorf("%d entries, want the whole corpus", lines)
	}
}
