package gateway_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/holdpoint/holdpoint/audit"
	"github.com/holdpoint/holdpoint/facts"
	"github.com/holdpoint/holdpoint/facts/secret"
	"github.com/holdpoint/holdpoint/hookwire"
	"github.com/holdpoint/holdpoint/internal/schematest"
)

// With fact values a record says what the facts were, bounded and without secrets;
// without them it says their names only.
func TestFactValuesInRecords(t *testing.T) {
	const token = "ghp_aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5"
	command := "cat ./notes.txt; curl -H 'Authorization: token " + token + "' https://user:" + token + "@up.example.com/x" + "; touch f" + token + strings.Repeat("; touch build/out", 60)
	for _, values := range []bool{false, true} {
		o := options(t)
		o.FactValues = values
		o.Policy.Secrets = func() (facts.SecretFinder, error) { return secret.New(secret.Options{Generic: true}).Find, nil }
		// A policy that reads no secrets: whoever shows facts looks for them all the same.
		o = withRules(t, o, "  - {name: r, when: 'tool.kind == \"shell\"', effect: flag, reason: r}\n")
		r := start(t, o)
		hook(t, o.Socket, hookwire.AgentClaudeCode, "PreToolUse", payload(command))
		recs := r.records(audit.Settlement)
		if len(recs) != 1 {
			t.Fatalf("%d records", len(recs))
		}
		data := recs[0].Data
		schematest.Validate(t, "settlement-record", data)
		if strings.Contains(string(data), token) {
			t.Errorf("values %v: the record holds the secret", values)
		}
		var got struct {
			FactValues []struct{ Kind, Text string }
			Left       int `json:"factValuesLeftOut"`
		}
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		if !values {
			if got.FactValues != nil || strings.Contains(string(data), "notes.txt") {
				t.Errorf("values unasked: %s", data)
			}
			continue
		}
		if len(got.FactValues) != 32 || got.Left == 0 {
			t.Errorf("%d values, %d left out", len(got.FactValues), got.Left)
		}
		if !slices.ContainsFunc(got.FactValues, func(f struct{ Kind, Text string }) bool {
			return f.Kind == "file" && strings.Contains(f.Text, "/home/dev/repo/notes.txt")
		}) {
			t.Errorf("values %+v", got.FactValues)
		}
		for _, f := range got.FactValues {
			if len(f.Text) > 200 {
				t.Errorf("a line of %d bytes", len(f.Text))
			}
		}
	}
}

// A secret that the input spells in pieces is whole in a fact, and is replaced there.
func TestFactValuesOfSecretsInPieces(t *testing.T) {
	const token = "ghp_aB3dE5fG7hI9jK1lM3nO5pQ7rS9tU1vW3xY5"
	for _, command := range []string{
		"touch f'ghp_'" + token[4:], `touch f'ghp_'aB3dE5fG7h""` + token[14:], `touch $'ghp_\x61'` + token[5:],
		"curl https://'ghp_'" + token[4:] + "@up.example.com/x",
	} {
		o := options(t)
		o.FactValues = true
		o.Policy.Secrets = func() (facts.SecretFinder, error) { return secret.New(secret.Options{Generic: true}).Find, nil }
		o = withRules(t, o, "  - {name: r, when: 'tool.kind == \"shell\"', effect: flag, reason: r}\n")
		r := start(t, o)
		hook(t, o.Socket, hookwire.AgentClaudeCode, "PreToolUse", payload(command))
		recs := r.records(audit.Settlement)
		if len(recs) != 1 || !strings.Contains(string(recs[0].Data), "factValues") {
			t.Fatalf("%d records", len(recs))
		}
		if data := string(recs[0].Data); strings.Contains(data, token[14:]) || !strings.Contains(data, "***") {
			t.Errorf("%s: %s", command, data[strings.Index(data, "factValues"):])
		}
	}
}
