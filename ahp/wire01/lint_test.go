package wire01_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/wire01"
)

func TestLint(t *testing.T) {
	tests := []struct {
		name, file, data string
		kind             wire01.Kind // asked for
		want             []string    // line:column pointer
		wantKind         wire01.Kind
	}{
		{"valid message", "a.json", validRequest, "", nil, wire01.KindMessage},
		{"valid event", "a.json", validEvent, "", nil, wire01.KindEvent},
		{"valid registration", "a.json", validReg, "", nil, wire01.KindRegistration},
		{"lines", "a.jsonl", validRequest + "\n" + noEffects + "\n" + validObserve + "\n", "", nil, wire01.KindMessage},
		{"lines on stdin", "-", noEffects + "\n" + edit(t, noEffects, "2.0", "2.1") + "\n", "", []string{"2:12 /jsonrpc"}, wire01.KindMessage},
		{"an empty line", "a.jsonl", noEffects + "\n\n" + noEffects + "\n", "", []string{"2:1 "}, wire01.KindMessage},
		{"an empty file", "a.jsonl", "", "", []string{"1:1 "}, wire01.KindMessage},
		{"a pretty message is no line", "a.jsonl", "{\n\"jsonrpc\":\"2.0\"}\n", "", []string{"1:2 ", "2:10 "}, wire01.KindMessage},
		{"not JSON", "a.json", "{\n  \"jsonrpc\": nope}", "", []string{"2:15 /jsonrpc"}, wire01.KindMessage},
		{"columns count code points", "a.json", `{"ü€😀":1,"jsonrpc":"1"}`, "", []string{
			"1:1 /id", "1:1 /result", "1:20 /jsonrpc",
		}, wire01.KindMessage},
		{"every problem of a message", "a.json", "{\n \"jsonrpc\": 2,\n \"id\": true,\n \"method\": \"hooks/intercept\",\n \"params\": {\n  \"event\": {\"id\": \"\", \"type\": \"tool.after\", \"time\": 1,\n   \"tool\": {\"kind\": \"x\", \"kind\": \"shell\", \"input\": [], \"error\": 1}},\n  \"capabilities\": {\"effects\": [\"ask\"]}}}", "", []string{
			"2:13 /jsonrpc", "3:8 /id", "5:12 /params/protocolVersion",
			"6:12 /params/event/source", "6:12 /params/event/session", "6:19 /params/event/id", "6:31 /params/event/type", "6:53 /params/event/time",
			"7:12 /params/event/tool/callId", "7:12 /params/event/tool/name", "7:21 /params/event/tool/kind", "7:26 /params/event/tool/kind",
			"7:52 /params/event/tool/input", "7:65 /params/event/tool/error", "7:65 /params/event/tool/error",
			"8:31 /params/capabilities/effects", "8:32 /params/capabilities/effects/0",
		}, wire01.KindMessage},
		{"every problem of a response", "a.json", `{"jsonrpc":"2.0","id":1,"result":{"effects":[{"type":"allow"},{"type":"deny","code":"x"}]}}`, "", []string{
			"1:34 /result/protocolVersion", "1:54 /result/effects/0/type", "1:63 /result/effects/1", "1:63 /result/effects/1/reason", "1:85 /result/effects/1/code",
		}, wire01.KindMessage},
		{"every problem of a registration", "a.json", "{\"hooks\": [\n{\"id\": \"x\", \"transport\": {\"type\": \"stdio\", \"colour\": 1}, \"subscriptions\": []},\n3]}", "", []string{
			"1:1 /protocolVersion", "2:8 /hooks/0/id", "2:26 /hooks/0/transport/command", "2:26 /hooks/0/transport/lifecycle", "2:44 /hooks/0/transport/colour",
			"2:75 /hooks/0/subscriptions", "3:1 /hooks/1",
		}, wire01.KindRegistration},
		{"asked for another kind", "a.json", validEvent, wire01.KindRegistration, []string{
			"1:1 /protocolVersion", "1:1 /hooks", "1:2 /id", "1:13 /source", "1:70 /type", "1:91 /time", "1:121 /session", fmt.Sprintf("1:%d /tool", strings.Index(validEvent, `"tool":`)+1),
		}, wire01.KindRegistration},
		{"a name with a slash", "a.json", edit(t, validEvent, `"tool":{`, `"extensions":{"a/b~":1},"tool":{`), "", []string{
			fmt.Sprintf("1:%d /extensions/a~1b~0", strings.Index(validEvent, `"tool":`)+len(`"extensions":{`)+1),
		}, wire01.KindEvent},
		{"a scalar", "a.json", "7", "", []string{"1:1 "}, wire01.KindMessage},
		{"too deep", "a.json", strings.Repeat("[", 200) + strings.Repeat("]", 200), wire01.KindEvent, []string{"1:129 " + strings.Repeat("/0", 128)}, wire01.KindEvent},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			probs, kind := wire01.Lint(tt.file, []byte(tt.data), tt.kind)
			var got []string
			for _, p := range probs {
				got = append(got, fmt.Sprintf("%d:%d %s", p.Line, p.Column, p.Pointer))
				if p.File != tt.file || p.Found == "" || p.Expected == "" || p.Severity == "" {
					t.Errorf("incomplete: %+v", p)
				}
			}
			if strings.Join(got, "\n") != strings.Join(tt.want, "\n") {
				t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(tt.want, "\n"))
				for _, p := range probs {
					t.Log(p)
				}
			}
			if kind != tt.wantKind {
				t.Errorf("checked as %s, want %s", kind, tt.wantKind)
			}
		})
	}
}

