package wiredraft_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/wiredraft"
)

const (
	base      = `"id":"e-1","source":"urn:x:y","time":"2027-02-03T04:05:06Z"`
	toolBits  = `"call":{"id":"c"},"tool":{"name":"n","origin":"native","input":{"a":1}},"path":"native"`
	textPart  = `{"id":"p","kind":"text","mediaType":"text/plain","selection":"body","text":"t"}`
	imagePart = `{"id":"p","kind":"attachment","mediaType":"image/png","selection":"body","body":{"ref":"r"}}`
	userMsg   = `{"id":"m","role":"user","parts":[` + textPart + `]}`
	mcpBits   = `"call":{"id":"c"},"tool":{"name":"n","origin":"mcp","input":{},"mcp":{"server":{"id":"s"},"toolName":"t","provenance":"runtime",` +
		`"connection":{"transport":"http","url":"https://h.example/x"}}},"path":"mcp"`
	modelBits = `"model":{"id":"m","provider":"p"},"attempt":{"id":"a","number":1}`
)

// event is an event of a type with its own members.
func event(typ ahp.EventType, members string) string {
	if members != "" {
		members = "," + members
	}
	return `{` + base + `,"type":"` + string(typ) + `"` + members + `}`
}

// events holds one plain event of each type.
var events = map[ahp.EventType]string{
	ahp.SessionStart: `"session":{"id":"s"},"trigger":"startup","harness":{"name":"h","version":"1"},"permissionMode":"ask","manifest":` + plainManifest + `,"items":[]`,
	ahp.SessionEnd:   `"session":{"id":"s"},"outcome":"completed","reason":"r"`,
	ahp.TurnStart:    `"turn":{"id":"t"},"trigger":"user","items":[` + userMsg + `]`, ahp.TurnFinishBefore: `"turn":{"id":"t"},"outcome":"completed","continuationCount":0,"items":[]`,
	ahp.TurnEnd:      `"turn":{"id":"t"},"outcome":"failed","continuationCount":0,"items":[],"error":{"class":"c","message":"m"}`,
	ahp.TurnProgress: `"turn":{"id":"t"},"item":{"id":"i"},"delta":` + userMsg + `,"final":false`, ahp.ModelRequestBefore: modelBits + `,"params":{},"items":[` + userMsg + `]`,
	ahp.ModelResponseAfter: modelBits + `,"execution":{"status":"executed"},"items":[],"finishReason":"stop","latencyMs":1.5`,
	ahp.ModelError:         modelBits + `,"execution":{"status":"executed"},"error":{"class":"c","message":"m","status":429}`,
	ahp.ModelSwitchBefore:  `"current":{"id":"a","provider":"p"},"proposed":{"id":"b","provider":"p"},"reason":"r"`,
	ahp.ModelSwitchAfter:   `"previous":{"id":"a","provider":"p"},"current":{"id":"b","provider":"p"},"reason":"r"`,
	ahp.ToolBefore:         toolBits, ahp.ToolPermissionRequest: toolBits + `,"suggestions":[],"sandboxBypass":false`,
	ahp.ToolPermissionResolved: toolBits + `,"decision":"allow","decidedBy":"user"`, ahp.ToolProgress: toolBits + `,"partialOutput":` + userMsg + `,"backgrounded":true`,
	ahp.ToolAfter:      toolBits + `,"outcome":"ok","execution":{"status":"executed"},"items":[]`,
	ahp.ToolBatchAfter: `"batch":{"id":"b"},"calls":[{` + toolBits + `,"outcome":"ok","execution":{"status":"executed"}}]`,
	ahp.CompactBefore:  `"trigger":"auto","items":[]`, ahp.CompactAfter: `"summary":[` + textPart + `],"removed":[{"id":"m"}],"execution":{"status":"executed"}`,
	ahp.ConfigChangeBefore: `"change":{"source":"s","scope":"p","settings":["x"],"summary":"y"}`, ahp.ConfigChangeAfter: `"change":{"source":"s","scope":"p","settings":[],"summary":"y","mcpServers":[{}]}`,
	ahp.TaskChangeBefore: `"task":{"id":"t","operation":"create","change":{}}`, ahp.TaskChangeAfter: `"task":{"id":"t","operation":"remove","change":{},"prior":{}}`,
	ahp.WorkspaceChangeBefore: `"workspace":{"kind":"cwd","change":{"cwd":"/x"}}`, ahp.WorkspaceChangeAfter: `"workspace":{"kind":"roots","change":{"workspaceRoots":[]}}`,
	ahp.FileChanged: `"changes":[{"path":"p","operation":"update","agentCaused":true}]`, ahp.UserAttention: `"attention":{"kind":"k","message":[],"title":[]}`,
	ahp.ElicitationRequest: `"elicitation":{"server":"s","mode":"form"}`, ahp.ElicitationResult: `"elicitation":{"server":"s","mode":"form","action":"cancel"}`,
	ahp.MessageInbound: `"message":{"channel":"c","sender":"s","messages":[` + userMsg + `]}`, ahp.MessageOutbound: `"message":{"channel":"c","messages":[]}`,
	ahp.HookFailure: `"parentEventId":"e-0","failure":{"backendId":"b","reason":"r","policy":"fail-open"}`,
}

const plainManifest = `{"events":[{"event":"tool.before","modes":["observe","intercept"],"capabilities":{"effects":["deny"]}}],"gaps":[{"path":"limits","reason":"r"}],"transports":["http"],` +
	`"authentication":["bearer"],"toolPaths":["native"],"contentCategories":["text"],"limits":{"minTimeoutMs":1},"managedPolicy":{"scopes":["user"],"disableable":true},"correlationIdentityFields":["id"]}`

func intercept(ev, caps string) string {
	return `{"jsonrpc":"2.0","id":"e-1","method":"hooks/intercept","params":{"protocolVersion":"draft","event":` + ev + `,"capabilities":` + caps + `}}`
}

func observe(ev string) string {
	return `{"jsonrpc":"2.0","method":"hooks/observe","params":{"protocolVersion":"draft","event":` + ev + `}}`
}

func result(effects string) string {
	return `{"jsonrpc":"2.0","id":"e-1","result":{"protocolVersion":"draft","effects":[` + effects + `]}}`
}

