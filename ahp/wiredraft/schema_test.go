package wiredraft_test

import (
	"bytes"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"pgregory.net/rapid"

	"github.com/holdpoint/holdpoint/ahp/wiredraft"
	"github.com/holdpoint/holdpoint/internal/corpus"
	"github.com/holdpoint/holdpoint/internal/uri"
)

const schemaBase = "https://agenthooksprotocol.org/schemas/draft/"

// publicSchemas compiles the public schemas of the revision, with formats asserted.
var publicSchemas = sync.OnceValues(func() (map[string]*jsonschema.Schema, error) {
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	files, err := filepath.Glob(filepath.Join(schemaDir, "*schema.json"))
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			return nil, err
		}
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(b))
		if err != nil {
			return nil, err
		}
		if err := c.AddResource(schemaBase+filepath.Base(f), doc); err != nil {
			return nil, err
		}
	}
	out := map[string]*jsonschema.Schema{}
	for _, f := range files {
		s, err := c.Compile(schemaBase + filepath.Base(f))
		if err != nil {
			return nil, err
		}
		out[strings.TrimSuffix(filepath.Base(f), ".schema.json")] = s
	}
	return out, nil
})

var schemaDir string // set by the tests before they ask for the schemas

func schemas(t testing.TB) map[string]*jsonschema.Schema {
	t.Helper()
	schemaDir = corpus.Dir(t, "ahp-draft/schema")
	s, err := publicSchemas()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// schemaFor names the schema that judges all documents of a fixture's kind.
func schemaFor(c *corpus.DraftFixture) string {
	if c.Registration() {
		return "registration"
	}
	return "schema.json" // the union of all messages
}

func weAccept(name string, data []byte) bool {
	if name == "registration" {
		_, _, err := wiredraft.ParseRegistration("r.json", data, wiredraft.RegOptions{})
		return err == nil
	}
	_, err := wiredraft.Decode(data, wiredraft.Limits{})
	return err == nil
}

func parse(t interface{ Fatal(args ...any) }, data []byte) any {
	var doc any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

func at(v any, path ...string) any {
	for _, p := range path {
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[p]
	}
	return v
}

// some reports whether f holds for some value in v, v included, and its name.
func some(v any, name string, f func(name string, v any) bool) bool {
	if f(name, v) {
		return true
	}
	switch v := v.(type) {
	case map[string]any:
		for k, x := range v {
			if some(x, k, f) {
				return true
			}
		}
	case []any:
		for _, x := range v {
			if some(x, name, f) {
				return true
			}
		}
	}
	return false
}

func has(v any, name string) bool {
	m, ok := v.(map[string]any)
	_, there := m[name]
	return ok && there
}

// prose lists where the contract's text asks for more than the public schemas.
// Each reports whether it explains a refusal of doc.
var prose = []struct {
	why     string
	applies func(schema string, doc any) bool
}{
	{"D-ENV-2: the request's id is the event's", func(_ string, doc any) bool {
		return at(doc, "method") == "hooks/intercept" && at(doc, "id") != at(doc, "params", "event", "id")
	}},
	{"D-ENV-3, D-ENV-4: a message is one of request, notification, result and error", func(_ string, doc any) bool {
		n := 0
		for _, k := range []string{"method", "result", "error"} {
			if has(doc, k) {
				n++
			}
		}
		return n > 1
	}},
	{"RFC 3986: the schema library's uri format lets more through", func(_ string, doc any) bool {
		return some(doc, "", func(name string, v any) bool {
			s, ok := v.(string)
			return ok && (name == "source" || name == "url" || name == "issuer" || name == "endpoint") &&
				(strings.ContainsAny(s, " \"<>\\^`{|}") || !strings.Contains(s, ":"))
		})
	}},
	{"D-EL-1 to D-EL-5: the text of an elicitation is MCP's", func(_ string, doc any) bool {
		return has(at(doc, "params", "event"), "elicitation")
	}},
	{"D-TGT-3: a workspace is closed", func(_ string, doc any) bool {
		return some(doc, "", func(_ string, v any) bool {
			return at(v, "type") == "modify" && at(v, "target") == "workspace"
		})
	}},
	{"D-MCP-1: a URL holds no user info", func(_ string, doc any) bool {
		return some(doc, "", func(name string, v any) bool {
			s, ok := v.(string)
			return ok && name == "url" && strings.Contains(s, "@")
		})
	}},
	{"section 22: what a registration must be beyond its schema", func(schema string, doc any) bool {
		return schema == "registration" && registrationProse(doc)
	}},
	{"integers fit 64 bits", func(_ string, doc any) bool {
		return some(doc, "", func(_ string, v any) bool {
			s, ok := v.(json.Number)
			return ok && (s == "1e21" || s == "12345678901234567890")
		})
	}},
}

// registrationProse reports whether one of the loader's own rules applies: D-REG-3
// (ids), D-REG-5 (literal secrets), D-HTTP-7 and D-UP-6 (URLs).
func registrationProse(doc any) bool {
	ids := map[any]bool{}
	return some(doc, "", func(name string, v any) bool {
		if (name == "authentication" || name == "auth") && (has(v, "token") || has(v, "bearerToken") || has(v, "value")) {
			return true
		}
		s, ok := v.(string)
		if !ok {
			return name == "id" // of a subscription, of which the schema knows none
		}
		switch name {
		case "url", "endpoint", "issuer":
			_, found, _ := uri.Endpoint(s, false, "")
			return found != ""
		case "token":
			return s != ""
		case "id":
			if ids[s] || s == "" {
				return true
			}
			ids[s] = true
		}
		return false
	})
}

// more lists where we take what the schemas refuse, and why.
var more = []struct {
	why     string
	applies func(schema string, doc any) bool
}{
	{"D-AMB-10: unknown params of hooks/capabilities are ignored", func(_ string, doc any) bool {
		return at(doc, "method") == "hooks/capabilities"
	}},
}

// changes are what a value is replaced by, and members that are added.
var changes = []any{
	nil, true, false, "", "x", "draft", "0.1", "2.0", "deny", "allow", "tool.before", "tool.after", "tool.*", "*", "turn.end", "model.*", "com.example.a", "com..a",
	"urn:x", "http://[::1", "https://h/a b", "https://u:p@h/", "2027-02-03T04:05:06Z", "2027-02-30T04:05:06Z", "2016-12-31T23:59:60Z", "20270203T040506Z",
	"observe", "intercept", "stdio", "http", "_unix", "_", "fail-open", "managed", "user", "native", "mcp", "text", "attachment", "body", "metadata", "omit",
	"text/plain", "text/html", "image/png", "application/json", "application/ld+json; x=1", "application/+json", "assistant", "system", "executed", "skipped", "policy",
	"supplied_result", "ok", "error", "denied", "completed", "clear", "moved", "created", "amount", "total", "attempt", "turn", "mixed", "EUR", "Eur", "replace", "merge", "stop", "continue", "now",
	"input", "content", "workspace", "context", "append", "form", "url", "accept", "none", "ask", "000000000000000000000000000000000000000000000000000000000000000a",
	json.Number("0"), json.Number("-1"), json.Number("1.5"), json.Number("1.0"), json.Number("5e2"), json.Number("1e21"), json.Number("-0"), json.Number("-0.0"), json.Number("12345678901234567890"),
	[]any{},
	[]any{"deny"},
	[]any{"deny", "deny"},
	[]any{"x", "x"},
	[]any{"flow", "modify", "inject"},
	[]any{"intercept"},
	[]any{"observe", "intercept"},
	[]any{"managed"},
	[]any{"stop", "continue"},
	[]any{"now", "now"},
	[]any{json.Number("1")},
	[]any{""},
	map[string]any{},
	map[string]any{"id": "x"},
	map[string]any{"id": ""},
	map[string]any{"id": "x", "y": true},
	map[string]any{"id": "x", "synthesized": true},
	map[string]any{"status": "executed"},
	map[string]any{"status": "skipped", "reason": "supplied_result"},
	map[string]any{"status": "skipped", "reason": "policy", "detail": "d"},
	map[string]any{"id": "x", "provider": "p"},
	map[string]any{"ref": "r"},
	map[string]any{"reason": "r"},
	map[string]any{"reason": "r", "path": "p"},
	map[string]any{"class": "c", "message": "m", "status": json.Number("4")},
	map[string]any{"context": map[string]any{"append": true, "deliverAt": []any{"now"}}},
	map[string]any{"operations": []any{"stop"}},
	map[string]any{"input": map[string]any{"replace": true, "merge": false}},
	map[string]any{"kind": "amount", "scope": "attempt", "completeness": "unknown", "provenance": "mixed"},
	map[string]any{"kind": "total", "scope": "turn", "completeness": "partial", "provenance": "mixed", "cost": map[string]any{"amount": json.Number("0.5"), "currency": "EUR", "basis": "billed"}},
	map[string]any{"type": "deny", "reason": "r"},
	map[string]any{"type": "return", "value": nil},
	map[string]any{"type": "bearer", "tokenEnv": "X"},
	map[string]any{"type": "bearer", "tokenRef": "x"},
	map[string]any{"code": json.Number("1"), "message": ""},
	map[string]any{"permission": "none", "candidate": nil},
	map[string]any{"permission": "ask", "candidate": map[string]any{"value": nil}, "flow": "stop", "instructions": []any{"i"}},
	map[string]any{"foo": json.Number("1")},
	map[string]any{"com.a": nil},
	map[string]any{"cwd": "/x"},
	map[string]any{"cwd": ""},
	map[string]any{"workspaceRoots": []any{"a", "a"}},
	map[string]any{"x": json.Number("1")},
	map[string]any{"id": "p", "kind": "text", "mediaType": "text/plain", "selection": "body", "text": ""},
	map[string]any{"id": "p", "kind": "text", "mediaType": "text/plain", "selection": "omit", "size": json.Number("2")},
	map[string]any{"id": "p", "kind": "attachment", "mediaType": "image/png", "selection": "body", "body": map[string]any{"ref": "r"}},
	map[string]any{"id": "m", "role": "tool", "parts": []any{}},
	map[string]any{"id": "b", "callIds": []any{"c"}},
	map[string]any{"default": "omit", "mine": "body"},
	map[string]any{"toolKinds": []any{"shell"}},
}

var names = []string{
	"x", "id", "turn", "session", "parentEventId", "items", "gaps", "native", "extensions", "synthesized", "outcome", "execution", "error", "usage", "latencyMs", "durationMs", "fileChanges", "finishReason",
	"resumedFrom", "tool", "call", "path", "batch", "previous", "proposed", "pricing", "summary", "removed", "instructions", "tokenCounts", "state", "capabilities", "effects", "modify", "flow", "inject", "elicitation",
	"manifest", "identity", "result", "method", "category", "size", "sha256", "text", "body", "gap", "detail", "code", "value", "target", "operation", "reason", "instruction", "deliverAt", "mcp", "kind", "cwd", "model", "agent",
	"decision", "remainingContinuations", "maxContinuations", "scope", "disableable", "upload", "filters", "timeoutMs", "failurePolicy", "token", "contentReceiver", "authentication", "previousPath", "before", "after", "sender", "mcpServers", "com.a",
}

// failer is what a test and a rapid test have in common.
type failer interface {
	Errorf(format string, args ...any)
	Fatalf(format string, args ...any)
}

// A place is one value in a document.
type place struct {
	get func() any
	set func(any)
}

func places(root any, set func(any)) (out []place) {
	var walk func(v any, set func(any))
	walk = func(v any, set func(any)) {
		out = append(out, place{func() any { return v }, set})
		switch v := v.(type) {
		case map[string]any:
			keys := make([]string, 0, len(v))
			for k := range v {
				keys = append(keys, k)
			}
			slices.Sort(keys)
			for _, k := range keys {
				walk(v[k], func(x any) { v[k] = x })
			}
		case []any:
			for i := range v {
				walk(v[i], func(x any) { v[i] = x })
			}
		}
	}
	walk(root, set)
	return out
}

// mutate changes the document in one to three places.
func mutate(rt *rapid.T, doc any) any {
	for range rapid.SampledFrom([]int{1, 1, 1, 2, 3}).Draw(rt, "changes") {
		list := places(doc, func(x any) { doc = x })
		p := list[rapid.IntRange(0, len(list)-1).Draw(rt, "place")]
		v := p.get()
		m, object := v.(map[string]any)
		l, array := v.([]any)
		keys := make([]string, 0, len(m))
		for k := range m {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		fresh := func(label string) any { // a copy: later changes go into it
			return parse(rt, mustJSON(rapid.SampledFrom(changes).Draw(rt, label)))
		}
		switch op := rapid.IntRange(0, 5).Draw(rt, "how"); {
		case op <= 1 && object && len(keys) > 0:
			k := rapid.SampledFrom(keys).Draw(rt, "remove")
			old := m[k]
			delete(m, k)
			if op == 1 && rapid.Bool().Draw(rt, "rename") {
				m[k+"x"] = old
			}
		case op <= 4 && object:
			m[rapid.SampledFrom(names).Draw(rt, "add")] = fresh("member")
		case op <= 1 && array && len(l) > 0:
			p.set(l[:len(l)-1])
		case op == 2 && array && len(l) > 0:
			p.set(append(slices.Clone(l), parse(rt, mustJSON(l[0]))))
		case op == 3 && array:
			p.set(append(slices.Clone(l), fresh("item")))
		default:
			p.set(fresh("value"))
		}
	}
	return doc
}

// TestAgreesWithSchemas changes the valid fixtures at random and asks the codec and
// the public schemas. They must agree, but for what prose and more list.
func TestAgreesWithSchemas(t *testing.T) {
	s := schemas(t)
	n, refused, explained := 0, 0, map[string]int{}
	check := func(t failer, name string, data []byte) {
		n++
		doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
		if err != nil {
			t.Fatalf("%v in %s", err, data)
		}
		theirs, ours := s[name].Validate(doc) == nil, weAccept(name, data)
		if !ours {
			refused++
		}
		if theirs == ours {
			return
		}
		list := prose
		if ours {
			list = more
		}
		for _, p := range list {
			if p.applies(name, doc) {
				explained[p.why]++
				return
			}
		}
		_, err = wiredraft.Decode(data, wiredraft.Limits{})
		t.Errorf("schema accepts: %v, codec accepts: %v (%v)\n%s", theirs, ours, err, data)
	}
	for _, c := range corpus.DraftFixtures(t) {
		if c.Binding == "stdio-jsonl" {
			continue // the same documents as over HTTP
		}
		t.Run(c.ID, func(t *testing.T) {
			name := schemaFor(&c)
			data := c.Data(t)
			check(t, name, data)
			if !c.Valid() {
				return
			}
			rapid.Check(t, func(rt *rapid.T) {
				check(rt, name, mustJSON(mutate(rt, parse(t, data))))
			})
		})
	}
	t.Logf("%d documents, %d refused; refused by prose alone: %v", n, refused, explained)
	least := 5000
	if testing.Short() {
		least /= 5 // rapid draws as many fewer
	}
	if n < least || refused < n/4 || n-refused < n/10 {
		t.Errorf("%d documents with %d refused prove too little", n, refused)
	}
}
