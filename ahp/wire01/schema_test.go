package wire01_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/holdpoint/holdpoint/ahp/wire01"
	"github.com/holdpoint/holdpoint/internal/corpus"
)

const schemaBase = "https://agenthooksprotocol.org/schemas/0.1.0-draft.1/"

// publicSchemas compiles the public schemas of the revision, with formats asserted.
var publicSchemas = sync.OnceValues(func() (map[string]*jsonschema.Schema, error) {
	c := jsonschema.NewCompiler()
	c.AssertFormat()
	files, err := filepath.Glob(filepath.Join(schemaDir, "*.schema.json"))
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
	schemaDir = corpus.Dir(t, "ahp-0.1/schema")
	s, err := publicSchemas()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// schemaAccepts asks the public schemas. Of the two result schemas one is enough.
func schemaAccepts(t testing.TB, s map[string]*jsonschema.Schema, names []string, data []byte) bool {
	t.Helper()
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(data))
	if err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	for _, n := range names {
		if s[n] == nil {
			t.Fatalf("no schema %s", n)
		}
		if s[n].Validate(doc) == nil {
			return true
		}
	}
	return false
}

// weAccept asks the codec.
func weAccept(names []string, data []byte) bool {
	switch names[0] {
	case "registration":
		_, _, err := wire01.ParseRegistration("r.json", data, wire01.RegOptions{})
		return err == nil
	case "json-rpc-message":
		m, err := wire01.Decode(data, wire01.Limits{})
		return err == nil && m.Kind == wire01.ErrorResponse
	case "intercept-request":
		m, err := wire01.Decode(data, wire01.Limits{})
		return err == nil && m.Kind == wire01.Request
	case "tool-before":
		p, _ := wire01.Lint("e.json", data, wire01.KindEvent)
		return len(p) == 0
	default:
		m, err := wire01.Decode(data, wire01.Limits{})
		return err == nil && m.Kind == wire01.Response
	}
}

type manifestCase struct {
	ID, Path, Binding, Schema string
	ExpectedValid             bool
}

func manifest(t testing.TB) []manifestCase {
	t.Helper()
	var m struct{ Cases []manifestCase }
	if err := json.Unmarshal(corpus.File(t, "ahp-0.1/fixtures/manifest.json"), &m); err != nil {
		t.Fatal(err)
	}
	if len(m.Cases) != 14 {
		t.Fatalf("%d fixtures in the manifest, want 14", len(m.Cases))
	}
	for i := range m.Cases {
		m.Cases[i].Path = strings.TrimPrefix(m.Cases[i].Path, "fixtures/0.1.0-draft.1/")
		m.Cases[i].Schema = strings.TrimSuffix(filepath.Base(m.Cases[i].Schema), ".schema.json")
	}
	return m.Cases
}

func (c manifestCase) data(t testing.TB) []byte {
	return corpus.File(t, "ahp-0.1/fixtures/"+c.Path)
}

func TestFixtures(t *testing.T) {
	for _, c := range manifest(t) {
		t.Run(c.ID, func(t *testing.T) {
			data := c.data(t)
			l := wire01.Limits{SingleLine: c.Binding == "stdio-jsonl"}
			var err error
			if c.Schema == "registration" {
				_, _, err = wire01.ParseRegistration(c.Path, data, wire01.RegOptions{})
			} else {
				_, err = wire01.Decode(data, l)
			}
			if (err == nil) != c.ExpectedValid {
				t.Errorf("decoding says %v, want valid=%v", err, c.ExpectedValid)
			}
			probs, kind := wire01.Lint(c.Path, data, "")
			if (len(probs) == 0) != c.ExpectedValid {
				t.Errorf("lint says %v, want valid=%v", probs, c.ExpectedValid)
			}
			want := wire01.KindMessage
			if c.Schema == "registration" {
				want = wire01.KindRegistration
			}
			if kind != want {
				t.Errorf("guessed %s, want %s", kind, want)
			}
		})
	}
}

// prose lists where the contract's text asks for more than the public schemas.
// Each reports whether it explains a refusal of doc.
var prose = []struct {
	why     string
	applies func(names []string, doc any) bool
}{
	{"V-ENV-1: the request's id is the event's", func(n []string, doc any) bool {
		return n[0] == "intercept-request" && at(doc, "id") != at(doc, "params", "event", "id")
	}},
	{"V-ENV-3: a message has a method, a result or an error, not two", func(_ []string, doc any) bool {
		m, _ := doc.(map[string]any)
		n := 0
		for _, k := range []string{"method", "result", "error"} {
			if _, ok := m[k]; ok {
				n++
			}
		}
		return n > 1
	}},
	{"RFC 3986: the schema library's uri format lets more through", func(n []string, doc any) bool {
		ev := at(doc, "params", "event")
		if n[0] == "tool-before" {
			ev = doc
		}
		s, _ := at(ev, "source").(string)
		return strings.ContainsAny(s, " \"<>\\^`{|}") || strings.IndexFunc(s, func(r rune) bool { return r > 126 }) >= 0
	}},
	{"section 13: ids are unique, one subscription for each event and mode", func(n []string, doc any) bool {
		if n[0] != "registration" {
			return false
		}
		ids := map[any]bool{}
		hooks, _ := at(doc, "hooks").([]any)
		for _, h := range hooks {
			if ids[at(h, "id")] {
				return true
			}
			ids[at(h, "id")] = true
			taken := map[string]bool{}
			subs, _ := at(h, "subscriptions").([]any)
			for _, s := range subs {
				evs, _ := at(s, "events").([]any)
				for _, e := range evs {
					k := fmt.Sprint(at(s, "mode"), e)
					if taken[k] {
						return true
					}
					taken[k] = true
				}
			}
		}
		return false
	}},
	{"section 13: url and credentials", func(n []string, doc any) bool {
		if n[0] != "registration" {
			return false
		}
		hooks, _ := at(doc, "hooks").([]any)
		for _, h := range hooks {
			if u, ok := at(h, "transport", "url").(string); ok && u != "https://policy.example.com/agent-hooks" {
				return true
			}
			for _, o := range []any{h, at(h, "transport")} {
				if m, ok := o.(map[string]any); ok && m["token"] != nil {
					return true
				}
			}
			subs, _ := at(h, "subscriptions").([]any)
			for _, s := range subs {
				if m, ok := s.(map[string]any); ok && m["token"] != nil {
					return true
				}
			}
		}
		return false
	}},
	{"V-DL-1: a deadline fits a clock", func(n []string, doc any) bool {
		return n[0] == "registration" && (strings.Contains(mustJSON(doc), ":1e+21") || strings.Contains(mustJSON(doc), ":12345678901234567000"))
	}},
}

func mustJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
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

// TestAgreesWithSchemas changes every value of every valid fixture in every way
// of a list, one at a time and then some at once, and asks the codec and the
// public schemas. They must agree, but for what prose decides.
func TestAgreesWithSchemas(t *testing.T) {
	s := schemas(t)
	n, refused, explained := 0, 0, map[string]int{}
	check := func(t *testing.T, names []string, data []byte) {
		t.Helper()
		n++
		theirs, ours := schemaAccepts(t, s, names, data), weAccept(names, data)
		if strings.HasPrefix(names[0], "intercept-") && ours && !schemaAccepts(t, s, []string{"json-rpc-message"}, data) {
			t.Errorf("no JSON-RPC message by the schema, and accepted: %s", data)
		}
		if !ours {
			refused++
		}
		if theirs == ours {
			return
		}
		if theirs && !ours {
			var doc any
			if err := json.Unmarshal(data, &doc); err != nil {
				t.Fatal(err)
			}
			for _, p := range prose {
				if p.applies(names, doc) {
					explained[p.why]++
					return
				}
			}
		}
		t.Errorf("schema accepts: %v, codec accepts: %v\n%s", theirs, ours, data)
	}
	for _, c := range manifest(t) {
		if !c.ExpectedValid {
			continue
		}
		names := []string{c.Schema}
		if strings.HasSuffix(c.Schema, "-response") {
			names = []string{"intercept-no-effect-response", "intercept-deny-response"}
		}
		t.Run(c.ID, func(t *testing.T) {
			data := enrich(t, c, c.data(t))
			check(t, names, data)
			for _, m := range mutations(t, data) {
				check(t, names, m)
			}
			if c.Schema == "intercept-request" {
				var doc map[string]any
				if err := json.Unmarshal(data, &doc); err != nil {
					t.Fatal(err)
				}
				ev := []byte(mustJSON(at(doc, "params", "event")))
				for _, m := range mutations(t, ev) {
					// The schema is of tool.before alone.
					if at(parse(t, m), "type") == "tool.before" || at(parse(t, m), "type") == nil {
						check(t, []string{"tool-before"}, m)
					}
				}
			}
			rnd := rand.New(rand.NewPCG(1, uint64(len(data))))
			for range 400 {
				m := data
				for range 2 + rnd.IntN(2) {
					count := 0
					mutate(t, m, func(func() []byte) { count++ })
					pick, i := rnd.IntN(count), 0
					var next []byte
					mutate(t, m, func(doc func() []byte) {
						if i == pick {
							next = doc()
						}
						i++
					})
					m = next
				}
				check(t, names, m)
			}
		})
	}
	t.Run("error responses", func(t *testing.T) {
		data := []byte(`{"jsonrpc":"2.0","id":"e","error":{"code":-32004,"message":"m","data":{"a":1}}}`)
		for _, m := range mutations(t, data) {
			check(t, []string{"json-rpc-message"}, m)
		}
	})
	t.Logf("%d documents, %d refused; refused by prose alone: %v", n, refused, explained)
	if n < 5000 || refused < n/4 || n-refused < n/10 {
		t.Errorf("%d documents with %d refused prove too little", n, refused)
	}
	for _, p := range prose {
		if explained[p.why] == 0 {
			t.Errorf("%s: listed, and never needed", p.why)
		}
	}
}

// enrich adds every optional field to a request, so that each is mutated as well.
func enrich(t *testing.T, c manifestCase, data []byte) []byte {
	if c.Schema != "intercept-request" {
		return data
	}
	doc := parse(t, data)
	ev := at(doc, "params", "event").(map[string]any)
	ses := ev["session"].(map[string]any)
	ses["model"], ses["agent"] = "m-1", map[string]any{"id": "a", "type": "t"}
	ses["workspaceRoots"], ses["cwd"] = []any{"/repo"}, "/repo"
	ev["native"] = map[string]any{"provider": "p", "eventName": "e", "payload": map[string]any{"x": 1}}
	ev["extensions"] = map[string]any{"com.example": nil}
	ev["tool"].(map[string]any)["mcp"] = map[string]any{"server": "s"}
	doc.(map[string]any)["params"].(map[string]any)["extensions"] = map[string]any{"com.example.a-b": 1}
	doc.(map[string]any)["params"].(map[string]any)["capabilities"] = map[string]any{"effects": []any{"deny", "com.example.ask"}}
	return []byte(mustJSON(doc))
}

func parse(t testing.TB, data []byte) any {
	t.Helper()
	var doc any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&doc); err != nil {
		t.Fatal(err)
	}
	return doc
}