func wantEvent(t *testing.T, typ ahp.EventType, members string) *ahp.Event {
	t.Helper()
	ev, err := wiredraft.DecodeEvent([]byte(event(typ, members)), wiredraft.Limits{})
	if err != nil {
		t.Fatalf("%v\n%s", err, event(typ, members))
	}
	if _, err := wiredraft.AppendEvent(nil, ev); err != nil {
		t.Errorf("not written back: %v", err)
	}
	return ev
}

// badEvent wants an event refused at a place.
func badEvent(t *testing.T, typ ahp.EventType, members, pointer string) {
	t.Helper()
	_, err := wiredraft.DecodeEvent([]byte(event(typ, members)), wiredraft.Limits{})
	var e *wiredraft.Error
	if !errors.As(err, &e) {
		t.Errorf("accepted: %s", event(typ, members))
		return
	}
	if e.Pointer != pointer {
		t.Errorf("%v, want it at %s\n%s", e, pointer, event(typ, members))
	}
}

func wantRequest(t *testing.T, frame string) *wiredraft.Message {
	t.Helper()
	m, err := wiredraft.DecodeRequest([]byte(frame), wiredraft.Limits{})
	if err != nil {
		t.Fatalf("%v\n%s", err, frame)
	}
	return m
}

func wantCode(t *testing.T, frame string, code ahp.ErrorCode, pointer string) *wiredraft.Error {
	t.Helper()
	_, err := wiredraft.DecodeRequest([]byte(frame), wiredraft.Limits{})
	if err == nil {
		t.Fatalf("accepted: %s", frame)
	}
	if err.Code != code || err.Pointer != pointer {
		t.Errorf("got %d at %q (%v), want %d at %q\n%s", err.Code, err.Pointer, err, code, pointer, frame)
	}
	return err
}

// all is everything that may be offered at an event.
func all(at ahp.EventType) *ahp.Capabilities {
	c := ahp.Bounds(at)
	if c.Flow != nil && c.Flow.Continue {
		n := int64(1)
		c.Flow.Remaining, c.Flow.Count = &n, &n
	}
	return &c
}

func wantEffects(t *testing.T, at ahp.EventType, effects string) []ahp.Effect {
	t.Helper()
	list, f := wiredraft.DecodeResponse([]byte(result(effects)), "e-1", at, all(at), wiredraft.Limits{})
	if f != nil {
		t.Fatalf("at %s: %v\n%s", at, f, effects)
	}
	return list
}

// badEffects wants a response refused whole, as an invalid effect.
func badEffects(t *testing.T, at ahp.EventType, effects string) {
	t.Helper()
	list, f := wiredraft.DecodeResponse([]byte(result(effects)), "e-1", at, all(at), wiredraft.Limits{})
	if f == nil || f.Class != ahp.FailInvalidEffect || list != nil {
		t.Errorf("at %s: %v, %v, want an invalid effect\n%s", at, list, f, effects)
	}
}

func wantClass(t *testing.T, frame string, class ahp.FailureClass, pointer string) {
	t.Helper()
	list, f := wiredraft.DecodeResponse([]byte(frame), "e-1", ahp.ToolBefore, all(ahp.ToolBefore), wiredraft.Limits{})
	if f == nil {
		t.Fatalf("accepted: %s", frame)
	}
	if f.Class != class || f.Pointer != pointer || list != nil {
		t.Errorf("got %s at %q (%v), want %s at %q\n%s", f.Class, f.Pointer, f, class, pointer, frame)
	}
}

// TestEveryEvent reads and writes one event of each type, in each mode that it has,
// and without each member that it needs.
func TestEveryEvent(t *testing.T) {
	if len(events) != 32 || len(ahp.DraftEvents()) != 32 {
		t.Fatalf("%d events", len(events))
	}
	for _, typ := range ahp.DraftEvents() {
		t.Run(string(typ), func(t *testing.T) {
			ev := wantEvent(t, typ, events[typ])
			if (ev.Body == nil) != (typ == ahp.ToolBefore) {
				t.Errorf("body %T", ev.Body)
			}
			wantRequest(t, observe(event(typ, events[typ])))
			frame := intercept(event(typ, events[typ]), `{"effects":[]}`)
			if typ.Interceptable(ahp.VersionDraft) {
				wantRequest(t, frame)
			} else {
				wantCode(t, frame, ahp.CodeUnsupportedEvent, "/params/event/type")
			}
			out, err := wiredraft.AppendIntercept(nil, ev, &ahp.Capabilities{}, nil, nil)
			if (err == nil) != typ.Interceptable(ahp.VersionDraft) {
				t.Errorf("%s, %v", out, err)
			}
			// An event that is encoded once stands in messages as one that is encoded there.
			text, err := wiredraft.AppendEventText(nil, ev)
			if err != nil {
				t.Fatal(err)
			}
			state := &ahp.State{Permission: ahp.PermissionAsk, Flow: ahp.FlowNone}
			whole, err1 := wiredraft.AppendIntercept(nil, ev, &ahp.Capabilities{}, state, nil)
			parts, err2 := wiredraft.AppendInterceptText(nil, ev.ID, typ, text, &ahp.Capabilities{}, state)
			if string(whole) != string(parts) || (err1 == nil) != (err2 == nil) {
				t.Errorf("%v, %v\n%s\n%s", err1, err2, whole, parts)
			}
			whole, err = wiredraft.AppendObserve(nil, ev)
			if parts := wiredraft.AppendObserveText(nil, text); err != nil || string(whole) != string(parts) {
				t.Errorf("%v\n%s\n%s", err, whole, parts)
			}
			// The type may stand last: nothing depends on the order.
			late := `{` + base + `,` + events[typ] + `,"type":"` + string(typ) + `"}`
			if _, err := wiredraft.DecodeEvent([]byte(late), wiredraft.Limits{}); err != nil {
				t.Errorf("with the type last: %v", err)
			}
			doc := parse(t, []byte(event(typ, events[typ]))).(map[string]any)
			for name := range doc {
				if name == "latencyMs" {
					continue // optional
				}
				v := doc[name]
				delete(doc, name)
				if _, err := wiredraft.DecodeEvent(mustJSON(doc), wiredraft.Limits{}); err == nil && !(typ == ahp.TurnEnd && name == "error") {
					t.Errorf("accepted without %s", name)
				}
				doc[name] = v
			}
		})
	}
}

