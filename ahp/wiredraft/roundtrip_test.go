package wiredraft_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/wiredraft"
	"github.com/holdpoint/holdpoint/internal/corpus"
)

// encode writes a decoded message again.
func encode(m *wiredraft.Message) ([]byte, error) {
	exts := m.Extensions
	if m.HasExtensions && exts == nil {
		exts = ahp.Members{}
	}
	switch {
	case m.Kind == wiredraft.ErrorResponse:
		return wiredraft.AppendError(nil, m.ID, m.RPCError.Code, m.RPCError.Message, m.RPCError.Data)
	case m.Manifest != nil:
		return wiredraft.AppendCapabilitiesResult(nil, m.ID, m.Manifest)
	case m.Kind == wiredraft.Response:
		return wiredraft.AppendResult(nil, m.ID, "", nil, m.Effects, exts)
	case m.Method == ahp.MethodCapabilities:
		return wiredraft.AppendCapabilitiesRequest(nil, m.ID)
	case m.Method == ahp.MethodIntercept:
		return wiredraft.AppendIntercept(nil, m.Event, &m.Capabilities, m.State, exts)
	}
	return wiredraft.AppendObserve(nil, m.Event)
}

// tokens is a document with its numbers as they are written.
func tokens(t failer, data []byte) any {
	var v any
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	if err := d.Decode(&v); err != nil {
		t.Fatalf("%v in %s", err, data)
	}
	return v
}

// judged drops what may differ after a round trip: the place of the message in
// memory, and the text of the event.
func judged(m *wiredraft.Message) wiredraft.Message {
	return wiredraft.Message{
		Kind: m.Kind, ID: m.ID, Method: m.Method, Version: m.Version, Event: m.Event, Capabilities: m.Capabilities, State: m.State,
		Effects: m.Effects, Manifest: m.Manifest, RPCError: m.RPCError, Extensions: m.Extensions, HasExtensions: m.HasExtensions,
	}
}

// roundTrip holds: what is accepted is written back, is one line, reads as the same
// and is then stable.
func roundTrip(t failer, data []byte) *wiredraft.Message {
	m, err := wiredraft.Decode(data, wiredraft.Limits{})
	if err != nil {
		return nil
	}
	out, err := encode(m)
	if err != nil {
		t.Fatalf("accepted and not written back: %v\n%s", err, data)
	}
	if bytes.ContainsAny(out, "\n\r") {
		t.Errorf("more than one line: %q", out)
	}
	again, err := wiredraft.Decode(out, wiredraft.Limits{SingleLine: true})
	if err != nil {
		t.Fatalf("written and not accepted: %v\n%s\n%s", err, data, out)
	}
	if m.Event != nil || m.Method == "" && m.Manifest == nil && m.RPCError == nil {
		if a, b := judged(m), judged(again); !reflect.DeepEqual(rawless(a), rawless(b)) {
			t.Errorf("changed\n%s\n%s", data, out)
		}
	}
	twice, err := encode(again)
	if err != nil || !bytes.Equal(twice, out) {
		t.Errorf("not stable (%v)\n%s\n%s", err, out, twice)
	}
	return m
}

// rawless is a value with line breaks outside of strings dropped from its raw texts,
// as the encoder does.
func rawless(v any) any {
	var b strings.Builder
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		if v.Type() == reflect.TypeFor[ahp.Raw]() {
			fmt.Fprintf(&b, "%v%q ", v.IsNil(), strings.TrimSpace(strings.NewReplacer("\n", "", "\r", "").Replace(string(v.Bytes()))))
			return
		}
		switch v.Kind() {
		case reflect.Pointer, reflect.Interface:
			if v.IsNil() {
				b.WriteString("nil ")
				return
			}
			walk(v.Elem())
		case reflect.Struct:
			fmt.Fprintf(&b, "%s{", v.Type())
			for i := range v.NumField() {
				if v.Type().Field(i).IsExported() {
					walk(v.Field(i))
				}
			}
			b.WriteString("}")
		case reflect.Slice:
			fmt.Fprintf(&b, "%v[", v.IsNil() || v.Type() == reflect.TypeFor[ahp.Members]() && v.Len() == 0)
			for i := range v.Len() {
				walk(v.Index(i))
			}
			b.WriteString("]")
		default:
			fmt.Fprintf(&b, "%#v ", v.Interface())
		}
	}
	walk(reflect.ValueOf(v))
	return b.String()
}

