package wire01_test

import (
	"bytes"
	"errors"
	"reflect"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/wire01"
)

// oddRequest says everything that a plain re-encoding would change.
const oddRequest = `{"jsonrpc":"2.0","id":"\u0065-1","method":"hooks/intercept","params":{"protocolVersion":"0.1",` +
	`"event":{"x":1.0,"id":"\u0065-1","source":"https:\/\/h\/a","type":"tool.before","time":"2027-02-03t04:05:06.000z","outcome":"what",` +
	`"session":{"model":"","id":"s","cwd":"\/srv","workspaceRoots":["\/a","b"],"agent":{"type":"","id":"a","y":[]},"com.x":null},` +
	`"tool":{"mcp":{"server":"\u0041"},"callId":"c","name":"n\u0020n","kind":"\u0073hell","input":{"b":1.50,"a":1e2,"a\/":"\u0041"},"z":12345678901234567890},` +
	`"native":{"q":{},"provider":"p\/","eventName":"e","payload":{}},"extensions":{}},` +
	`"capabilities":{"effects":["deny","com.x.y"],"more":{"n":-0.0}},"extensions":{"com.a":{}}}}`

func TestReencodingChangesNoToken(t *testing.T) {
	for _, in := range []string{validRequest, oddRequest, edit(t, oddRequest, `["\/a","b"]`, `[]`)} {
		m := wantRequest(t, in)
		out, err := wire01.AppendIntercept([]byte("before "), m.Event, m.Capabilities, m.Extensions)
		if err != nil {
			t.Fatal(err)
		}
		got := string(out[len("before "):])
		if a, b := tokens(t, in), tokens(t, got); !reflect.DeepEqual(a, b) {
			t.Errorf("got  %s\nwant %s", got, in)
		}
		if m2 := wantRequest(t, got); !reflect.DeepEqual(m2.Event, m.Event) {
			again, err := wire01.AppendIntercept(nil, m2.Event, m2.Capabilities, m2.Extensions)
			if err != nil || string(again) != got {
				t.Errorf("not stable: %v\n%s\n%s", err, got, again)
			}
		}
	}
}

// TestAcceptedMutationsReencode changes every value of messages with all optional
// fields in every way: what is still accepted keeps every token.
func TestAcceptedMutationsReencode(t *testing.T) {
	n := 0
	for _, in := range []string{
		validRequest, oddRequest,
		edit(t, edit(t, validObserve, "tool.before", "tool.error"), `"input"`, `"error":{"message":"m"},"input"`),
		`{"jsonrpc":"2.0","method":"hooks/observe","params":{"protocolVersion":"0.1","event":{"id":"e","source":"urn:x","type":"session.end","time":"2027-02-03T04:05:06Z","session":{"id":"s"},"outcome":"error"}}}`,
	} {
		for _, doc := range mutations(t, []byte(in)) {
			m, bad := wire01.DecodeRequest(doc, wire01.Limits{})
			if bad != nil {
				continue
			}
			n++
			out, err := wire01.AppendEvent(nil, m.Event)
			if err != nil {
				t.Errorf("%v\n%s", err, doc)
			} else if !reflect.DeepEqual(tokens(t, string(m.EventText)), tokens(t, string(out))) {
				t.Errorf("got  %s\nwant %s", out, m.EventText)
			}
		}
	}
	if n < 500 {
		t.Errorf("only %d were accepted", n)
	}
}

// tokens returns the document as nested maps from plain name to the text of the
// value, so that two documents are equal if they differ in the order of members
// and in the spelling of names at most.
func tokens(t testing.TB, text string) any {
	t.Helper()
	d := jsontext.NewDecoder(strings.NewReader(text))
	var value func() any
	value = func() any {
		switch d.PeekKind() {
		case '{':
			_, _ = d.ReadToken()
			m := map[string]any{}
			for d.PeekKind() != '}' {
				name, err := d.ReadToken()
				if err != nil {
					t.Fatal(err)
				}
				n := name.String()
				m[n] = value()
			}
			_, _ = d.ReadToken()
			return m
		case '[':
			_, _ = d.ReadToken()
			l := []any{}
			for d.PeekKind() != ']' {
				l = append(l, value())
			}
			_, _ = d.ReadToken()
			return l
		}
		v, err := d.ReadValue()
		if err != nil {
			t.Fatalf("%v in %s", err, text)
		}
		return string(v)
	}
	return value()
}

