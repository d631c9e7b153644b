package backend

import (
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/wire01"
	"github.com/holdpoint/holdpoint/ahp/wiredraft"
)

// Effects builds the effects of one answer. Each method adds one, in order, or
// refuses: what was not offered, what does not exist at the event, what is not a
// value of the target. Refusals are collected, and [Effects.List] gives them as one
// error, so that a handler calls what it means and checks once:
//
//	e := r.Effects()
//	e.MergeInput(map[string]any{"dryRun": true})
//	e.Notify("The command only shows what it would do.")
//	return e.List()
//
// It is for one goroutine. Values that a method is given are used until the answer
// is written. Where the id of a message or part is empty, it is given a fresh one, in
// a copy (D-CONT-8, D-INJ-2).
type Effects struct {
	v    ahp.Version
	ev   *ahp.Event
	caps ahp.Capabilities
	list []ahp.Effect
	errs []error
}

// Effects returns a builder for the answer to r. Of an observation it refuses
// everything.
func (r *Request) Effects() *Effects {
	return &Effects{v: r.Version, ev: r.Event, caps: r.Capabilities}
}

// List returns the effects, or an error with a line for each refused call that says
// what was offered. The texts hold nothing of event or effects.
func (e *Effects) List() ([]ahp.Effect, error) {
	if len(e.errs) > 0 {
		return nil, fmt.Errorf("effects at %s: %w", e.ev.Type, errors.Join(e.errs...))
	}
	return e.list, nil
}

// Deny refuses the operation (AHP-DEC-002). The reason is for the user or the
// agent; it must not be empty, and holds no secret and no stack trace (D-EFF-5). The
// code is a reverse-DNS name, or empty.
func (e *Effects) Deny(reason, code string) { e.add("Deny", &ahp.Deny{Reason: reason, Code: code}) }

// Allow says that no ordinary prompt is needed (D-EFF-2).
func (e *Effects) Allow() { e.add("Allow", &ahp.Allow{}) }

// Ask says that an approval is needed (D-EFF-3).
func (e *Effects) Ask() { e.add("Ask", &ahp.Ask{}) }

// Notify shows the user a text (D-MSG-1).
func (e *Effects) Notify(text string) { e.add("Notify", &ahp.Notify{Text: text}) }

// Stop ends pending execution and further model work (D-FLOW-2). The reason must
// not be empty (D-FLOW-1).
func (e *Effects) Stop(reason string) { e.add("Stop", &ahp.Stop{Reason: reason}) }

// Continue asks for one more step (D-FLOW-3); the instruction may be empty.
func (e *Effects) Continue(instruction string) {
	e.add("Continue", &ahp.Continue{Instruction: instruction})
}

// MergeInput sets members of the tool's input: top-level members are set whole, and
// null is a value (D-TGT-1). The value is an [ahp.Raw], or anything that encodes as
// a JSON object.
func (e *Effects) MergeInput(v any) { e.object("MergeInput", ahp.TargetInput, ahp.OpMerge, v) }

// ReplaceInput puts v in the place of the tool's whole input, as
// [Effects.MergeInput] takes it.
func (e *Effects) ReplaceInput(v any) { e.object("ReplaceInput", ahp.TargetInput, ahp.OpReplace, v) }

// MergeWorkspace sets members of a proposed workspace: cwd and workspaceRoots
// (workspace.change.before).
func (e *Effects) MergeWorkspace(v any) {
	e.object("MergeWorkspace", ahp.TargetWorkspace, ahp.OpMerge, v)
}

// ReplaceWorkspace puts v in the place of a proposed workspace.
func (e *Effects) ReplaceWorkspace(v any) {
	e.object("ReplaceWorkspace", ahp.TargetWorkspace, ahp.OpReplace, v)
}

// MergeAnswer sets fields of the answer in an accepted form
// (user.elicitation.result, D-EL-12).
func (e *Effects) MergeAnswer(v any) {
	e.object("MergeAnswer", ahp.TargetContent, ahp.OpMerge, v)
}

// ReplaceAnswer puts v in the place of all fields of the answer in an accepted
// form.
func (e *Effects) ReplaceAnswer(v any) {
	e.object("ReplaceAnswer", ahp.TargetContent, ahp.OpReplace, v)
}

// AppendMessages appends to the event's canonical messages: the prompt, request,
// response, output or content, whichever the event has (AHP draft section 9). What
// is there stays (D-TGT-2).
func (e *Effects) AppendMessages(messages ...ahp.Message) {
	e.messages("AppendMessages", ahp.OpMerge, messages)
}

// ReplaceMessages puts these in the place of all the event's canonical messages:
// what is left out is gone, attachments included (D-TGT-2). Keep the ids of what is
// kept.
func (e *Effects) ReplaceMessages(messages ...ahp.Message) {
	e.messages("ReplaceMessages", ahp.OpReplace, messages)
}

// AppendParts appends text parts to the instructions or the summary of a
// compaction.
func (e *Effects) AppendParts(parts ...ahp.Part) { e.parts("AppendParts", ahp.OpMerge, parts) }

// ReplaceParts puts these text parts in the place of the instructions or the
// summary of a compaction.
func (e *Effects) ReplaceParts(parts ...ahp.Part) { e.parts("ReplaceParts", ahp.OpReplace, parts) }