// TestRoundTrip writes every public fixture and every changed one back.
func TestRoundTrip(t *testing.T) {
	n := 0
	for _, c := range corpus.DraftFixtures(t) {
		if !c.Valid() || c.Registration() || c.Binding == "stdio-jsonl" {
			continue
		}
		t.Run(c.ID, func(t *testing.T) {
			data := c.Data(t)
			m := roundTrip(t, data)
			if m == nil {
				t.Fatal("refused")
			}
			if m.Event != nil { // no token of the event changes
				n++
				out, err := encode(m)
				if err != nil {
					t.Fatal(err)
				}
				in, re := tokens(t, data), tokens(t, out)
				if a, b := at(in, "params", "event"), at(re, "params", "event"); !reflect.DeepEqual(a, b) {
					t.Errorf("a token changed\n%s\n%s", mustJSON(a), mustJSON(b))
				}
			}
			rapid.Check(t, func(rt *rapid.T) {
				roundTrip(rt, mustJSON(mutate(rt, parse(rt, data))))
			})
		})
	}
	if n != 57 {
		t.Errorf("%d events were compared", n)
	}
}

// oddValues are what a field of a model may hold by a program's mistake.
var (
	oddStrings = []string{
		"", "x", "a\nb", "\xff", "_x", "_", "https://h/", "https://u@h/", "2027-02-03T04:05:06Z", "text/plain", "image/png", "application/json",
		"text", "attachment", "body", "metadata", "omit", "assistant", "user", "ok", "error", "denied", "completed", "clear", "moved", "created", "amount", "mixed", "EUR", "http", "stdio",
		"native", "mcp", "form", "url", "accept", "decline", "supplied_result", "policy", "managed", "intercept", "observe", "tool.before", "turn.end", "input", "content", "workspace", "merge", "now",
		`{"action":"accept","content":{"a":[1]}}`, `{"action":"decline"}`, "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
	}
	oddRaws = []string{"", "null", "{}", " { } ", "{\n}", "[]", "1", "-1", "-0", "1e400", `"x"`, `""`, `{"a":1,"a":2}`, "{", "}{", "1 2", `{"cwd":"/x"}`, `{"a":"b"}`, strings.Repeat("[", 126) + strings.Repeat("]", 126)}
)

// disturb changes one field somewhere in v at random; values of types that it does
// not know stay.
func disturb(rt *rapid.T, v reflect.Value) {
	var fields []reflect.Value
	var walk func(v reflect.Value)
	walk = func(v reflect.Value) {
		if v.CanSet() {
			fields = append(fields, v)
		}
		switch v.Kind() {
		case reflect.Pointer, reflect.Interface:
			if !v.IsNil() {
				walk(v.Elem())
			}
		case reflect.Struct:
			for i := range v.NumField() {
				if v.Type().Field(i).IsExported() {
					walk(v.Field(i))
				}
			}
		case reflect.Slice:
			if v.Type().Elem().Kind() == reflect.Uint8 {
				return
			}
			for i := range v.Len() {
				walk(v.Index(i))
			}
		}
	}
	walk(v)
	f := fields[rapid.IntRange(0, len(fields)-1).Draw(rt, "field")]
	if f.Type() == reflect.TypeFor[ahp.Raw]() {
		r := rapid.SampledFrom(oddRaws).Draw(rt, "raw")
		f.Set(reflect.ValueOf(ahp.Raw(r)))
		if r == "" {
			f.SetZero()
		}
		return
	}
	switch f.Kind() {
	case reflect.String:
		f.SetString(rapid.SampledFrom(oddStrings).Draw(rt, "string"))
	case reflect.Bool:
		f.SetBool(!f.Bool())
	case reflect.Int64:
		f.SetInt(rapid.SampledFrom([]int64{-1, 0, 1, 1 << 60}).Draw(rt, "int"))
	case reflect.Pointer:
		if f.IsNil() && rapid.Bool().Draw(rt, "fill") {
			f.Set(reflect.New(f.Type().Elem()))
			return
		}
		f.SetZero()
	case reflect.Slice:
		switch rapid.IntRange(0, 3).Draw(rt, "slice") {
		case 0:
			f.SetZero()
		case 1:
			f.Set(reflect.MakeSlice(f.Type(), 0, 0))
		case 2:
			f.Set(reflect.Append(f, reflect.New(f.Type().Elem()).Elem()))
		default:
			if f.Len() > 0 {
				f.Set(reflect.Append(f, f.Index(0)))
			}
		}
	case reflect.Interface, reflect.Struct:
		if rapid.IntRange(0, 3).Draw(rt, "clear") == 0 {
			f.SetZero()
		}
	}
}

