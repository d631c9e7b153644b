package dialect

import (
	"strings"
	"unicode/utf8"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/native"
	"github.com/holdpoint/holdpoint/native/refuse"
)

// The bounds on texts for an agent, in bytes. Longer strings are said to be cut by
// the agents themselves (NA-CC-24).
const (
	maxMessageBytes = 4 << 10
	maxContextBytes = 9 << 10
)

// rewritten is the reason of an allow that only carries a changed input.
const rewritten = "The input was changed by policy."

// Encode is the Encode of the adapters. What the agent cannot carry out at the
// event is refused there: an approval that nobody asks for, a change that is
// dropped, would be a permission.
func (d *Dialect) Encode(event string, v native.Verdict) refuse.Answer {
	caps := d.Offers[event].Capabilities
	a := answer{event: event}
	if caps.Allows(ahp.EffectMessage) {
		a.message = joinTexts(v.Messages, true, maxMessageBytes)
	}
	if caps.AllowsInject(ahp.DeliverNow) {
		a.context = joinTexts(v.Context, false, maxContextBytes)
	}
	grants := d.RewriteAllows == event && event != ""
	if v.Input != nil && !caps.AllowsModify(ahp.TargetInput, ahp.OpReplace) && !(grants && v.RewriteAllows) && v.Decision != native.Stopped {
		return d.refusal(&a, v.Reason, "")
	}
	switch v.Decision {
	case native.Proceed:
		if a.input = v.Input; a.input != nil && grants {
			return a.encode("allow", rewritten)
		}
		return a.encode("", "")
	case native.Allowed:
		// An event that has nothing to allow has nothing against it either.
		if a.input = v.Input; a.input != nil && grants {
			return a.encode("allow", rewritten)
		}
		if caps.Allows(ahp.EffectAllow) {
			return a.encode("allow", "")
		}
		return a.encode("", "")
	case native.Ask:
		if caps.Allows(ahp.EffectAsk) {
			a.input = v.Input
			return a.encode("ask", refuse.Line(v.Reason))
		}
	case native.Continued:
		if caps.Flow != nil && caps.Flow.Continue {
			return a.block(refuse.Line(v.Reason))
		}
	case native.Stopped:
		if caps.AllowsStop() {
			return d.refusal(&a, v.Reason, refuse.Line(v.Reason))
		}
	case native.Denied:
	}
	return d.refusal(&a, v.Reason, "")
}

// refusal is the agent's refusal, with what else goes along; stop ends its turn.
func (d *Dialect) refusal(a *answer, reason, stop string) refuse.Answer {
	if a.event == "" {
		return refuse.Bare(reason)
	}
	r, ok := refuse.For(d.Agent, a.event, reason)
	a.context, a.input = "", nil
	switch {
	case ok:
	case d.Blocks[a.event]:
		r = a.block(refuse.Line(reason))
		return refuse.Answer{Stdout: r.Stdout, Stderr: []byte(refuse.Line(reason)), ExitCode: 2}
	case stop == "":
		return a.encode("", "") // nothing can be refused here
	default:
		r = refuse.Answer{Stdout: []byte("{}")}
	}
	// The refusal itself is what was recorded; members behind it change nothing of
	// it (recorded: deny-sysmsg).
	out, sep := r.Stdout[:len(r.Stdout)-1], ", "
	if len(out) == 1 {
		sep = ""
	}
	if stop != "" {
		out = refuse.AppendJSON(append(out, sep+`"continue": false, "stopReason": `...), stop)
		sep = ", "
	}
	if a.message != "" {
		out = refuse.AppendJSON(append(out, sep+`"systemMessage": `...), a.message)
	}
	r.Stdout = append(out, '}')
	return r
}

// answer is one hook's output in the form of the family.
type answer struct {
	event, message, context string
	input                   ahp.Raw
}

// block is the older form, which turn events and compactions take.
func (a *answer) block(reason string) refuse.Answer {
	out := refuse.AppendJSON([]byte(`{"decision": "block", "reason": `), reason)
	if a.message != "" {
		out = refuse.AppendJSON(append(out, `, "systemMessage": `...), a.message)
	}
	return refuse.Answer{Stdout: append(out, '}')}
}

// encode writes an answer that refuses nothing. Nothing to say is no output.
func (a *answer) encode(decision, reason string) refuse.Answer {
	if decision == "" && a.input == nil && a.context == "" && a.message == "" {
		return refuse.Answer{} // never an "allow": it would skip the user's own prompt
	}
	out := []byte{'{'}
	sep := ""
	if decision != "" || a.input != nil || a.context != "" {
		out = append(out, `"hookSpecificOutput": {"hookEventName": "`+a.event+`"`...)
		switch {
		case decision == "":
		case a.event == "PermissionRequest":
			out = append(out, `, "decision": {"behavior": "`+decision+`"}`...)
		default:
			out = append(out, `, "permissionDecision": "`+decision+`"`...)
			if reason != "" {
				out = refuse.AppendJSON(append(out, `, "permissionDecisionReason": `...), reason)
			}
		}
		if a.input != nil {
			out = append(append(out, `, "updatedInput": `...), a.input...)
		}
		if a.context != "" {
			out = refuse.AppendJSON(append(out, `, "additionalContext": `...), a.context)
		}
		out, sep = append(out, '}'), ", "
	}
	if a.message != "" {
		out = refuse.AppendJSON(append(out, sep+`"systemMessage": `...), a.message)
	}
	return refuse.Answer{Stdout: append(out, '}')}
}

// joinTexts joins texts, fit to show, and cuts the whole at a character: on one line,
// or as paragraphs. Some come from backends, which may write anything.
func joinTexts(texts []string, oneLine bool, limit int) string {
	if len(texts) == 0 {
		return ""
	}
	sep := "\n\n"
	if oneLine {
		sep = " "
	}
	var b strings.Builder
	more := false // than what was looked at
	for i, t := range texts {
		if i > 0 {
			b.WriteString(sep)
		}
		if more = len(t) > 2*limit; more { // line ends may get shorter, all else longer
			t = t[:2*limit]
		}
		b.WriteString(refuse.Text(t, oneLine))
		if b.Len() > limit {
			break
		}
	}
	s := b.String()
	if len(s) <= limit && !more {
		return s
	}
	end := min(len(s), limit-len("…"))
	for end < len(s) && !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end] + "…"
}
