package wiredraft_test

import (
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/wiredraft"
)

// textTargets are the boundaries whose target is a list.
var listTargets = []struct {
	at     ahp.EventType
	target ahp.Target
}{
	{ahp.TurnStart, ahp.TargetPrompt},
	{ahp.MessageInbound, ahp.TargetPrompt},
	{ahp.ModelRequestBefore, ahp.TargetRequest},
	{ahp.ModelResponseAfter, ahp.TargetResponse},
	{ahp.TurnFinishBefore, ahp.TargetResponse},
	{ahp.ToolAfter, ahp.TargetOutput},
	{ahp.MessageOutbound, ahp.TargetContent},
	{ahp.CompactBefore, ahp.TargetInstructions},
	{ahp.CompactAfter, ahp.TargetSummary},
}

func modify(target ahp.Target, op, value string) string {
	return `{"type":"modify","target":"` + string(target) + `","operation":"` + op + `","value":` + value + `}`
}

// fits is a value that fits a list target.
func fits(at ahp.EventType, target ahp.Target) string {
	switch {
	case target.At(at) == ahp.ValueParts:
		return `[` + textPart + `]`
	case at == ahp.MessageOutbound:
		return `[{"id":"m","role":"assistant","parts":[` + textPart + `]}]`
	}
	return `[` + userMsg + `]`
}