func TestRules(t *testing.T) {
	t.Run("AHP-VER-001", func(t *testing.T) {
		if m := wantRequest(t, validRequest); m.Version != ahp.VersionDraft {
			t.Errorf("version %q", m.Version)
		}
		wantCode(t, edit(t, validRequest, `"protocolVersion":"draft",`, ``), ahp.CodeInvalidParams, "/params/protocolVersion")
		wantClass(t, edit(t, result(""), `"protocolVersion":"draft",`, ``), ahp.FailMissingField, "/result/protocolVersion")
	})
	t.Run("D-VER-1", func(t *testing.T) {
		for _, v := range []string{"0.1", "2027-01-01", "Draft", "draft ", ""} {
			wantCode(t, edit(t, validRequest, `"protocolVersion":"draft"`, `"protocolVersion":"`+v+`"`), ahp.CodeUnsupportedVersion, "/params/protocolVersion")
			wantClass(t, edit(t, result(""), `"draft"`, `"`+v+`"`), ahp.FailUnsupported, "/result/protocolVersion")
		}
	})
	t.Run("D-VER-4", func(t *testing.T) {
		doc := edit(t, portable, `"draft"`, `"0.1"`)
		badReg(t, doc, wiredraft.RegOptions{}, "/protocolVersion")
	})
	t.Run("AHP-RPC-001", func(t *testing.T) {
		wantCode(t, edit(t, validRequest, `"2.0"`, `"1.0"`), ahp.CodeInvalidRequest, "/jsonrpc")
		wantCode(t, edit(t, validRequest, `"jsonrpc":"2.0",`, ``), ahp.CodeInvalidRequest, "/jsonrpc")
		wantCode(t, edit(t, validRequest, `ls`, "l\xff"), ahp.CodeParse, "/params/event/tool/input")
		wantClass(t, edit(t, result(`{"type":"deny","reason":"no"}`), `no`, `\ud800`), ahp.FailMalformed, "/result/effects/0/reason")
	})
	t.Run("AHP-RPC-002", func(t *testing.T) {
		if m := wantRequest(t, validRequest); m.Kind != wiredraft.Request || m.Method != ahp.MethodIntercept {
			t.Errorf("%s %s", m.Kind, m.Method)
		}
		if m := wantRequest(t, observe(validEvent)); m.Kind != wiredraft.Notification || m.Method != ahp.MethodObserve {
			t.Errorf("%s %s", m.Kind, m.Method)
		}
		if err := wantCode(t, edit(t, validRequest, `"id":"e-1",`, ``), ahp.CodeMethodNotFound, "/method"); !err.Notification {
			t.Error("an intercept without an id would be answered")
		}
		if m := wantRequest(t, `{"jsonrpc":"2.0","id":7,"method":"hooks/capabilities","params":{"protocolVersion":"draft"}}`); m.Method != ahp.MethodCapabilities || string(m.ID) != "7" {
			t.Errorf("%s %s", m.Method, m.ID)
		}
	})
	t.Run("D-ENV-1", func(t *testing.T) {
		wantCode(t, "["+validRequest+"]", ahp.CodeInvalidRequest, "")
		wantClass(t, "["+result("")+"]", ahp.FailMalformed, "")
	})
	t.Run("D-ENV-2", func(t *testing.T) {
		wantCode(t, edit(t, validRequest, `"id":"e-1","method"`, `"id":"e-2","method"`), ahp.CodeInvalidParams, "/id")
		wantCode(t, edit(t, validRequest, `"id":"e-1","method"`, `"id":1,"method"`), ahp.CodeInvalidParams, "/id")
		wantRequest(t, edit(t, validRequest, `"id":"e-1","method"`, `"id":"e\u002d1","method"`))
		out, err := wiredraft.AppendIntercept(nil, wantEvent(t, ahp.ToolBefore, toolBits), all(ahp.ToolBefore), nil, nil)
		if err != nil || !strings.HasPrefix(string(out), `{"jsonrpc":"2.0","id":"e-1",`) {
			t.Errorf("%v %s", err, out)
		}
	})
	t.Run("D-ENV-3", func(t *testing.T) {
		wantClass(t, edit(t, result(""), `"e-1"`, `"e-2"`), ahp.FailIDMismatch, "/id")
		wantClass(t, edit(t, result(""), `"e-1"`, `null`), ahp.FailIDMismatch, "/id")
		wantClass(t, edit(t, result(""), `"result"`, `"error":{"code":1,"message":"m"},"result"`), ahp.FailMalformed, "/error")
		wantClass(t, `{"jsonrpc":"2.0","id":"e-1"}`, ahp.FailMalformed, "/result")
	})
	t.Run("D-ENV-4", func(t *testing.T) {
		wantCode(t, edit(t, observe(validEvent), `"method"`, `"id":"e-1","method"`), ahp.CodeMethodNotFound, "/method")
		if err := wantCode(t, edit(t, observe(validEvent), `"time":"2027`, `"time":"x2027`), ahp.CodeInvalidParams, "/params/event/time"); !err.Notification {
			t.Error("a bad notification would be answered")
		}
		out, err := wiredraft.AppendObserve(nil, wantEvent(t, ahp.ToolBefore, toolBits))
		if err != nil || strings.HasPrefix(string(out), `{"jsonrpc":"2.0","id"`) {
			t.Errorf("%v %s", err, out)
		}
	})
	t.Run("D-ENV-5", func(t *testing.T) {
		mixed := edit(t, result(""), `"effects"`, `"manifest":`+plainManifest+`,"effects"`)
		wantClass(t, mixed, ahp.FailMalformed, "/result/manifest")
		if _, f := wiredraft.DecodeCapabilitiesResponse([]byte(mixed), ahp.Raw(`"e-1"`), wiredraft.Limits{}); f == nil {
			t.Error("effects in an answer to hooks/capabilities")
		}
		if _, err := wiredraft.Decode([]byte(mixed), wiredraft.Limits{}); err == nil {
			t.Error("a mixed result")
		}
	})
	t.Run("AHP-CORE-003", func(t *testing.T) {
		for _, place := range []string{`{"jsonrpc"`, `{"protocolVersion"`, `{"effects"`} {
			m := wantRequest(t, edit(t, validRequest, place, `{"unheardOf":[1.50],`+place[1:]))
			if len(m.Unknown)+len(m.BodyUnknown)+len(m.Capabilities.Unknown) != 1 {
				t.Errorf("%s: not kept", place)
			}
		}
		for _, place := range []string{`{"jsonrpc"`, `{"protocolVersion"`} {
			if _, f := wiredraft.DecodeResponse([]byte(edit(t, result(""), place, `{"unheardOf":1,`+place[1:])), "e-1", ahp.ToolBefore, all(ahp.ToolBefore), wiredraft.Limits{}); f != nil {
				t.Errorf("%s: %v", place, f)
			}
		}
		m := wantRequest(t, edit(t, validRequest, `"capabilities"`, `"state":{"permission":"none","candidate":null,"unheardOf":{"a":1.0}},"capabilities"`))
		out, err := wiredraft.AppendIntercept(nil, m.Event, &m.Capabilities, m.State, nil)
		if err != nil || !strings.Contains(string(out), `"unheardOf":{"a":1.0}`) {
			t.Errorf("%v: %s", err, out)
		}
		if ev := wantEvent(t, ahp.ToolBefore, toolBits+`,"unheardOf":1.50`); len(ev.Unknown) != 1 || string(ev.Unknown[0].Value) != "1.50" {
			t.Errorf("%v", ev.Unknown)
		}
	})
	t.Run("D-ENV-8", func(t *testing.T) {
		for _, x := range []string{
			`{"type":"allow","scope":"x"}`, `{"type":"ask","reason":"r"}`, `{"type":"deny","reason":"r","x":1}`, `{"type":"message","text":"t","x":1}`,
			`{"type":"flow","operation":"stop","reason":"r","instruction":"i"}`, `{"type":"return","value":1,"target":"input"}`,
			`{"type":"modify","target":"input","operation":"merge","value":{},"path":"/a"}`,
			`{"type":"inject","target":"context","operation":"append","deliverAt":"now","value":[],"reason":"r"}`,
		} {
			badEffects(t, ahp.ToolBefore, x)
		}
		badEvent(t, ahp.ToolBefore, edit(t, toolBits, `"name"`, `"x":1,"name"`), "/tool")
		badEvent(t, ahp.ToolBefore, edit(t, toolBits, `{"id":"c"}`, `{"id":"c","x":1}`), "/call")
		badEvent(t, ahp.TurnStart, edit(t, events[ahp.TurnStart], `"id":"t"`, `"id":"t","x":1`), "/turn")
		wantEvent(t, ahp.ToolBefore, `"turn":{"id":"t","x":1},`+toolBits) // open there
	})
	t.Run("D-ENV-9", func(t *testing.T) {
		wantCode(t, edit(t, validRequest, `"tool.before"`, `"tool.later"`), ahp.CodeUnsupportedEvent, "/params/event/type")
		for _, x := range []string{
			`{"type":"defer"}`, `{"type":"com.example.mask"}`, `{"type":"modify","target":"output","operation":"merge","value":[]}`,
			`{"type":"modify","target":"input","operation":"patch","value":{}}`, `{"type":"flow","operation":"pause","reason":"r"}`,
			`{"type":"inject","target":"context","operation":"append","deliverAt":"later","value":[]}`, `{"type":"inject","target":"prompt","operation":"append","deliverAt":"now","value":[]}`,
		} {
			badEffects(t, ahp.ToolBefore, x)
		}
	})
	t.Run("D-ENV-10", func(t *testing.T) {
		badEvent(t, ahp.ToolBefore, edit(t, toolBits, `{"a":1}`, `"{}"`), "/tool/input")
		badEvent(t, ahp.ModelRequestBefore, edit(t, events[ahp.ModelRequestBefore], `"params":{}`, `"params":"{}"`), "/params")
		badEvent(t, ahp.TaskChangeBefore, edit(t, events[ahp.TaskChangeBefore], `"change":{}`, `"change":"{}"`), "/task/change")
	})
	t.Run("D-ENV-11", func(t *testing.T) {
		caps := `{"jsonrpc":"2.0","id":ID,"method":"hooks/capabilities","params":{"protocolVersion":"draft"}}`
		for id, ok := range map[string]bool{`"a"`: true, `7`: true, `1.0`: true, `-3`: true, `""`: false, `1.5`: false, `null`: false, `{}`: false, `true`: false} {
			_, err := wiredraft.DecodeRequest([]byte(strings.Replace(caps, "ID", id, 1)), wiredraft.Limits{})
			if (err == nil) != ok {
				t.Errorf("id %s: %v", id, err)
			}
		}
		for doc, ok := range map[string]bool{
			`{"jsonrpc":"2.0","id":null,"error":{"code":-32003,"message":"m"}}`: true, `{"jsonrpc":"2.0","id":1,"error":{"code":1.0,"message":"","data":[1]}}`: true,
			`{"jsonrpc":"2.0","id":1,"error":{"code":1.5,"message":"m"}}`: false, `{"jsonrpc":"2.0","id":1,"error":{"code":1}}`: false, `{"jsonrpc":"2.0","id":1,"error":{"message":"m"}}`: false,
			`{"jsonrpc":"2.0","id":1,"error":{"code":1,"message":2}}`: false, `{"jsonrpc":"2.0","error":{"code":1,"message":"m"}}`: false, `{"jsonrpc":"2.0","id":1,"error":"m"}`: false,
		} {
			if _, err := wiredraft.Decode([]byte(doc), wiredraft.Limits{}); (err == nil) != ok {
				t.Errorf("%s: %v", doc, err)
			}
		}
	})
	t.Run("D-STATE-1", func(t *testing.T) {
		if m := wantRequest(t, validRequest); m.State != nil {
			t.Errorf("%v", m.State)
		}
		with := func(state string) string {
			return edit(t, validRequest, `"capabilities"`, `"state":`+state+`,"capabilities"`)
		}
		m := wantRequest(t, with(`{"permission":"ask","candidate":{"value":null,"provenance":{}},"flow":"stop","instructions":["i"],"injections":[{"x":1}]}`))
		if s := m.State; s.Permission != ahp.PermissionAsk || string(s.Candidate.Value) != "null" || s.Flow != ahp.FlowStop || s.Instructions[0] != "i" || string(s.Injections[0]) != `{"x":1}` {
			t.Errorf("%+v", m.State)
		}
		for state, pointer := range map[string]string{
			`{"candidate":null}`: "/params/state/permission", `{"permission":"none"}`: "/params/state/candidate", `{"permission":"maybe","candidate":null}`: "/params/state/permission",
			`{"permission":"none","candidate":{}}`: "/params/state/candidate/value", `{"permission":"none","candidate":7}`: "/params/state/candidate", `{"permission":"none","candidate":null,"flow":"go"}`: "/params/state/flow",
			`{"permission":"none","candidate":null,"instructions":[""]}`: "/params/state/instructions/0", `{"permission":"none","candidate":{"value":1,"provenance":1}}`: "/params/state/candidate/provenance", `[]`: "/params/state",
		} {
			wantCode(t, with(state), ahp.CodeInvalidParams, pointer)
		}
	})
	t.Run("D-EVT-1", func(t *testing.T) {
		for _, name := range []string{"id", "source", "type", "time"} {
			doc := parse(t, []byte(event(ahp.ToolBefore, toolBits))).(map[string]any)
			delete(doc, name)
			var e *wiredraft.Error
			if _, err := wiredraft.DecodeEvent(mustJSON(doc), wiredraft.Limits{}); !errors.As(err, &e) || e.Pointer != "/"+name || e.Class != ahp.FailMissingField {
				t.Errorf("without %s: %v", name, err)
			}
		}
		for _, s := range []string{"", "x", "/a", "urn:", "http://[::1", "urn:a b"} {
			badEventText(t, edit(t, event(ahp.ToolBefore, toolBits), `"urn:x:y"`, `"`+s+`"`), "/source", s == "urn:")
		}
		for _, s := range []string{"20270203T040506Z", "2027-02-03", "2027-02-03T04:05:06", "2027-02-30T04:05:06Z", ""} {
			badEventText(t, edit(t, event(ahp.ToolBefore, toolBits), `2027-02-03T04:05:06Z`, s), "/time", false)
		}
	})
	t.Run("D-EVT-4", func(t *testing.T) {
		if ev := wantEvent(t, ahp.ToolBefore, toolBits); ev.Session.ID != "" || ev.Turn != nil {
			t.Errorf("%+v", ev)
		}
		out, err := wiredraft.AppendEvent(nil, wantEvent(t, ahp.ToolBefore, toolBits))
		if err != nil || strings.Contains(string(out), "session") || strings.Contains(string(out), "turn") {
			t.Errorf("%v: %s", err, out)
		}
	})
	t.Run("D-EVT-5", func(t *testing.T) {
		ev := wantEvent(t, ahp.ToolBefore, edit(t, toolBits, `{"id":"c"}`, `{"id":"c","synthesized":true}`)+`,"synthesized":false`)
		if ev.Synthesized == nil || *ev.Synthesized || ev.Tool.CallSynthesized == nil || !*ev.Tool.CallSynthesized {
			t.Errorf("%+v", ev)
		}
		badEvent(t, ahp.ToolBefore, edit(t, toolBits, `{"id":"c"}`, `{"id":"c","synthesized":"true"}`), "/call/synthesized")
		badEvent(t, ahp.ToolBefore, toolBits+`,"synthesized":1`, "/synthesized")
	})
	t.Run("D-EVT-6", func(t *testing.T) {
		wantCode(t, intercept(event(ahp.TurnEnd, events[ahp.TurnEnd]), `{"effects":[]}`), ahp.CodeUnsupportedEvent, "/params/event/type")
		wantRequest(t, observe(event(ahp.TurnEnd, events[ahp.TurnEnd])))
	})
	t.Run("D-EVT-7", func(t *testing.T) {
		finish := events[ahp.TurnFinishBefore]
		for n, ok := range map[string]bool{"1.0": true, "1e1": true, "0": true, "-0": true, "1.5": false, "-1": false, `"1"`: false} {
			members := edit(t, finish, `"continuationCount":0`, `"continuationCount":`+n)
			if ok {
				wantEvent(t, ahp.TurnFinishBefore, members)
			} else {
				badEvent(t, ahp.TurnFinishBefore, members, "/continuationCount")
			}
		}
	})
	t.Run("D-EVT-9", func(t *testing.T) {
		ev := wantEvent(t, ahp.ToolBefore, `"session":{"id":"s"},`+toolBits)
		out, err := wiredraft.AppendEvent(nil, ev)
		if err != nil || !strings.Contains(string(out), `"session":{"id":"s"}`) {
			t.Errorf("%v: %s", err, out)
		}
	})
	t.Run("D-NAT-1", func(t *testing.T) {
		out, err := wiredraft.AppendEvent(nil, wantEvent(t, ahp.ToolBefore, toolBits))
		if err != nil || strings.Contains(string(out), `"native":`) {
			t.Errorf("%v: %s", err, out)
		}
	})
	t.Run("D-AMB-2", func(t *testing.T) {
		ev := wantEvent(t, ahp.ToolBefore, toolBits+`,"native":{"provider":"p","eventName":"e","payload":{"a":1.0},"x":2}`)
		if ev.Native == nil || string(ev.Native.Payload) != `{"a":1.0}` || len(ev.Native.Unknown) != 1 || ev.NativeOther != nil {
			t.Errorf("%+v", ev.Native)
		}
		for _, s := range []string{`7`, `null`, `"x"`, `[1.0]`, `{}`, `{"provider":"p","eventName":"","payload":{}}`, `{"provider":"p\u0041","eventName":"e","payload":{}}`} {
			if ev := wantEvent(t, ahp.ToolBefore, toolBits+`,"native":`+s); ev.Native != nil || string(ev.NativeOther) != s {
				t.Errorf("%s became %s", s, ev.NativeOther)
			}
		}
	})
	t.Run("AHP-EXT-001", func(t *testing.T) {
		ev := wantEvent(t, ahp.ToolBefore, toolBits+`,"extensions":{"com.example.a-b":[1.0]}`)
		if string(ev.Extensions[0].Value) != "[1.0]" {
			t.Errorf("%v", ev.Extensions)
		}
		badEvent(t, ahp.ToolBefore, toolBits+`,"extensions":{"foo":1}`, "/extensions")
		badEvent(t, ahp.ToolBefore, toolBits+`,"extensions":[]`, "/extensions")
		ev.Extensions[0].Name = "foo"
		if _, err := wiredraft.AppendEvent(nil, ev); err == nil {
			t.Error("written")
		}
	})
	t.Run("D-EXT-1", func(t *testing.T) {
		const ext = `"extensions":{"com.example.a":{"n":1.500,"s":"\u0041"},"a.b":null}`
		out, err := wiredraft.AppendEvent(nil, wantEvent(t, ahp.ToolBefore, toolBits+`,`+ext))
		if err != nil || !strings.Contains(string(out), ext) {
			t.Errorf("%v: %s", err, out)
		}
	})
	t.Run("D-TOOL-1", func(t *testing.T) {
		if ev := wantEvent(t, ahp.ToolBefore, edit(t, toolBits, `"name"`, `"kind":"quantum","name"`)); ev.Tool.Kind != "quantum" {
			t.Errorf("%q", ev.Tool.Kind)
		}
		if ev := wantEvent(t, ahp.ToolBefore, toolBits); ev.Tool.Kind != "" {
			t.Errorf("%q", ev.Tool.Kind)
		}
		badEvent(t, ahp.ToolBefore, edit(t, toolBits, `"name"`, `"kind":"","name"`), "/tool/kind")
	})
	t.Run("D-TOOL-2", func(t *testing.T) {
		badEvent(t, ahp.ToolBefore, edit(t, toolBits, `"path":"native"`, `"path":""`), "/path")
		badEvent(t, ahp.ToolBefore, edit(t, toolBits, `,"path":"native"`, ``), "/path")
	})
	t.Run("D-MCP-1", func(t *testing.T) {
		badEvent(t, ahp.ToolBefore, edit(t, mcpBits, `https://h.example`, `https://u:p@h.example`), "/tool/mcp/connection/url")
		ev := wantEvent(t, ahp.ToolBefore, mcpBits)
		ev.Tool.Server.Connection.URL = "https://u:p@h.example/"
		if _, err := wiredraft.AppendEvent(nil, ev); err == nil || strings.Contains(err.Error(), "u:p") {
			t.Errorf("%v", err)
		}
	})
	t.Run("D-MCP-2", func(t *testing.T) {
		conn := func(c string) string {
			return edit(t, mcpBits, `{"transport":"http","url":"https://h.example/x"}`, c)
		}
		for _, c := range []string{
			`{"transport":"sse","gaps":[{"path":"url","reason":"r"}]}`, `{"transport":"stdio","command":"c","args":[],"cwd":"/"}`,
			`{"gaps":[{"path":"cwd","reason":"r"},{"path":"args","reason":"r"}],"command":"c","transport":"stdio"}`, `{"transport":"_unix","addressForm":"path","address":"/s"}`,
		} {
			wantEvent(t, ahp.ToolBefore, conn(c))
		}
		for c, p := range map[string]string{
			`{"transport":"http"}`: "/url", `{"transport":"http","gaps":[{"path":"x","reason":"r"}]}`: "/url", `{"transport":"stdio","command":"c","args":[]}`: "/cwd",
			`{"transport":"_unix","address":"a"}`: "/addressForm", `{"transport":"_"}`: "/transport", `{"transport":"ws","url":"https://h/"}`: "/transport", `{"url":"https://h/"}`: "/transport",
			`{"transport":"http","url":"https://h/","command":"c"}`: "/command", `{"transport":"http","url":"ftp://h/"}`: "/url", `{"transport":"http","url":"https://h/","gaps":[]}`: "/gaps",
			`{"transport":"http","url":"https://h/","gaps":[{"path":"p","reason":"r","x":1}]}`: "/gaps/0", `{"transport":"http","url":"https://h/","gaps":[{"path":"p"}]}`: "/gaps/0/reason",
		} {
			badEvent(t, ahp.ToolBefore, conn(c), "/tool/mcp/connection"+p)
		}
		badEvent(t, ahp.ToolBefore, edit(t, mcpBits, `"origin":"mcp"`, `"origin":"native"`), "/tool/mcp")
		badEvent(t, ahp.ToolBefore, edit(t, toolBits, `"origin":"native"`, `"origin":"mcp"`), "/tool/mcp")
	})
	t.Run("D-ACC-1", func(t *testing.T) {
		const usage = `,"usage":{"kind":"total","scope":"turn","completeness":"partial","provenance":"mixed","inputTokens":0}`
		u := wantEvent(t, ahp.TurnFinishBefore, events[ahp.TurnFinishBefore]+usage).Body.(*ahp.TurnFinishBody).Usage
		if u.InputTokens == nil || *u.InputTokens != 0 || u.OutputTokens != nil {
			t.Errorf("%+v", u)
		}
		for old, now := range map[string]string{`"total"`: `"amount"`, `"turn","comp`: `"attempt","comp`, `"partial"`: `"some"`, `"mixed"`: `"guess"`, `:0}`: `:-1}`, `"inputTokens"`: `"tokens"`} {
			if _, err := wiredraft.DecodeEvent([]byte(event(ahp.TurnFinishBefore, events[ahp.TurnFinishBefore]+edit(t, usage, old, now))), wiredraft.Limits{}); err == nil {
				t.Errorf("%s accepted", now)
			}
		}
		badEvent(t, ahp.ModelError, events[ahp.ModelError]+`,"usage":{"kind":"amount","scope":"attempt","completeness":"partial","provenance":"mixed"}`, "/usage/provenance")
		badEvent(t, ahp.TurnFinishBefore, events[ahp.TurnFinishBefore]+edit(t, usage, `"inputTokens":0`, `"cost":{"amount":-1,"currency":"EUR","basis":"billed"}`), "/usage/cost/amount")
		badEvent(t, ahp.TurnFinishBefore, events[ahp.TurnFinishBefore]+edit(t, usage, `"inputTokens":0`, `"cost":{"amount":1,"currency":"eur","basis":"billed"}`), "/usage/cost/currency")
	})
	t.Run("D-ACC-3", func(t *testing.T) {
		skipped := edit(t, events[ahp.ModelResponseAfter], `{"status":"executed"}`, `{"status":"skipped","reason":"supplied_result"}`)
		badEvent(t, ahp.ModelResponseAfter, skipped, "/latencyMs")
		wantEvent(t, ahp.ModelResponseAfter, edit(t, skipped, `,"latencyMs":1.5`, ``))
		badEvent(t, ahp.ModelResponseAfter, edit(t, edit(t, skipped, `,"latencyMs":1.5`, ``), `supplied_result`, `policy`), "/execution/reason")
		after := edit(t, events[ahp.ToolAfter], `{"status":"executed"}`, `{"status":"skipped","reason":"supplied_result"}`)
		wantEvent(t, ahp.ToolAfter, after)
		badEvent(t, ahp.ToolAfter, after+`,"durationMs":1`, "/durationMs")
		badEvent(t, ahp.ToolAfter, after+`,"fileChanges":[]`, "/fileChanges")
	})
	t.Run("D-ACC-4", func(t *testing.T) {
		ev := wantEvent(t, ahp.ModelError, events[ahp.ModelError]+`,"usage":{"kind":"amount","scope":"attempt","completeness":"unknown","provenance":"provider"}`)
		if ev.Body.(*ahp.ModelErrorBody).Usage == nil {
			t.Error("no usage")
		}
	})
	t.Run("D-CAT-1", func(t *testing.T) {
		for _, s := range []string{"tool.error", "prompt.submitted", "agent.stop", "notification", "permission.request", "compact.pre", "compact.post", "file.edited", "other", "file.read", "mcp.inventory"} {
			wantCode(t, observe(edit(t, validEvent, `"tool.before"`, `"`+s+`"`)), ahp.CodeUnsupportedEvent, "/params/event/type")
		}
	})
	t.Run("AHP-TB-001", func(t *testing.T) {
		for _, name := range []string{"call", "tool", "path"} {
			doc := parse(t, []byte(event(ahp.ToolBefore, toolBits))).(map[string]any)
			delete(doc, name)
			badEventText(t, string(mustJSON(doc)), "/"+name, false)
		}
		for _, name := range []string{"outcome", "execution", "durationMs", "fileChanges"} {
			badEvent(t, ahp.ToolBefore, toolBits+`,"`+name+`":1`, "/"+name)
		}
	})
	t.Run("D-TE-3", func(t *testing.T) {
		wantEvent(t, ahp.ToolAfter, edit(t, events[ahp.ToolAfter], `{"status":"executed"}`, `{"reason":"supplied_result","status":"skipped"}`))
		for x, p := range map[string]string{
			`{"status":"executed","reason":"policy"}`: "/reason", `{"status":"skipped"}`: "/reason", `{"status":"skipped","reason":"supplied_result","detail":"d"}`: "/detail",
			`{"status":"executed","detail":"d"}`: "/detail", `{"status":"done"}`: "/status", `{"reason":"policy"}`: "/status", `{"status":"skipped","reason":"other","detail":""}`: "/detail", `{"status":"executed","x":1}`: "",
		} {
			badEvent(t, ahp.ToolAfter, edit(t, events[ahp.ToolAfter], `{"status":"executed"}`, x), "/execution"+p)
		}
		denied := edit(t, events[ahp.ToolAfter], `"ok"`, `"denied"`)
		badEvent(t, ahp.ToolAfter, denied, "/execution")
		wantEvent(t, ahp.ToolAfter, edit(t, denied, `{"status":"executed"}`, `{"status":"skipped","reason":"policy","detail":"d"}`))
		badEvent(t, ahp.ToolAfter, edit(t, events[ahp.ToolAfter], `"ok"`, `"error"`), "/error")
		badEvent(t, ahp.ToolAfter, events[ahp.ToolAfter]+`,"error":{"class":"c","message":"m"}`, "/error")
	})
	t.Run("D-TE-7", func(t *testing.T) {
		badEvent(t, ahp.ToolAfter, edit(t, events[ahp.ToolAfter], `"name"`, `"output":1,"name"`), "/tool/output")
		badEvent(t, ahp.ToolAfter, edit(t, events[ahp.ToolAfter], `"items":[]`, `"items":[`+textPart+`]`), "/items/0/kind")
	})
	t.Run("D-AMB-1", func(t *testing.T) {
		badEvent(t, ahp.UserAttention, edit(t, events[ahp.UserAttention], `"message":[]`, `"message":`+textPart), "/attention/message")
		wantEvent(t, ahp.UserAttention, edit(t, events[ahp.UserAttention], `"message":[]`, `"message":[`+textPart+`]`))
	})
	t.Run("D-AMB-3", func(t *testing.T) {
		badEvent(t, ahp.HookFailure, edit(t, events[ahp.HookFailure], `"backendId"`, `"subscription":"s","backendId"`), "/failure")
	})
	t.Run("D-AMB-10", func(t *testing.T) {
		wantRequest(t, `{"jsonrpc":"2.0","id":7,"method":"hooks/capabilities","params":{"protocolVersion":"draft","x":1}}`)
		out, err := wiredraft.AppendCapabilitiesRequest(nil, ahp.Raw(`7`))
		if want := `{"jsonrpc":"2.0","id":7,"method":"hooks/capabilities","params":{"protocolVersion":"draft"}}`; err != nil || string(out) != want {
			t.Errorf("%v: %s", err, out)
		}
	})
	t.Run("D-AMB-27", func(t *testing.T) {
		wantCode(t, edit(t, validRequest, `"n":1.50`, `"cmd":1`), ahp.CodeParse, "/params/event/tool/input")
		wantCode(t, edit(t, validRequest, `"n":1.50`, `"\u0063md":1`), ahp.CodeParse, "/params/event/tool/input")
		wantClass(t, result(`{"type":"deny","reason":"r","type":"allow"}`), ahp.FailMalformed, "/result/effects/0/type")
	})
	t.Run("D-PAY-2", func(t *testing.T) {
		ev := wantEvent(t, ahp.MessageInbound, events[ahp.MessageInbound])
		if b := ev.Body.(*ahp.UserMessageBody); b.Channel != "c" || b.Sender != "s" || len(ev.Messages) != 1 {
			t.Errorf("%+v", b)
		}
		badEvent(t, ahp.MessageInbound, edit(t, events[ahp.MessageInbound], `"role":"user"`, `"role":"assistant"`), "/message/messages/0/role")
		badEvent(t, ahp.MessageOutbound, edit(t, events[ahp.MessageOutbound], `[]`, `[`+userMsg+`]`), "/message/messages/0/role")
		badEvent(t, ahp.MessageOutbound, edit(t, events[ahp.MessageOutbound], `"channel"`, `"sender":"s","channel"`), "/message/sender")
	})
	t.Run("D-CMP-7", func(t *testing.T) {
		badEvent(t, ahp.CompactBefore, events[ahp.CompactBefore]+`,"tokenCounts":{"after":1}`, "/tokenCounts/after")
		wantEvent(t, ahp.CompactBefore, events[ahp.CompactBefore]+`,"tokenCounts":{"before":1}`)
	})
	t.Run("D-CMP-8", func(t *testing.T) {
		badEvent(t, ahp.CompactBefore, edit(t, events[ahp.CompactBefore], `"auto"`, `"later"`), "/trigger")
		for _, name := range []string{"summary", "removed", "execution"} {
			badEvent(t, ahp.CompactBefore, events[ahp.CompactBefore]+`,"`+name+`":1`, "/"+name)
		}
		badEvent(t, ahp.CompactAfter, edit(t, events[ahp.CompactAfter], `{"status":"executed"}`, `{"status":"skipped","reason":"policy"}`), "/execution/reason")
	})
	t.Run("D-CMP-6", func(t *testing.T) {
		badEvent(t, ahp.CompactAfter, edit(t, events[ahp.CompactAfter], textPart, imagePart), "/summary/0/kind")
		badEvent(t, ahp.CompactAfter, edit(t, events[ahp.CompactAfter], textPart, userMsg), "/summary/0/role")
	})
	t.Run("D-TASK-2", func(t *testing.T) {
		wantEvent(t, ahp.TaskChangeAfter, edit(t, events[ahp.TaskChangeAfter], `"prior":{}`, `"prior":{"anything":[1]}`))
	})
	t.Run("D-WS-1", func(t *testing.T) {
		ev := wantEvent(t, ahp.WorkspaceChangeAfter, events[ahp.WorkspaceChangeAfter])
		if b := ev.Body.(*ahp.WorkspaceChangeBody); b.Change.WorkspaceRoots == nil || len(b.Change.WorkspaceRoots) != 0 {
			t.Errorf("%+v", b)
		}
		badEvent(t, ahp.WorkspaceChangeBefore, edit(t, events[ahp.WorkspaceChangeBefore], `{"cwd":"/x"}`, `{}`), "/workspace/change")
	})
	t.Run("D-FILE-1", func(t *testing.T) {
		wantEvent(t, ahp.FileChanged, edit(t, events[ahp.FileChanged], `true`, `true,"before":`+textPart+`,"after":`+imagePart))
		badEvent(t, ahp.FileChanged, `"changes":[]`, "/changes")
	})
	t.Run("D-LIN-2", func(t *testing.T) {
		badEvent(t, ahp.ToolBefore, toolBits+`,"parentEventId":""`, "/parentEventId")
		if ev := wantEvent(t, ahp.ToolBefore, toolBits+`,"parentEventId":"e-0"`); ev.Parent != "e-0" {
			t.Errorf("%q", ev.Parent)
		}
	})
	t.Run("D-ERR-3", func(t *testing.T) {
		// Each has the faults of all stages from its own on, and the first decides.
		bad := edit(t, validRequest, `"2027-02-03T04:05:06Z"`, `"never"`)
		wantCode(t, bad, ahp.CodeInvalidParams, "/params/event/time")
		bad = edit(t, bad, `["deny"]`, `["deny","deny"]`)
		wantCode(t, bad, ahp.CodeInvalidParams, "/params/capabilities/effects/1")
		bad = edit(t, bad, `"tool.before"`, `"turn.end"`)
		wantCode(t, bad, ahp.CodeUnsupportedEvent, "/params/event/type")
		bad = edit(t, bad, `"draft"`, `"0.1"`)
		wantCode(t, bad, ahp.CodeUnsupportedVersion, "/params/protocolVersion")
		bad = edit(t, bad, `"2.0"`, `"1.0"`)
		wantCode(t, bad, ahp.CodeInvalidRequest, "/jsonrpc")
		bad = edit(t, bad, `"n":1.50`, `"n":01`)
		wantCode(t, bad, ahp.CodeParse, "/params/event/tool")
		wantCode(t, edit(t, edit(t, validRequest, `hooks/intercept`, `hooks/resolve`), `"draft"`, `"0.1"`), ahp.CodeMethodNotFound, "/method")
	})
	t.Run("D-ERR-1", func(t *testing.T) {
		for code, class := range map[string]ahp.FailureClass{"-32001": ahp.FailUnsupported, "-32002": ahp.FailUnsupported, "-32003": ahp.FailRPCError, "-32601": ahp.FailRPCError, "7": ahp.FailRPCError} {
			wantClass(t, `{"jsonrpc":"2.0","id":"e-1","error":{"code":`+code+`,"message":"secret"}}`, class, "/error")
		}
	})
	t.Run("D-ERR-2", func(t *testing.T) {
		for _, s := range []string{edit(t, validRequest, `"2027-02-03T04:05:06Z"`, `"hunter2"`), edit(t, validRequest, `"n":1.50`, `"hunter2":1,"hunter2":2`), edit(t, validRequest, `"name":"run`, `"hunter2":1,"name":"run`)} {
			if _, err := wiredraft.DecodeRequest([]byte(s), wiredraft.Limits{}); err == nil || strings.Contains(err.Error(), "hunter2") {
				t.Errorf("%v", err)
			}
		}
	})
}

func badEventText(t *testing.T, text, pointer string, fine bool) {
	t.Helper()
	_, err := wiredraft.DecodeEvent([]byte(text), wiredraft.Limits{})
	if fine {
		if err != nil {
			t.Errorf("%v\n%s", err, text)
		}
		return
	}
	var e *wiredraft.Error
	if !errors.As(err, &e) || e.Pointer != pointer {
		t.Errorf("%v, want it at %s\n%s", err, pointer, text)
	}
}