// mutations returns the document changed in one place, in every way that mutate knows.
func mutations(t testing.TB, data []byte) (out [][]byte) {
	t.Helper()
	mutate(t, data, func(doc func() []byte) { out = append(out, doc()) })
	return out
}

// mutate changes the document in one place, in every way that is listed here, and
// calls yield each time.
func mutate(t testing.TB, data []byte, yield func(doc func() []byte)) {
	t.Helper()
	values := []any{
		nil, true, false, "", "x", "0.1", "2.0", "deny", "tool.before", "tool.after", "session.end", "com.example.a", "com..a", "a.1b",
		"urn:x", "http://[::1", "https://h/a b", "2027-02-03T04:05:06Z", "2027-02-30T04:05:06Z", "2016-12-31T23:59:60Z", "2027-02-03 04:05:06Z",
		"2027-02-03t04:05:06.5+23:59", "observe", "intercept", "stdio", "http", "fail-open", "other", "persistent",
		json.Number("0"), json.Number("-1"), json.Number("1.5"), json.Number("1.0"), json.Number("5e2"), json.Number("1e21"), json.Number("-0"), json.Number("12345678901234567890"),
		[]any{},
		[]any{"deny"},
		[]any{"deny", "deny"},
		[]any{"tool.before"},
		[]any{"tool.after", "tool.after"},
		[]any{json.Number("1")},
		[]any{map[string]any{"type": "deny", "reason": "r"}},
		map[string]any{},
		map[string]any{"id": "x"},
		map[string]any{"type": "bearer", "tokenEnv": "X"},
		map[string]any{"code": json.Number("1"), "message": ""},
	}
	added := map[string]any{
		"x": json.Number("1"), "output": nil, "error": map[string]any{}, "id": "x", "result": map[string]any{}, "tool": nil, "extensions": map[string]any{"foo": 1},
		"token": "t", "value": nil, "timeoutMs": json.Number("5"), "outcome": "nope", "method": "m", "native": map[string]any{}, "com.a": nil,
		"authentication": map[string]any{"type": "bearer", "tokenEnv": "A_1"}, "cwd": "", "code": "a.b",
	}
	keys := make([]string, 0, len(added))
	for k := range added {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	root := parse(t, data)
	emit := func() { yield(func() []byte { return []byte(mustJSON(root)) }) }
	var walk func(v any, set func(any))
	walk = func(v any, set func(any)) {
		for _, x := range values {
			set(x)
			emit()
		}
		set(v)
		switch v := v.(type) {
		case map[string]any:
			names := make([]string, 0, len(v))
			for k := range v {
				names = append(names, k)
			}
			slices.Sort(names)
			for _, k := range names {
				old := v[k]
				delete(v, k)
				emit()
				v[k+"x"] = old
				emit()
				delete(v, k+"x")
				v[k] = old
				walk(old, func(x any) { v[k] = x })
			}
			for _, k := range keys {
				if _, ok := v[k]; !ok {
					v[k] = added[k]
					emit()
					delete(v, k)
				}
			}
		case []any:
			for i := range v {
				walk(v[i], func(x any) { v[i] = x })
			}
			if len(v) > 0 {
				set(append(slices.Clone(v), v[0]))
				emit()
				set(v)
			}
		}
	}
	walk(root, func(x any) { root = x })
}