func TestEffectRules(t *testing.T) {
	t.Run("AHP-CONTENT-001", func(t *testing.T) {
		badEvent(t, ahp.TurnStart, edit(t, events[ahp.TurnStart], `"kind":"text"`, `"kind":"json"`), "/items/0/parts/0/kind")
		badEvent(t, ahp.TurnStart, edit(t, events[ahp.TurnStart], `"text":"t"`, `"text":{"a":1}`), "/items/0/parts/0/text")
		badEvent(t, ahp.TurnStart, edit(t, events[ahp.TurnStart], `"text/plain"`, `"application/json"`), "/items/0/parts/0/mediaType")
		badEvent(t, ahp.TurnStart, edit(t, events[ahp.TurnStart], `"kind":"text"`, `"role":"user","kind":"text"`), "/items/0/parts/0/role")
		ev := wantEvent(t, ahp.TurnStart, events[ahp.TurnStart])
		if m := ev.Messages[0]; m.Role != ahp.RoleUser || *m.Parts[0].Text != "t" {
			t.Errorf("%+v", m)
		}
	})
	t.Run("D-CONT-1", func(t *testing.T) {
		var list []string
		for i := range 20 {
			list = append(list, strings.ReplaceAll(userMsg, `"id":"m"`, `"id":"m`+strconv.Itoa(19-i)+`"`))
		}
		ev := wantEvent(t, ahp.CompactBefore, edit(t, events[ahp.CompactBefore], `[]`, `[`+strings.Join(list, ",")+`]`))
		for i, m := range ev.Messages {
			if m.ID != "m"+strconv.Itoa(19-i) {
				t.Errorf("message %d is %s", i, m.ID)
			}
		}
	})
	t.Run("D-CONT-2", func(t *testing.T) {
		badEvent(t, ahp.ModelRequestBefore, edit(t, events[ahp.ModelRequestBefore], userMsg, `{"role":"user","content":"hi"}`), "/items/0/content")
	})
	t.Run("D-CONT-3", func(t *testing.T) {
		badEvent(t, ahp.TurnStart, edit(t, events[ahp.TurnStart], `"text":"t"`, `"body":{"ref":"r"}`), "/items/0/parts/0/body")
	})
	t.Run("D-CONT-4", func(t *testing.T) {
		image := edit(t, events[ahp.TurnStart], textPart, imagePart)
		if ev := wantEvent(t, ahp.TurnStart, image); ev.Messages[0].Parts[0].Ref != "r" {
			t.Errorf("%+v", ev.Messages)
		}
		for _, s := range []string{`{"ref":"r","size":1}`, `{"ref":"r","sha256":"` + strings.Repeat("0", 64) + `"}`, `{}`, `{"ref":""}`, `"r"`} {
			if _, err := wiredraft.DecodeEvent([]byte(event(ahp.TurnStart, edit(t, image, `{"ref":"r"}`, s))), wiredraft.Limits{}); err == nil {
				t.Errorf("%s accepted", s)
			}
		}
	})
	t.Run("D-CONT-7", func(t *testing.T) {
		ev := wantEvent(t, ahp.ModelResponseAfter, edit(t, events[ahp.ModelResponseAfter], `"items":[]`, `"items":[{"id":"m","role":"assistant","parts":[`+edit(t, textPart, `"kind"`, `"category":"reasoning","kind"`)+`]}]`))
		if p := ev.Messages[0].Parts[0]; p.Category != ahp.CategoryReasoning {
			t.Errorf("%+v", p)
		}
	})
	t.Run("D-SEL-4", func(t *testing.T) {
		const hash = `"sha256":"` + "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef" + `"`
		for _, kind := range []string{`"kind":"text","mediaType":"text/plain"`, `"kind":"attachment","mediaType":"image/png"`} {
			for form, ok := range map[string]bool{
				`"selection":"metadata"`: true, `"selection":"omit"`: true, `"selection":"metadata","size":1,` + hash: true, `"selection":"body","gap":{"reason":"r"},"size":0`: true,
				`"selection":"body","gap":{"reason":"r","path":"p"},"category":"c"`: true, `"selection":"metadata","text":"t"`: false, `"selection":"omit","text":"t"`: false,
				`"selection":"metadata","body":{"ref":"r"}`: false, `"selection":"omit","gap":{"reason":"r"}`: false, `"selection":"body"`: false, `"selection":"body","gap":{"reason":"r"},"text":"t"`: false,
				`"selection":"body","gap":{}`: false, `"selection":"body","gap":{"reason":"r","x":1}`: false, `"selection":"metadata","size":-1`: false, `"selection":"metadata","sha256":"0"`: false, `"selection":"metadata","category":""`: false, `"selection":"none"`: false,
			} {
				part := `{"id":"p",` + kind + `,` + form + `}`
				_, err := wiredraft.DecodeEvent([]byte(event(ahp.ToolBefore, toolBits+`,"items":[`+part+`]`)), wiredraft.Limits{})
				if (err == nil) != ok {
					t.Errorf("%s: %v", part, err)
				}
			}
		}
		for _, s := range []string{`"text":"t","size":1`, `"text":"t",` + hash} {
			badEvent(t, ahp.ToolBefore, toolBits+`,"items":[`+edit(t, textPart, `"text":"t"`, s)+`]`, "/items/0/"+strings.Split(strings.Split(s, ",")[1], `"`)[1])
		}
	})
	t.Run("D-SEL-5", func(t *testing.T) {
		ev := wantEvent(t, ahp.ToolBefore, toolBits+`,"items":[{"id":"p","kind":"text","mediaType":"text/plain","selection":"body","gap":{"reason":"not permitted"}}]`)
		if p := ev.Parts[0]; p.Gap == nil || p.Gap.Reason != "not permitted" || !p.Hidden() {
			t.Errorf("%+v", p)
		}
	})
	t.Run("AHP-CAP-001", func(t *testing.T) {
		for _, at := range ahp.DraftEvents() {
			for _, x := range []string{`{"type":"deny","reason":"r"}`, `{"type":"allow"}`, `{"type":"ask"}`, `{"type":"message","text":"t"}`, `{"type":"return","value":null}`, `{"type":"flow","operation":"stop","reason":"r"}`} {
				_, f := wiredraft.DecodeResponse([]byte(result(x)), "e-1", at, &ahp.Capabilities{}, wiredraft.Limits{})
				if f == nil || f.Class != ahp.FailInvalidEffect {
					t.Errorf("at %s, nothing offered: %s gives %v", at, x, f)
				}
			}
		}
	})
	t.Run("AHP-CAP-002", func(t *testing.T) {
		wantCode(t, intercept(validEvent, `{}`), ahp.CodeInvalidParams, "/params/capabilities/effects")
		wantCode(t, edit(t, validRequest, `,"capabilities":{"effects":["deny"]}`, ``), ahp.CodeInvalidParams, "/params/capabilities")
		if m := wantRequest(t, validRequest); !m.Capabilities.Allows(ahp.EffectDeny) {
			t.Errorf("%v", m.Capabilities)
		}
	})
	t.Run("D-CAP-2", func(t *testing.T) {
		caps := ahp.Capabilities{Effects: []ahp.EffectType{ahp.EffectModify}, Modify: []ahp.ModifyCapability{{Target: ahp.TargetInput, Merge: true}}}
		for op, ok := range map[string]bool{"merge": true, "replace": false} {
			_, f := wiredraft.DecodeResponse([]byte(result(modify(ahp.TargetInput, op, `{}`))), "e-1", ahp.ToolBefore, &caps, wiredraft.Limits{})
			if (f == nil) != ok {
				t.Errorf("%s: %v", op, f)
			}
		}
	})
	t.Run("D-CAP-5", func(t *testing.T) {
		m := wantRequest(t, intercept(validEvent, `{"effects":["modify"],"modify":{"input":{"replace":false,"merge":true,"prepend":true}},"retry":{"times":3}}`))
		if c := m.Capabilities; c.AllowsModify(ahp.TargetInput, ahp.OpReplace) || !c.AllowsModify(ahp.TargetInput, ahp.OpMerge) || c.AllowsModify(ahp.TargetInput, "prepend") {
			t.Errorf("%+v", c)
		}
		for _, caps := range []string{
			`{"effects":["modify"]}`, `{"effects":[],"modify":{"input":{"replace":true,"merge":true}}}`, `{"effects":["modify"],"modify":{}}`, `{"effects":["modify"],"modify":{"input":{"replace":false,"merge":false}}}`,
			`{"effects":["modify"],"modify":{"input":{"merge":true}}}`, `{"effects":["modify"],"modify":{"input":{"replace":1,"merge":true}}}`, `{"effects":["flow"]}`, `{"effects":["flow"],"flow":{"operations":[]}}`,
			`{"effects":["flow"],"flow":{"operations":["stop","stop"]}}`, `{"effects":["flow"],"flow":{"operations":["pause"]}}`, `{"effects":["flow"],"flow":{}}`, `{"effects":[],"flow":{"operations":["stop"]}}`,
			`{"effects":["inject"]}`, `{"effects":["inject"],"inject":{}}`, `{"effects":["inject"],"inject":{"context":{"append":false,"deliverAt":["now"]}}}`, `{"effects":["inject"],"inject":{"context":{"append":true,"deliverAt":[]}}}`,
			`{"effects":["inject"],"inject":{"context":{"append":true,"deliverAt":["now","now"]}}}`, `{"effects":["inject"],"inject":{"context":{"append":true}}}`, `{"effects":["deny","deny"]}`, `{"effects":["com.example.mask"]}`,
			`{"effects":["mask"]}`, `{"effects":[1]}`, `{"effects":"deny"}`, `[]`, `{"effects":[],"elicitation":{"form":true}}`, `{"effects":[],"elicitation":[]}`,
		} {
			if _, err := wiredraft.DecodeRequest([]byte(intercept(validEvent, caps)), wiredraft.Limits{}); err == nil || err.Code != ahp.CodeInvalidParams || !strings.HasPrefix(err.Pointer, "/params/capabilities") {
				t.Errorf("%s: %v", caps, err)
			}
		}
	})
	t.Run("D-CAP-7", func(t *testing.T) {
		finish := event(ahp.TurnFinishBefore, events[ahp.TurnFinishBefore])
		for flow, ok := range map[string]bool{
			`{"operations":["continue"],"remainingContinuations":1,"continuationCount":0}`: true, `{"operations":["continue"],"remainingContinuations":1}`: false,
			`{"operations":["continue"],"continuationCount":0}`: false, `{"operations":["stop"]}`: true, `{"operations":["stop"],"maxContinuations":-1}`: false,
		} {
			_, err := wiredraft.DecodeRequest([]byte(intercept(finish, `{"effects":["flow"],"flow":`+flow+`}`)), wiredraft.Limits{})
			if (err == nil) != ok {
				t.Errorf("%s: %v", flow, err)
			}
		}
	})
	t.Run("D-CAP-8", func(t *testing.T) {
		targets := []ahp.Target{"input", "output", "prompt", "request", "response", "content", "instructions", "summary", "workspace"}
		for _, at := range ahp.DraftEvents() {
			if !at.Interceptable(ahp.VersionDraft) {
				continue
			}
			b, ev := ahp.Bounds(at), event(at, events[at])
			offer := func(caps string) bool {
				_, err := wiredraft.DecodeRequest([]byte(intercept(ev, caps)), wiredraft.Limits{})
				if err != nil && (err.Code != ahp.CodeInvalidParams || err.Pointer != "/params/capabilities") {
					t.Errorf("at %s: %s: %v", at, caps, err)
				}
				return err == nil
			}
			for _, e := range []ahp.EffectType{"deny", "allow", "ask", "message", "return"} {
				if offer(`{"effects":["`+string(e)+`"]}`) != b.Allows(e) {
					t.Errorf("at %s: %s", at, e)
				}
			}
			for _, x := range targets {
				if offer(`{"effects":["modify"],"modify":{"`+string(x)+`":{"replace":true,"merge":false}}}`) != b.AllowsModify(x, ahp.OpReplace) {
					t.Errorf("at %s: modify %s", at, x)
				}
			}
			if offer(`{"effects":["flow"],"flow":{"operations":["stop"]}}`) != b.AllowsStop() {
				t.Errorf("at %s: stop", at)
			}
			if offer(`{"effects":["flow"],"flow":{"operations":["continue"],"remainingContinuations":1,"continuationCount":0}}`) != (b.Flow != nil && b.Flow.Continue) {
				t.Errorf("at %s: continue", at)
			}
			if offer(`{"effects":["inject"],"inject":{"context":{"append":true,"deliverAt":["now"]}}}`) != b.AllowsInject(ahp.DeliverNow) {
				t.Errorf("at %s: inject", at)
			}
		}
		// The encoder holds the same bounds.
		if _, err := wiredraft.AppendIntercept(nil, wantEvent(t, ahp.TaskChangeBefore, events[ahp.TaskChangeBefore]), &ahp.Capabilities{Effects: []ahp.EffectType{ahp.EffectReturn}}, nil, nil); err == nil {
			t.Error("written")
		}
	})
	t.Run("D-CAP-9", func(t *testing.T) {
		wantCode(t, intercept(event(ahp.TaskChangeBefore, events[ahp.TaskChangeBefore]), `{"effects":["return"]}`), ahp.CodeInvalidParams, "/params/capabilities")
	})
	t.Run("AHP-DEC-001", func(t *testing.T) {
		list := wantEffects(t, ahp.ToolBefore, `{"type":"message","text":"1"},{"type":"deny","reason":"2","code":"a.b"},{"type":"message","text":"3"},{"type":"allow"}`)
		if len(list) != 4 || list[0].(*ahp.Notify).Text != "1" || list[1].(*ahp.Deny).Reason != "2" || list[2].(*ahp.Notify).Text != "3" || list[3].Type() != ahp.EffectAllow {
			t.Errorf("%v", list)
		}
		wantClass(t, edit(t, result(""), `,"effects":[]`, ``), ahp.FailMissingField, "/result/effects")
		for _, s := range []string{`null`, `{}`, `"deny"`, `7`} {
			wantClass(t, edit(t, result(""), `[]`, s), ahp.FailInvalidEffect, "/result/effects")
		}
		wantClass(t, result(`7`), ahp.FailInvalidEffect, "/result/effects/0")
		wantClass(t, result(`{}`), ahp.FailInvalidEffect, "/result/effects/0/type")
	})
	t.Run("AHP-DEC-003", func(t *testing.T) {
		list, f := wiredraft.DecodeResponse([]byte(result("")), "e-1", ahp.ToolBefore, all(ahp.ToolBefore), wiredraft.Limits{})
		if f != nil || list == nil || len(list) != 0 {
			t.Errorf("%v, %v", list, f)
		}
		out, err := wiredraft.AppendResult(nil, ahp.Raw(`"e-1"`), ahp.ToolBefore, all(ahp.ToolBefore), nil, nil)
		if err != nil || string(out) != result("") {
			t.Errorf("%v: %s", err, out)
		}
	})
	t.Run("D-EFF-4", func(t *testing.T) {
		for _, v := range []string{`null`, `false`, `0`, `""`, `{"a":1.50}`, `[]`} {
			list := wantEffects(t, ahp.ToolBefore, `{"type":"return","value":`+v+`}`)
			if got := string(list[0].(*ahp.Return).Value.JSON); got != v {
				t.Errorf("%s became %s", v, got)
			}
		}
		badEffects(t, ahp.ToolBefore, `{"type":"return"}`)
		if _, err := wiredraft.AppendResult(nil, ahp.Raw(`1`), ahp.ToolBefore, nil, []ahp.Effect{&ahp.Return{}}, nil); err == nil {
			t.Error("a return without a value was written")
		}
	})
	t.Run("D-EFF-7", func(t *testing.T) {
		badEffects(t, ahp.ToolBefore, `{"type":"com.example.mask"}`)
	})
	t.Run("D-EFF-8", func(t *testing.T) {
		if list := wantEffects(t, ahp.ToolBefore, `{"type":"deny","reason":"a"},{"type":"deny","reason":"b"}`); len(list) != 2 {
			t.Errorf("%v", list)
		}
	})
	t.Run("AHP-EDIT-001", func(t *testing.T) {
		for _, x := range listTargets {
			for _, op := range []string{"replace", "merge"} {
				list := wantEffects(t, x.at, modify(x.target, op, fits(x.at, x.target)))
				v := list[0].(*ahp.Modify).Value
				if v.JSON != nil || len(v.Messages)+len(v.Parts) != 1 {
					t.Errorf("at %s: %+v", x.at, v)
				}
			}
		}
		for at, target := range map[ahp.EventType]ahp.Target{ahp.ToolBefore: "input", ahp.ToolPermissionRequest: "input", ahp.ElicitationResult: "content", ahp.WorkspaceChangeBefore: "workspace"} {
			value := `{"cwd":"/x"}`
			if list := wantEffects(t, at, modify(target, "replace", value)); string(list[0].(*ahp.Modify).Value.JSON) != value {
				t.Errorf("at %s: %v", at, list[0])
			}
			badEffects(t, at, modify(target, "merge", `[]`))
		}
	})
	t.Run("D-TGT-3", func(t *testing.T) {
		badEffects(t, ahp.MessageInbound, modify("prompt", "merge", `[{"id":"m","role":"assistant","parts":[]}]`))
		badEffects(t, ahp.MessageOutbound, modify("content", "merge", `[`+userMsg+`]`))
		for _, v := range []string{`{}`, `{"x":1}`, `{"cwd":null}`, `{"cwd":""}`, `{"workspaceRoots":["a","a"]}`} {
			badEffects(t, ahp.WorkspaceChangeBefore, modify("workspace", "replace", v))
		}
		wantEffects(t, ahp.WorkspaceChangeBefore, modify("workspace", "merge", `{}`))
	})
	t.Run("D-TGT-4", func(t *testing.T) {
		badEffects(t, ahp.MessageOutbound, modify("content", "merge", `{}`))
		badEffects(t, ahp.ElicitationResult, modify("content", "merge", `[{"id":"m","role":"assistant","parts":[]}]`))
	})
	t.Run("D-TGT-5", func(t *testing.T) {
		for _, x := range listTargets {
			for _, v := range []string{`{"a":1}`, `"text"`, `null`, `7`, `[7]`, `[{"role":"user","content":"hi"}]`} {
				badEffects(t, x.at, modify(x.target, "replace", v))
			}
			if x.target.At(x.at) == ahp.ValueMessages {
				badEffects(t, x.at, modify(x.target, "merge", `[`+textPart+`]`))
			} else {
				badEffects(t, x.at, modify(x.target, "merge", `[`+userMsg+`]`))
			}
		}
	})
	t.Run("D-TGT-6", func(t *testing.T) {
		badEffects(t, ahp.ToolAfter, modify("output", "merge", `{"written":3}`))
	})
	t.Run("D-TGT-7", func(t *testing.T) {
		badEffects(t, ahp.CompactAfter, modify("summary", "merge", `[`+imagePart+`]`))
		badEffects(t, ahp.CompactBefore, modify("instructions", "merge", `[`+imagePart+`]`))
		badEffects(t, ahp.ToolAfter, modify("output", "merge", `[{"id":"m","role":"tool","parts":[`+edit(t, imagePart, `"body":{"ref":"r"}`, `"text":"new"`)+`]}]`))
	})
	t.Run("D-TGT-8", func(t *testing.T) {
		list := wantEffects(t, ahp.ToolAfter, modify("output", "replace", `[{"id":"m","role":"tool","parts":[`+imagePart+`]}]`))
		if p := list[0].(*ahp.Modify).Value.Messages[0].Parts[0]; p.Ref != "r" {
			t.Errorf("%+v", p)
		}
	})
	t.Run("D-TGT-11", func(t *testing.T) {
		badEffects(t, ahp.SessionStart, modify("instructions", "merge", `[`+textPart+`]`))
		badEffects(t, ahp.ElicitationRequest, modify("request", "merge", `{}`))
		badEffects(t, ahp.ConfigChangeBefore, modify("workspace", "merge", `{}`))
	})
	t.Run("D-RET-1", func(t *testing.T) {
		ret := func(v string) string { return `{"type":"return","value":` + v + `}` }
		for at, values := range map[ahp.EventType][2]string{
			ahp.ModelRequestBefore: {`[` + userMsg + `]`, `{}`}, ahp.CompactBefore: {`[` + textPart + `]`, `[` + userMsg + `]`}, ahp.ElicitationRequest: {`{"action":"accept","content":{"a":["b"]}}`, `{"content":{}}`},
		} {
			wantEffects(t, at, ret(values[0]))
			badEffects(t, at, ret(values[1]))
			badEffects(t, at, ret(`null`))
		}
		for _, at := range []ahp.EventType{ahp.TaskChangeBefore, ahp.ToolAfter, ahp.TurnStart} {
			badEffects(t, at, ret(`null`))
		}
	})
	t.Run("D-FLOW-1", func(t *testing.T) {
		badEffects(t, ahp.ToolBefore, `{"type":"flow","operation":"stop"}`)
		badEffects(t, ahp.ToolBefore, `{"type":"flow","operation":"stop","reason":""}`)
		list := wantEffects(t, ahp.ToolAfter, `{"type":"flow","operation":"continue"},{"operation":"continue","instruction":"i","type":"flow"},{"type":"flow","operation":"stop","reason":"r"}`)
		if list[0].(*ahp.Continue).Instruction != "" || list[1].(*ahp.Continue).Instruction != "i" || list[2].(*ahp.Stop).Reason != "r" {
			t.Errorf("%v", list)
		}
		badEffects(t, ahp.ToolAfter, `{"type":"flow","operation":"continue","instruction":""}`)
	})
	t.Run("D-FLOW-4", func(t *testing.T) {
		caps := all(ahp.ToolAfter)
		zero := int64(0)
		caps.Flow.Remaining = &zero
		if _, f := wiredraft.DecodeResponse([]byte(result(`{"type":"flow","operation":"continue"}`)), "e-1", ahp.ToolAfter, caps, wiredraft.Limits{}); f == nil || f.Class != ahp.FailInvalidEffect {
			t.Errorf("%v", f)
		}
	})
	t.Run("D-FLOW-6", func(t *testing.T) {
		for _, at := range ahp.DraftEvents() {
			frame := []byte(result(`{"type":"flow","operation":"continue"}`))
			_, f := wiredraft.DecodeResponse(frame, "e-1", at, nil, wiredraft.Limits{})
			if want := at == ahp.TurnFinishBefore || at == ahp.ToolAfter; (f == nil) != want {
				t.Errorf("at %s: %v", at, f)
			}
		}
	})
	t.Run("D-INJ-1", func(t *testing.T) {
		caps := ahp.Capabilities{Effects: []ahp.EffectType{ahp.EffectInject}, Inject: []ahp.Delivery{ahp.DeliverNextTurn}}
		for when, ok := range map[string]bool{"now": false, "next_turn": true} {
			x := `{"type":"inject","target":"context","operation":"append","deliverAt":"` + when + `","value":[` + userMsg + `]}`
			_, f := wiredraft.DecodeResponse([]byte(result(x)), "e-1", ahp.ToolBefore, &caps, wiredraft.Limits{})
			if (f == nil) != ok {
				t.Errorf("%s: %v", when, f)
			}
		}
		badEffects(t, ahp.ToolBefore, `{"type":"inject","target":"context","operation":"append","value":[]}`)
		badEffects(t, ahp.ToolBefore, `{"type":"inject","target":"context","operation":"append","deliverAt":"now","value":[{"text":"loose"}]}`)
		list := wantEffects(t, ahp.ToolBefore, `{"value":[`+userMsg+`],"deliverAt":"now","operation":"append","target":"context","type":"inject"}`)
		if x := list[0].(*ahp.Inject); x.DeliverAt != ahp.DeliverNow || len(x.Messages) != 1 {
			t.Errorf("%+v", x)
		}
	})
	t.Run("D-STAGE-2", func(t *testing.T) {
		for _, bad := range []string{`{"type":"later"}`, `{"type":"allow","x":1}`, `{"type":"modify","target":"input","operation":"merge","value":7}`, `7`} {
			badEffects(t, ahp.ToolBefore, `{"type":"deny","reason":"r"},`+bad)
			badEffects(t, ahp.ToolBefore, bad+`,{"type":"deny","reason":"r"}`)
		}
	})
	t.Run("D-DISC-4", func(t *testing.T) {
		m := edit(t, capabilitiesResult, `"gaps"`, `"identity":{},"gaps"`)
		if _, f := wiredraft.DecodeCapabilitiesResponse([]byte(m), ahp.Raw(`7`), wiredraft.Limits{}); f == nil || f.Pointer != "/result/manifest/identity" {
			t.Errorf("%v", f)
		}
	})
	t.Run("D-DISC-5", func(t *testing.T) {
		m, f := wiredraft.DecodeCapabilitiesResponse([]byte(capabilitiesResult), ahp.Raw(`7.0`), wiredraft.Limits{})
		if f != nil {
			t.Fatal(f)
		}
		if m.Covers(ahp.ToolAfter, ahp.ModeObserve) || !m.Covers(ahp.ToolBefore, ahp.ModeIntercept) || m.Limits.MaxTimeoutMs != nil || *m.Limits.MinTimeoutMs != 1 {
			t.Errorf("%+v", m)
		}
		out, err := wiredraft.AppendCapabilitiesResult(nil, ahp.Raw(`7`), m)
		if err != nil || string(out) != capabilitiesResult {
			t.Errorf("%v\n%s\n%s", err, out, capabilitiesResult)
		}
		for _, name := range []string{"events", "gaps", "transports", "authentication", "toolPaths", "contentCategories", "limits", "managedPolicy", "correlationIdentityFields"} {
			doc := parse(t, []byte(plainManifest)).(map[string]any)
			delete(doc, name)
			if p, kind := wiredraft.Lint("m.json", mustJSON(doc), wiredraft.KindManifest, wiredraft.LintOptions{}); len(p) != 1 || p[0].Pointer != "/"+name || kind != wiredraft.KindManifest {
				t.Errorf("without %s: %v", name, p)
			}
		}
		for old, now := range map[string]string{
			`["observe","intercept"]`: `[]`, `"tool.before"`: `"tool.later"`, `["deny"]`: `["deny","flow"]`, `"http"`: `"grpc"`, `"bearer"`: `"mtls"`, `["native"]`: `["native","native"]`, `["text"]`: `[""]`,
			`:1}`: `:-1}`, `["user"]`: `["managed"]`, `true}`: `"true"}`, `["id"]`: `"id"`, `"reason":"r"`: `"why":"r"`,
		} {
			if p, _ := wiredraft.Lint("m.json", []byte(edit(t, plainManifest, old, now)), wiredraft.KindManifest, wiredraft.LintOptions{}); len(p) == 0 {
				t.Errorf("%s accepted", now)
			}
		}
		for _, e := range []string{`{"event":"turn.end","modes":["intercept"],"capabilities":{"effects":[]}}`, `{"event":"tool.before","modes":["intercept"]}`, `{"event":"turn.end","modes":["observe"],"capabilities":{"effects":["deny"]}}`} {
			if p, _ := wiredraft.Lint("m.json", []byte(edit(t, plainManifest, `"events":[`, `"events":[`+e+`,`)), wiredraft.KindManifest, wiredraft.LintOptions{}); len(p) == 0 {
				t.Errorf("%s accepted", e)
			}
		}
	})
	t.Run("AHP-AUTH-001", func(t *testing.T) {
		for _, s := range []string{"mtls", "workload"} {
			if p, _ := wiredraft.Lint("m.json", []byte(edit(t, plainManifest, `"bearer"`, `"`+s+`"`)), wiredraft.KindManifest, wiredraft.LintOptions{}); len(p) == 0 {
				t.Errorf("a manifest with %s", s)
			}
			badReg(t, edit(t, portable, `{"type":"bearer","tokenEnv":"TOK"}`, `{"type":"`+s+`"}`), wiredraft.RegOptions{}, "/hooks/0/authentication/type")
		}
	})
}

