package corpus

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
)

// A DraftFixture is one case of the public fixtures of AHP revision draft.
type DraftFixture struct {
	ID      string
	Path    string // below ahp-draft/fixtures
	Binding string // http-json, stdio-jsonl or registration
	Schema  string // base name without .schema.json

	ExpectedValid           bool  // by its own schema
	AggregateExpectedValid  *bool // as any message
	ContextualExpectedValid *bool // beside its request; nil where there is none
	EditContext             *DraftContext
}

// A DraftContext says what the response of a contextual case answers.
type DraftContext struct {
	Event        string
	Current      struct{ Content, Output json.RawMessage }
	Mode, Action string // of an elicitation
}

// DraftFixtures returns the 150 cases of the manifest.
func DraftFixtures(tb testing.TB) []DraftFixture {
	tb.Helper()
	var m struct{ Cases []DraftFixture }
	if err := json.Unmarshal(File(tb, "ahp-draft/fixtures/manifest.json"), &m); err != nil {
		tb.Fatal(err)
	}
	if len(m.Cases) != 150 {
		tb.Fatalf("%d fixtures in the manifest, want 150", len(m.Cases))
	}
	for i := range m.Cases {
		c := &m.Cases[i]
		c.Path = strings.Replace(c.Path, "fixtures/draft/", "", 1)
		c.Schema = strings.TrimSuffix(filepath.Base(c.Schema), ".schema.json")
	}
	return m.Cases
}

// Data returns the fixture's text.
func (c *DraftFixture) Data(tb testing.TB) []byte {
	tb.Helper()
	return File(tb, "ahp-draft/fixtures/"+c.Path)
}

// Registration reports whether the fixture is a registration, and no message.
func (c *DraftFixture) Registration() bool { return c.Schema == "registration" }

// Valid reports whether the fixture is one valid document on its own. A case whose
// aggregate is valid differs from its schema only in which of several it is.
func (c *DraftFixture) Valid() bool {
	if c.AggregateExpectedValid != nil {
		return *c.AggregateExpectedValid
	}
	return c.ExpectedValid
}

// Request is the request that a contextual case answers, made from its context: it
// offers both operations on the one target of the event.
func (c *DraftFixture) Request(tb testing.TB) []byte {
	tb.Helper()
	x := c.EditContext
	const base = `"id":"edit-1","source":"urn:example:install","time":"2027-01-02T03:04:05Z"`
	var event, target string
	switch x.Event {
	case "user.elicitation.result":
		result := fmt.Sprintf(`{"action":%q}`, x.Action)
		if x.Action == "accept" && x.Mode == "form" {
			result = fmt.Sprintf(`{"action":"accept","content":%s}`, x.Current.Content)
		}
		text, err := json.Marshal(result)
		if err != nil {
			tb.Fatal(err)
		}
		event = fmt.Sprintf(`%s,"type":"user.elicitation.result","elicitation":{"server":"s","mode":%q,"action":%q,"result":`+
			`{"id":"p","kind":"text","mediaType":"text/plain","selection":"body","text":%s}}`, base, x.Mode, x.Action, text)
		target = "content"
	case "user.message.outbound":
		event = fmt.Sprintf(`%s,"type":"user.message.outbound","message":{"channel":"c","messages":%s}`, base, x.Current.Content)
		target = "content"
	case "tool.after":
		event = fmt.Sprintf(`%s,"type":"tool.after","call":{"id":"c"},"tool":{"name":"n","origin":"native","input":{}},"path":"native",`+
			`"outcome":"ok","execution":{"status":"executed"},"items":%s`, base, x.Current.Output)
		target = "output"
	default:
		tb.Fatalf("no request for %s", x.Event)
	}
	line := fmt.Sprintf(`{"jsonrpc":"2.0","id":"edit-1","method":"hooks/intercept","params":{"protocolVersion":"draft","event":{%s},`+
		`"capabilities":{"effects":["modify"],"modify":{%q:{"replace":true,"merge":true}}}}}`, event, target)
	return []byte(strings.ReplaceAll(line, "\n", ""))
}