// Return supplies the result in the place of the original work (AHP draft section
// 14): at tool.before an [ahp.Raw] or anything that encodes as JSON, nil included;
// at model.request.before []ahp.Message; at context.compact.before []ahp.Part; at
// user.elicitation.request an object, the complete MCP ElicitResult.
func (e *Effects) Return(v any) {
	var value ahp.Value
	switch kind := ahp.ReturnAt(e.ev.Type); kind {
	case ahp.ValueMessages:
		list, ok := v.([]ahp.Message)
		if !ok {
			e.refuse("Return", "the value is no []ahp.Message")
			return
		}
		value.Messages = named(list)
	case ahp.ValueParts:
		list, ok := v.([]ahp.Part)
		if !ok {
			e.refuse("Return", "the value is no []ahp.Part")
			return
		}
		value.Parts = namedParts(list)
	default: // where nothing can be supplied, that is what add says
		raw, err := encode(v)
		if err != nil {
			e.refuse("Return", err.Error())
			return
		}
		value.JSON = raw
	}
	e.add("Return", &ahp.Return{Value: value})
}

// Inject appends messages to the context (D-INJ-1). Their ids must be new; leave
// them empty to have some made (D-INJ-2).
func (e *Effects) Inject(when ahp.Delivery, messages ...ahp.Message) {
	e.add("Inject", &ahp.Inject{DeliverAt: when, Messages: named(messages)})
}

// InjectText is [Effects.Inject] of one message with one text.
func (e *Effects) InjectText(role ahp.Role, text string, when ahp.Delivery) {
	e.add("InjectText", &ahp.Inject{
		DeliverAt: when, Messages: named([]ahp.Message{{Role: role, Parts: []ahp.Part{ahp.TextPart("", text)}}}),
	})
}

func (e *Effects) object(call string, target ahp.Target, op ahp.Operation, v any) {
	raw, err := encode(v)
	if err != nil {
		e.refuse(call, err.Error())
		return
	}
	e.add(call, &ahp.Modify{Target: target, Operation: op, Value: ahp.Value{JSON: raw}})
}

func (e *Effects) messages(call string, op ahp.Operation, list []ahp.Message) {
	e.add(call, &ahp.Modify{
		Target: targetAt(e.ev.Type, ahp.ValueMessages), Operation: op, Value: ahp.Value{Messages: named(list)},
	})
}

func (e *Effects) parts(call string, op ahp.Operation, list []ahp.Part) {
	e.add(call, &ahp.Modify{
		Target: targetAt(e.ev.Type, ahp.ValueParts), Operation: op, Value: ahp.Value{Parts: namedParts(list)},
	})
}

func (e *Effects) add(call string, f ahp.Effect) {
	list := append(e.list, f)
	err := acceptable(e.v, e.ev, e.caps, list)
	if err == nil { // whether it can be said, the codec knows
		if e.v == ahp.VersionDraft {
			_, err = wiredraft.AppendEffect(nil, f)
		} else {
			_, err = wire01.AppendResult(nil, ahp.Raw(`"a"`), list, nil)
		}
	}
	if err != nil {
		e.refuse(call, err.Error())
		return
	}
	e.list = list
}

func (e *Effects) refuse(call, why string) {
	e.errs = append(e.errs, fmt.Errorf("%s: %s (offered: %s)", call, why, offered(&e.caps)))
}

// targetAt returns the target of that kind at events of type t, or "".
func targetAt(t ahp.EventType, kind ahp.ValueKind) ahp.Target {
	for _, m := range ahp.Bounds(t).Modify {
		if m.Target.At(t) == kind {
			return m.Target
		}
	}
	return ""
}

// named returns the messages with ids in the place of empty ones; not nil. The parts
// of a message that had none are named after it.
func named(list []ahp.Message) []ahp.Message {
	out := make([]ahp.Message, len(list))
	for i, m := range list {
		if m.ID == "" {
			m.ID = "m-" + rand.Text()
			m.Parts = slices.Clone(m.Parts)
			for j := range m.Parts {
				if p := &m.Parts[j]; p.ID == "" {
					p.ID = m.ID + "/" + strconv.Itoa(j)
				}
			}
		}
		m.Parts = namedParts(m.Parts)
		out[i] = m
	}
	return out
}

func namedParts(list []ahp.Part) []ahp.Part {
	out := slices.Clone(list)
	if out == nil {
		out = []ahp.Part{}
	}
	for i := range out {
		if out[i].ID == "" {
			out[i].ID = "p-" + rand.Text()
		}
	}
	return out
}

var errEncode = errors.New("the value does not encode as JSON")

// encode returns v as JSON. The errors of the library name values; ours do not.
func encode(v any) (ahp.Raw, error) {
	raw, ok := v.(ahp.Raw)
	if !ok {
		b, err := json.Marshal(v, json.Deterministic(true))
		if err != nil {
			return nil, errEncode
		}
		return b, nil
	}
	if !jsontext.Value(raw).IsValid() {
		return nil, errEncode
	}
	return raw, nil
}

// offered names what a harness advertised, in the words of the protocol.
func offered(c *ahp.Capabilities) string {
	var list []string
	for _, t := range c.Effects {
		switch {
		case t == ahp.EffectModify:
			for _, m := range c.Modify {
				if m.Replace {
					list = append(list, "modify "+string(m.Target)+" replace")
				}
				if m.Merge {
					list = append(list, "modify "+string(m.Target)+" merge")
				}
			}
		case t == ahp.EffectInject:
			for _, d := range c.Inject {
				list = append(list, "inject "+string(d))
			}
		case t == ahp.EffectFlow && c.Flow != nil:
			if c.Flow.Stop {
				list = append(list, "flow stop")
			}
			if c.Flow.Continue {
				var left int64
				if c.Flow.Remaining != nil {
					left = *c.Flow.Remaining
				}
				list = append(list, fmt.Sprintf("flow continue, %d left", left))
			}
		case t.Core():
			list = append(list, string(t))
		}
	}
	if len(list) == 0 {
		return "nothing"
	}
	return strings.Join(list, "; ")
}