const capabilitiesResult = `{"jsonrpc":"2.0","id":7,"result":{"protocolVersion":"draft","manifest":` + plainManifest + `}}`

func TestElicitationRules(t *testing.T) {
	quote := func(s string) string { return string(mustJSON(s)) }
	form := `{"message":"Which day?","requestedSchema":{"type":"object","properties":{"day":{"type":"string","format":"date"},"n":{"type":"integer","minimum":1,"maximum":3},` +
		`"kind":{"type":"string","enum":["a","b"],"enumNames":["A","B"]},"many":{"type":"array","items":{"anyOf":[{"const":"x","title":"X"}]},"maxItems":1},"yes":{"type":"boolean","default":true}},"required":["day"]}}`
	url := `{"mode":"url","message":"m","url":"https://h.example/x","elicitationId":"i"}`
	request := func(mode, text string) string {
		return `"elicitation":{"server":"s","mode":"` + mode + `","request":` + edit(t, textPart, `"text":"t"`, `"text":`+quote(text)) + `}`
	}
	answer := func(mode, action, text string) string {
		return `"elicitation":{"server":"s","mode":"` + mode + `","action":"` + action + `","result":` + edit(t, textPart, `"text":"t"`, `"text":`+quote(text)) + `}`
	}
	badRequest := func(t *testing.T, mode, text string) {
		t.Helper()
		badEvent(t, ahp.ElicitationRequest, request(mode, text), "/elicitation/request/text")
	}
	badAnswer := func(t *testing.T, mode, action, text string) {
		t.Helper()
		badEvent(t, ahp.ElicitationResult, answer(mode, action, text), "/elicitation/result/text")
	}
	t.Run("D-EL-1", func(t *testing.T) {
		wantEvent(t, ahp.ElicitationRequest, events[ahp.ElicitationRequest])
		badEvent(t, ahp.ElicitationRequest, `"elicitation":{"server":"s","mode":"form","request":[`+textPart+`]}`, "/elicitation/request")
		badEvent(t, ahp.ElicitationRequest, `"elicitation":{"server":"s","mode":"form","request":`+imagePart+`}`, "/elicitation/request/kind")
		badEvent(t, ahp.ElicitationRequest, `"elicitation":{"server":"s","mode":"form","request":`+userMsg+`}`, "/elicitation/request/role")
		badRequest(t, "form", `{"jsonrpc":"2.0","method":"elicitation/create","params":`+form+`}`)
		for _, s := range []string{"metadata", "omit"} {
			wantEvent(t, ahp.ElicitationRequest, `"elicitation":{"server":"s","mode":"form","request":{"id":"p","kind":"text","mediaType":"text/plain","selection":"`+s+`"}}`)
		}
		// The whole value is kept as it was written.
		ev := wantEvent(t, ahp.ElicitationRequest, request("form", " "+form+"\n"))
		if got := *ev.Body.(*ahp.ElicitationBody).Content.Text; got != " "+form+"\n" {
			t.Errorf("%q", got)
		}
	})
	t.Run("D-EL-2", func(t *testing.T) {
		wantEvent(t, ahp.ElicitationRequest, request("form", form))
		wantEvent(t, ahp.ElicitationRequest, request("form", edit(t, form, `"message"`, `"_meta":{"progressToken":7,"x":1},"task":{"ttl":5,"y":2},"other":null,"message"`)))
		wantEvent(t, ahp.ElicitationRequest, request("url", url))
		for _, s := range []string{`{`, `7`, `{} {}`, `{"message":"m"}`, `{"requestedSchema":{"type":"object","properties":{}}}`, `{"message":"a","message":"b","requestedSchema":{"type":"object","properties":{}}}`, ``} {
			badRequest(t, "form", s)
		}
		for _, p := range []string{
			`{"type":"object","properties":{}}`, `{"type":"string","pattern":"x"}`, `{"type":"string","minimum":1}`, `{"type":"number","minLength":1}`, `{"type":"boolean","enum":["a"]}`, `{"type":"string","format":"ipv4"}`, `{"type":"array"}`,
			`{"type":"array","items":{"type":"number","enum":[]}}`, `{"type":"array","items":{"enum":["a"]}}`, `{"type":"string","oneOf":[{"const":"a"}]}`, `{"type":"string","oneOf":[{"const":"a","title":"A","x":1}]}`, `{"type":"string","enum":[1]}`,
			`{"type":"string","enumNames":["a"]}`, `{"type":"string","enum":["a"],"oneOf":[]}`, `{"type":"integer","default":"1"}`, `{"type":"string","default":1}`, `{"type":"boolean","default":"true"}`, `{"type":"array","items":{"type":"string","enum":[]},"default":"x"}`,
			`{"title":"t"}`, `7`, `{"type":"string","minLength":"1"}`, `{"type":"string","enum":["a"],"minLength":1}`,
		} {
			badRequest(t, "form", `{"message":"m","requestedSchema":{"type":"object","properties":{"a":`+p+`}}}`)
		}
		for _, p := range []string{
			`{"type":"string","title":"t","description":"d","default":"x","minLength":1,"maxLength":2,"format":"email"}`, `{"type":"number","minimum":0.5,"maximum":2,"default":1}`, `{"type":"integer"}`, `{"type":"boolean","default":false}`,
			`{"type":"string","enum":["a"],"default":"a"}`, `{"type":"string","oneOf":[{"const":"a","title":"A"}]}`, `{"type":"string","enum":["a"],"enumNames":["A"]}`, `{"type":"array","items":{"type":"string","enum":["a"]},"minItems":0,"maxItems":1,"default":["a"]}`,
			`{"type":"array","items":{"anyOf":[{"const":"a","title":"A"}]}}`,
		} {
			wantEvent(t, ahp.ElicitationRequest, request("form", `{"message":"m","requestedSchema":{"$schema":"s","type":"object","properties":{"a":`+p+`}}}`))
		}
		for _, s := range []string{`{"mode":"url","message":"m","url":"x y","elicitationId":"i"}`, `{"mode":"url","message":"m","elicitationId":"i"}`, `{"mode":"url","message":"m","url":"https://h/"}`, `{"mode":"url","message":"m","url":"https://h/","elicitationId":1}`} {
			badRequest(t, "url", s)
		}
	})
	t.Run("D-EL-3", func(t *testing.T) {
		wantEvent(t, ahp.ElicitationRequest, request("form", edit(t, form, `"message"`, `"mode":"form","message"`)))
		badRequest(t, "url", form)
		badRequest(t, "form", url)
		badRequest(t, "form", edit(t, form, `"message"`, `"mode":"voice","message"`))
		badEvent(t, ahp.ElicitationRequest, `"elicitation":{"server":"s"}`, "/elicitation/mode")
	})
	t.Run("D-EL-4", func(t *testing.T) {
		wantEvent(t, ahp.ElicitationResult, answer("form", "decline", `{"action":"decline","_meta":{}}`))
		badAnswer(t, "form", "accept", `{"action":"decline"}`)
		badAnswer(t, "form", "cancel", `{"action":"later"}`)
		badAnswer(t, "form", "cancel", `{}`)
	})
	t.Run("D-EL-5", func(t *testing.T) {
		wantEvent(t, ahp.ElicitationResult, answer("form", "accept", `{"action":"accept","content":{"a":"x","b":1.5,"c":true,"d":["y"]}}`))
		wantEvent(t, ahp.ElicitationResult, answer("url", "accept", `{"action":"accept"}`))
		badAnswer(t, "form", "decline", `{"action":"decline","content":{}}`)
		badAnswer(t, "form", "cancel", `{"action":"cancel","content":{}}`)
		badAnswer(t, "url", "accept", `{"action":"accept","content":{}}`)
		for _, s := range []string{`{"a":null}`, `{"a":{}}`, `{"a":[1]}`, `[]`, `"x"`} {
			badAnswer(t, "form", "accept", `{"action":"accept","content":`+s+`}`)
		}
		ev := wantEvent(t, ahp.ElicitationRequest, request("form", form))
		for content, ok := range map[string]bool{
			`{"day":"2027-05-09"}`: true, `{"day":"2027-05-09","n":2,"kind":"a","many":["x"],"yes":false,"more":"x"}`: true, `{}`: false, `{"day":"soon"}`: false, `{"day":7}`: false, `{"day":"2027-05-09","n":4}`: false,
			`{"day":"2027-05-09","n":1.5}`: false, `{"day":"2027-05-09","kind":"c"}`: false, `{"day":"2027-05-09","many":["y"]}`: false, `{"day":"2027-05-09","many":["x","x"]}`: false, `{"day":"2027-05-09","yes":"true"}`: false,
		} {
			list := wantEffects(t, ahp.ElicitationRequest, `{"type":"return","value":{"action":"accept","content":`+content+`}}`)
			if f := misfit(ev, list); (f == nil) != ok {
				t.Errorf("%s: %v", content, f)
			}
		}
		for _, value := range []string{`{"action":"decline"}`, `{"action":"cancel"}`} {
			if f := misfit(ev, wantEffects(t, ahp.ElicitationRequest, `{"type":"return","value":`+value+`}`)); f != nil {
				t.Errorf("%s: %v", value, f)
			}
		}
		inURL := wantEvent(t, ahp.ElicitationRequest, request("url", url))
		for value, ok := range map[string]bool{`{"action":"accept"}`: true, `{"action":"accept","content":{}}`: false} {
			if f := misfit(inURL, wantEffects(t, ahp.ElicitationRequest, `{"type":"return","value":`+value+`}`)); (f == nil) != ok {
				t.Errorf("%s: %v", value, f)
			}
		}
	})
	t.Run("D-EL-10", func(t *testing.T) {
		for caps, want := range map[string][2]bool{`{}`: {false, false}, `{"form":{}}`: {true, false}, `{"url":{},"form":{"x":1}}`: {true, true}} {
			m := wantRequest(t, intercept(event(ahp.ElicitationRequest, events[ahp.ElicitationRequest]), `{"effects":[],"elicitation":`+caps+`}`))
			e := m.Capabilities.Elicitation
			if e == nil || (e.Form != nil) != want[0] || (e.URL != nil) != want[1] {
				t.Errorf("%s: %+v", caps, e)
			}
		}
	})
	t.Run("D-EL-11", func(t *testing.T) {
		var got []ahp.EffectType
		for _, at := range []ahp.EventType{ahp.ElicitationRequest, ahp.ElicitationResult} {
			got = append(got, ahp.Bounds(at).Effects...)
		}
		if !slices.Equal(got, []ahp.EffectType{"deny", "return", "message", "modify", "message"}) {
			t.Errorf("%v", got)
		}
		change := wantEffects(t, ahp.ElicitationResult, modify("content", "merge", `{"a":"b"}`))
		for members, ok := range map[string]bool{
			answer("form", "accept", `{"action":"accept","content":{}}`): true, answer("form", "decline", `{"action":"decline"}`): false, answer("url", "accept", `{"action":"accept"}`): false,
		} {
			if f := misfit(wantEvent(t, ahp.ElicitationResult, members), change); (f == nil) != ok {
				t.Errorf("%s: %v", members, f)
			}
		}
	})
	t.Run("D-EL-12", func(t *testing.T) {
		for _, v := range []string{`[]`, `"x"`, `{"a":{}}`, `{"a":null}`, `{"a":[1]}`} {
			badEffects(t, ahp.ElicitationResult, modify("content", "replace", v))
		}
	})
	t.Run("D-EL-13", func(t *testing.T) {
		hidden := `{"id":"p","kind":"text","mediaType":"text/plain","selection":"metadata"}`
		ev := wantEvent(t, ahp.ElicitationRequest, `"elicitation":{"server":"s","mode":"form","request":`+hidden+`}`)
		if f := misfit(ev, wantEffects(t, ahp.ElicitationRequest, `{"type":"return","value":{"action":"cancel"}}`)); f == nil {
			t.Error("a result for a request that was not shown")
		}
		ev = wantEvent(t, ahp.ElicitationResult, `"elicitation":{"server":"s","mode":"form","action":"accept","result":`+hidden+`}`)
		if f := misfit(ev, wantEffects(t, ahp.ElicitationResult, modify("content", "merge", `{}`))); f == nil {
			t.Error("a change of a result that was not shown")
		}
		if f := misfit(ev, wantEffects(t, ahp.ElicitationResult, `{"type":"message","text":"t"}`)); f != nil {
			t.Error(f)
		}
	})
}

// misfit is what the first effect that does not fit the event has against it.
func misfit(ev *ahp.Event, effects []ahp.Effect) error {
	for _, e := range effects {
		if err := wiredraft.CheckEffect(ev, e); err != nil {
			return err
		}
	}
	return nil
}