// TestEncoderAgreesWithDecoder changes events as a program could by mistake. What the
// encoder writes without a fault, the decoder takes and reads as the same; where it
// notes a fault, the decoder refuses the text or reads another event.
func TestEncoderAgreesWithDecoder(t *testing.T) {
	written, refused := 0, 0
	for _, c := range corpus.DraftFixtures(t) {
		if !c.Valid() || c.Registration() || c.Binding == "stdio-jsonl" {
			continue
		}
		m, err := wiredraft.Decode(c.Data(t), wiredraft.Limits{})
		if err != nil || m.Event == nil {
			continue
		}
		text, err := wiredraft.AppendEvent(nil, m.Event)
		if err != nil {
			t.Fatal(err)
		}
		t.Run(c.ID, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				ev, err := wiredraft.DecodeEvent(text, wiredraft.Limits{})
				if err != nil {
					rt.Fatal(err)
				}
				for range rapid.IntRange(1, 2).Draw(rt, "changes") {
					disturb(rt, reflect.ValueOf(ev).Elem())
				}
				raw, fault := wiredraft.WriteEvent(ev)
				out, err := wiredraft.AppendEvent([]byte("kept"), ev)
				if fault != (err != nil) {
					rt.Fatalf("fault %v, error %v", fault, err)
				}
				again, decodeErr := wiredraft.DecodeEvent(raw, wiredraft.Limits{})
				if !fault {
					written++
					if decodeErr != nil {
						rt.Fatalf("written and not accepted: %v\n%s", decodeErr, raw)
					}
					if string(out) != "kept"+string(raw) {
						rt.Fatalf("%s and %s", out, raw)
					}
					twice, err := wiredraft.AppendEvent(nil, again)
					if err != nil || !bytes.Equal(twice, raw) {
						rt.Fatalf("not stable (%v)\n%s\n%s", err, raw, twice)
					}
					return
				}
				refused++
				if string(out) != "kept" {
					rt.Fatalf("an error, and dst is %q", out)
				}
				var e *wiredraft.Error
				if !errors.As(err, &e) || e.Class != ahp.FailEvent || e.Found == "" || e.Expected == "" {
					rt.Fatalf("%+v", e)
				}
				if decodeErr == nil && reflect.DeepEqual(rawless(ev), rawless(again)) {
					rt.Fatalf("refused (%v), and would be read as the same: %s", err, raw)
				}
			})
		})
	}
	if written < 500 || refused < 500 {
		t.Errorf("%d written and %d refused prove too little", written, refused)
	}
	t.Logf("%d written, %d refused", written, refused)
}