func TestChangedFieldsWinOverKeptText(t *testing.T) {
	ev := wantRequest(t, oddRequest).Event
	ev.Session.CWD, ev.Session.Model, ev.Session.WorkspaceRoots = "/other", "m", []string{"/a"}
	ev.Tool.Name = "renamed"
	out, err := wire01.AppendIntercept(nil, ev, ahp.DenyOnly(), nil)
	if err != nil {
		t.Fatal(err)
	}
	got := wantRequest(t, string(out)).Event
	if got.Session.CWD != "/other" || got.Session.Model != "m" || len(got.Session.WorkspaceRoots) != 1 || got.Tool.Name != "renamed" {
		t.Errorf("%+v", got.Session)
	}
	ev.Session = ahp.Session{ID: ev.Session.ID, Unknown: ev.Session.Unknown} // every optional field dropped
	if out, err = wire01.AppendIntercept(nil, ev, ahp.DenyOnly(), nil); err != nil {
		t.Fatal(err)
	}
	for _, gone := range []string{"srv", "workspaceRoots", "agent"} {
		if bytes.Contains(out, []byte(gone)) {
			t.Errorf("%s is still there: %s", gone, out)
		}
	}
}

func TestEncodeRefuses(t *testing.T) {
	tests := []struct {
		name    string
		edit    func(*ahp.Event)
		pointer string
	}{
		{"no id", func(e *ahp.Event) { e.ID = "" }, "/id"},
		{"source is no URI", func(e *ahp.Event) { e.Source = "here" }, "/params/event/source"},
		{"type that only observes", func(e *ahp.Event) { e.Type = ahp.ToolAfter }, "/params/event/type"},
		{"unknown type", func(e *ahp.Event) { e.Type = "model.call" }, "/params/event/type"},
		{"no time", func(e *ahp.Event) { e.Time = "" }, "/params/event/time"},
		{"no session id", func(e *ahp.Event) { e.Session.ID = "" }, "/params/event/session/id"},
		{"no tool", func(e *ahp.Event) { e.Tool = nil }, "/params/event/tool"},
		{"unknown kind", func(e *ahp.Event) { e.Tool.Kind = "x" }, "/params/event/tool/kind"},
		{"no input", func(e *ahp.Event) { e.Tool.Input = nil }, "/params/event/tool/input"},
		{"input is a string", func(e *ahp.Event) { e.Tool.Input = ahp.Raw(`"{}"`) }, "/params/event/tool/input"},
		{"output before", func(e *ahp.Event) { e.Tool.Output = ahp.Raw(`1`) }, "/params/event/tool/output"},
		{"outcome of a tool", func(e *ahp.Event) { e.Outcome = ahp.OutcomeError }, "/params/event/outcome"},
		{"two values as one", func(e *ahp.Event) { e.Tool.Input = ahp.Raw(`{},"new":"other"`) }, ""},
		{"halves that make a whole", func(e *ahp.Event) {
			e.Tool.Input, e.Tool.MCP = ahp.Raw(`{"a":{}`), ahp.Raw(`{}}`)
		}, ""},
		{"no value", func(e *ahp.Event) { e.Tool.Input = ahp.Raw{} }, "/params/event/tool/input"},
		{"broken input with a line feed", func(e *ahp.Event) { e.Tool.Input = ahp.Raw("{\"a\":\"x\ny\"}") }, "/params/event/tool/input"},
		{"not UTF-8", func(e *ahp.Event) { e.Session.CWD = "/\xff" }, ""},
		{"unknown member without a value", func(e *ahp.Event) { e.Unknown = ahp.Members{{Name: "x"}} }, "/params/event"},
		{"unknown member twice", func(e *ahp.Event) {
			e.Unknown = ahp.Members{{Name: "x", Value: ahp.Raw("1")}, {Name: "x", Value: ahp.Raw("2")}}
		}, "/params/event"},
		{"extension key", func(e *ahp.Event) { e.Extensions = ahp.Members{{Name: "x", Value: ahp.Raw("1")}} }, "/params/event/extensions"},
		{"too deep", func(e *ahp.Event) {
			e.Tool.Input = ahp.Raw(strings.Repeat(`{"a":`, 200) + "1" + strings.Repeat("}", 200))
		}, "/params/event/tool/input"},
		{"too large", func(e *ahp.Event) {
			e.Tool.Input = ahp.Raw(`{"a":"` + strings.Repeat("x", wire01.DefaultMaxBytes) + `"}`)
		}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ev := wantRequest(t, validRequest).Event
			tt.edit(ev)
			b, err := wire01.AppendIntercept([]byte("dst"), ev, ahp.DenyOnly(), nil)
			var e *wire01.Error
			if !errors.As(err, &e) || string(b) != "dst" {
				t.Fatalf("got %v and %.80q", err, b)
			}
			if e.Class != ahp.FailEvent || e.Pointer != tt.pointer {
				t.Errorf("got %s at %q (%v), want %s at %q", e.Class, e.Pointer, e, ahp.FailEvent, tt.pointer)
			}
		})
	}
	if _, err := wire01.AppendIntercept(nil, nil, ahp.DenyOnly(), nil); err == nil {
		t.Error("no event was written")
	}
	if _, err := wire01.AppendError(nil, nil, -1, "\xff", nil); err == nil {
		t.Error("a message that is not UTF-8 was written")
	}
	if b, err := wire01.AppendError(nil, nil, ahp.CodeParse, "m", ahp.Raw(`{"a": 1}`)); err != nil || string(b) != `{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"m","data":{"a": 1}}}` {
		t.Errorf("%s, %v", b, err)
	}
}