func TestProblemText(t *testing.T) {
	probs, _ := wire01.Lint("reg.json", []byte(edit(t, stdioReg, "per_event", "forever")), "")
	want := fmt.Sprintf(`reg.json:1:%d: /hooks/0/transport/lifecycle: found "forever", expected persistent or per_event`, strings.Index(stdioReg, `"per_event"`)+1)
	if len(probs) != 1 || probs[0].Error() != want {
		t.Errorf("got %v\nwant %s", probs, want)
	}
}

func TestLintIsBounded(t *testing.T) {
	name := strings.Repeat("é", 300_000)
	long := `{"protocolVersion":"0.1","hooks":[],"` + name + `":[{"` + name + `":1}],"` + name + `":2}`
	probs, _ := wire01.Lint("r.json", []byte(long), wire01.KindRegistration)
	if len(probs) != 4 { // no hooks, two members that nothing reads, of which one stands twice
		t.Errorf("%d problems", len(probs))
	}
	for _, p := range probs {
		if len(p.Pointer) > 2100 {
			t.Errorf("a pointer of %d bytes", len(p.Pointer))
		}
	}
	doc := `{"protocolVersion":"0.1","hooks":[` + strings.TrimSuffix(strings.Repeat("0,", 50_000), ",") + `]}`
	probs, _ = wire01.Lint("r.json", []byte(doc), "")
	if len(probs) != 10_000 {
		t.Errorf("%d problems", len(probs))
	}
}

func TestSyntaxFindings(t *testing.T) {
	for text, want := range map[string]string{
		``:                           "no JSON value",
		`  `:                         "no JSON value",
		`{"jsonrpc":"2.0`:            "the end of the text inside a JSON value",
		`{} x`:                       "more data after the JSON value",
		`{}{}`:                       "more data after the JSON value",
		"{\"a\":\"\xff\"}":           "bytes that are not UTF-8",
		`{"a":"\ud800"}`:             "half of a surrogate pair",
		`{"a":"\udc00\ud800"}`:       "half of a surrogate pair",
		"{\"a\":\"x\ny\"}":           "a raw control character inside a string",
		`{"a":01}`:                   "text that is not JSON",
		`{"a":1,}`:                   "text that is not JSON",
		`{"a":NaN}`:                  "text that is not JSON",
		`{'a':1}`:                    "text that is not JSON",
		"\ufeff{}":                   "text that is not JSON",
		`{"a":1,"\u0061":2}`:         "a member name that the object already has",
		`{"a":{"b":[{"c":1,"c":1}]}`: "a member name that the object already has",
	} {
		_, err := wire01.Decode([]byte(text), wire01.Limits{})
		var e *wire01.Error
		if !errors.As(err, &e) || e.Found != want || e.Code != ahp.CodeParse {
			t.Errorf("%q: %+v, want %s", text, e, want)
		}
	}
}