// TestEffectsAgree does the same for effects, at every boundary.
func TestEffectsAgree(t *testing.T) {
	written, refused := 0, 0
	rapid.Check(t, func(rt *rapid.T) {
		for range 30 {
			at := rapid.SampledFrom(append(ahp.DraftEvents(), "")).Draw(rt, "at")
			var caps *ahp.Capabilities
			if at != "" && rapid.Bool().Draw(rt, "caps") {
				b := ahp.Bounds(at)
				if b.Flow != nil && b.Flow.Continue {
					n := rapid.Int64Range(0, 1).Draw(rt, "left")
					b.Flow.Remaining, b.Flow.Count = &n, &n
				}
				if len(b.Effects) > 0 && rapid.Bool().Draw(rt, "fewer") {
					b.Effects = b.Effects[1:]
				}
				caps = &b
			}
			text := rapid.SampledFrom(effectTexts).Draw(rt, "effect")
			frame := func(text string) []byte {
				return []byte(`{"jsonrpc":"2.0","id":"e","result":{"protocolVersion":"draft","effects":[` + text + `]}}`)
			}
			home := at
			list, f := wiredraft.DecodeResponse(frame(text), "e", home, nil, wiredraft.Limits{})
			if f != nil { // it does not exist there: read it as it may be anywhere
				if list, f = wiredraft.DecodeResponse(frame(text), "e", "", nil, wiredraft.Limits{}); f != nil {
					rt.Fatal(f)
				}
			}
			x := list[0]
			if rapid.Bool().Draw(rt, "disturb") {
				disturb(rt, reflect.ValueOf(x).Elem())
			}
			raw, fault := wiredraft.WriteEffect(x, at, caps)
			again, df := wiredraft.DecodeResponse(frame(string(raw)), "e", at, caps, wiredraft.Limits{})
			switch {
			case !fault && df != nil:
				rt.Fatalf("at %q written and not accepted: %v\n%s", at, df, raw)
			case fault && df == nil && reflect.DeepEqual(rawless(x), rawless(again[0])):
				rt.Fatalf("at %q refused, and would be read as the same: %s", at, raw)
			case fault:
				refused++
				if _, err := wiredraft.AppendResult(nil, ahp.Raw(`"e"`), at, caps, []ahp.Effect{x}, nil); !isClass(err, ahp.FailInvalidEffect) {
					rt.Fatalf("%v", err)
				}
			default:
				written++
			}
		}
	})
	least := 200
	if testing.Short() {
		least /= 5 // rapid draws as many fewer
	}
	if written < least || refused < least {
		t.Errorf("%d written and %d refused prove too little", written, refused)
	}
}

// effectTexts is one effect of each form.
var effectTexts = []string{
	`{"type":"deny","reason":"r","code":"a.b","extensions":{"a.b":1}}`, `{"type":"allow"}`, `{"type":"ask"}`, `{"type":"message","text":""}`,
	`{"type":"flow","operation":"stop","reason":"r"}`, `{"type":"flow","operation":"continue","instruction":"i"}`, `{"type":"flow","operation":"continue"}`,
	`{"type":"inject","target":"context","operation":"append","deliverAt":"now","value":[{"id":"m","role":"user","parts":[]}]}`,
	`{"type":"modify","target":"input","operation":"merge","value":{"a":1}}`,
	`{"type":"modify","target":"prompt","operation":"replace","value":[{"id":"m","role":"user","parts":[{"id":"p","kind":"text","mediaType":"text/plain","selection":"body","text":"t"}]}]}`,
	`{"type":"modify","target":"summary","operation":"merge","value":[{"id":"p","kind":"text","mediaType":"text/plain","selection":"body","text":"t"}]}`,
	`{"type":"modify","target":"content","operation":"merge","value":[{"id":"m","role":"assistant","parts":[]}]}`, `{"type":"modify","target":"content","operation":"merge","value":{"a":"b"}}`,
	`{"type":"modify","target":"workspace","operation":"replace","value":{"cwd":"/x"}}`, `{"type":"return","value":null}`, `{"type":"return","value":[{"id":"m","role":"tool","parts":[]}]}`,
	`{"type":"return","value":{"action":"accept","content":{"a":"b"}}}`, `{"type":"return","value":[{"id":"p","kind":"text","mediaType":"text/plain","selection":"body","text":"t"}]}`,
}

func isClass(err error, class ahp.FailureClass) bool {
	var e *wiredraft.Error
	return errors.As(err, &e) && e.Class == class
}