func TestLimits(t *testing.T) {
	nest := func(n int) string { return strings.Repeat(`{"a":`, n) + "1" + strings.Repeat("}", n) }
	members := func(n int) string {
		var b strings.Builder
		for i := range n {
			b.WriteString(`"k` + strings.Repeat("x", i) + `":1,`)
		}
		return "{" + strings.TrimSuffix(b.String(), ",") + "}"
	}
	items := func(n int) string { return "[" + strings.TrimSuffix(strings.Repeat("1,", n), ",") + "]" }
	with := func(input string) string { return edit(t, validRequest, `{"cmd":"ls","n":1.50}`, input) }
	small := wire01.Limits{MaxBytes: 40000, MaxDepth: 10, MaxMembers: 20, MaxItems: 30}
	tests := []struct {
		name, frame string
		ok          bool
	}{
		{"depth at the limit", with(nest(6)), true}, // below message, params, event and tool
		{"depth over it", with(nest(7)), false},
		{"arrays count", with(`{"a":` + strings.Repeat("[", 6) + strings.Repeat("]", 6) + `}`), false},
		{"members at the limit", with(members(20)), true},
		{"members over it", with(members(21)), false},
		{"members of a deeper object", with(`{"a":` + members(21) + `}`), false},
		{"items at the limit", with(`{"a":` + items(30) + `}`), true},
		{"items over it", with(`{"a":` + items(31) + `}`), false},
		{"roots over it", edit(t, validRequest, `["/srv/app"]`, strings.ReplaceAll(items(31), "1", `"/a"`)), false},
		{"members of the envelope", edit(t, validRequest, `{"jsonrpc"`, strings.TrimSuffix(members(17), "}")+`,"jsonrpc"`), false},
		{"bytes over it", with(`{"a":"` + strings.Repeat("x", 40000) + `"}`), false},
		{"brackets in strings do not count", with(`{"a":"` + strings.Repeat("[{,", 100) + `\"[[["}`), true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := wire01.DecodeRequest([]byte(tt.frame), small)
			if tt.ok {
				if err != nil {
					t.Error(err)
				}
				return
			}
			if err == nil {
				t.Fatal("accepted")
			}
			if err.Code != ahp.CodeInvalidRequest || err.Class != ahp.FailMalformed || string(err.ID) != `"e-1"` || err.Notification {
				t.Errorf("%d %s id %s: %v", err.Code, err.Class, err.ID, err)
			}
		})
	}
	big := edit(t, validObserve, "/srv/app", strings.Repeat("x", 50000))
	if _, err := wire01.DecodeRequest([]byte(big), small); err == nil || !err.Notification {
		t.Errorf("a notification over the limit: %+v", err)
	}
	if e := wire01.TooLarge([]byte(validRequest[:60]), small); string(e.ID) != `"e-1"` || e.Notification {
		t.Errorf("%+v", e)
	}
	if _, f := wire01.DecodeResponse([]byte(edit(t, denied, `"no"`, nest(11))), "e-1", ahp.DenyOnly(), small); f == nil || f.Class != ahp.FailMalformed {
		t.Errorf("%v", f)
	}
}

// TestNothingIsShared changes the input after decoding: what was decoded stands.
func TestNothingIsShared(t *testing.T) {
	frame := []byte(oddRequest)
	m, err := wire01.DecodeRequest(frame, wire01.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	before, e := wire01.AppendIntercept(nil, m.Event, m.Capabilities, m.Extensions)
	if e != nil {
		t.Fatal(e)
	}
	for i := range frame {
		frame[i] = 'X'
	}
	after, e := wire01.AppendIntercept(nil, m.Event, m.Capabilities, m.Extensions)
	if e != nil || string(before) != string(after) {
		t.Errorf("%v\n%s\n%s", e, before, after)
	}
}

func TestErrorsQuoteNothing(t *testing.T) {
	const mark = "MARKER"
	for _, s := range []string{
		edit(t, validRequest, `"shell"`, `"`+mark+`"`),
		edit(t, validRequest, `{"cmd":"ls"`, `{"`+mark+`":1,"`+mark+`":2,"cmd":"ls"`),
		edit(t, validRequest, `{"cmd":"ls"`, `{"`+mark+`":{"`+mark+`":`+mark+`},"cmd":"ls"`),
		edit(t, validRequest, `"tool":{`, `"extensions":{"`+mark+`":1},"tool":{`),
		edit(t, validRequest, "tool.before", mark),
		edit(t, validRequest, `"0.1"`, `"`+mark+`"`),
		mark,
		`{"` + mark + `":` + mark,
	} {
		_, err := wire01.DecodeRequest([]byte(s), wire01.Limits{})
		if err == nil {
			t.Fatalf("accepted %s", s)
		}
		if text := err.Error() + err.Pointer + err.Failure().Error(); strings.Contains(text, mark) {
			t.Errorf("%s\nfrom %s", text, s)
		}
	}
}
