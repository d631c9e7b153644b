// Package refuse holds the one copy of each agent's refusal: which of its hook
// events can be refused, and the bytes and exit code that refuse one. It is bytes
// only and imports nothing, for the hook client links it.
//
// The forms are those that recorded agents were seen to honour, byte for byte.
// Small changes turn some of them into a permission: Codex runs the command when
// a denial has an empty reason, one member more, a second line or exit code 1.
// So a form is a constant and only the reason varies.
package refuse

import "unicode/utf8"

// The agents whose dialects are known.
const (
	ClaudeCode = "claude-code"
	Codex      = "codex"
)

// Default is the reason that stands in for an empty one.
const Default = "This operation was refused by policy."

// MaxReasonBytes bounds the line that [Line] returns.
const MaxReasonBytes = 1024

// An Answer is what a hook leaves behind for its agent. The zero Answer is the
// agents' form of "no objection": no output and exit code 0.
type Answer struct {
	Stdout   []byte
	Stderr   []byte
	ExitCode int
}

// Known reports whether agent is one of the agents above.
func Known(agent string) bool { return agent == ClaudeCode || agent == Codex }

// Refusable reports whether a hook of agent can stop the operation at event and
// was seen, or is documented, to do so. Stop and SubagentStop are not: refusing
// an end keeps the agent running.
func Refusable(agent, event string) bool {
	if !Known(agent) {
		return false
	}
	switch event {
	case "PreToolUse", "PermissionRequest", "UserPromptSubmit":
		return true
	}
	return false
}

// Where returns the event at which an agent stands when its hook's command line
// says one thing and the payload another; either may be empty. The payload is
// right, for the agent wrote it, and a hook that was installed for PreToolUse but
// stands at Stop must not block. A name in the payload that is not known outranks
// nothing that can be refused: it may be such an event under a new name.
func Where(agent, commandLine, payload string) string {
	if payload == "" || Refusable(agent, commandLine) && !knownEvent(payload) {
		return commandLine
	}
	return payload
}

// knownEvent reports whether event is in the contract's lists (NA-CC-10,
// NA-CX-10).
func knownEvent(event string) bool {
	switch event {
	case "PreToolUse", "PermissionRequest", "UserPromptSubmit",
		"SessionStart", "Setup", "UserPromptExpansion", "PermissionDenied", "PostToolUse", "PostToolUseFailure",
		"PostToolBatch", "Notification", "MessageDisplay", "SubagentStart", "SubagentStop", "TaskCreated",
		"TaskCompleted", "TeammateIdle", "Stop", "StopFailure", "InstructionsLoaded", "ConfigChange", "CwdChanged",
		"DirectoryAdded", "FileChanged", "WorktreeCreate", "WorktreeRemove", "PreCompact", "PostCompact",
		"Elicitation", "ElicitationResult", "SessionEnd", "PreModelSwitch", "PostModelSwitch", "Interrupt":
		return true
	}
	return false
}

// For returns the refusal of event with the given reason, made fit to show by
// [Line]. The second result is false, and the answer says "no objection", when
// the event cannot be refused.
//
//   - PreToolUse, both agents: JSON denial, the reason on stderr, exit code 2
//     (recorded: deny-robust). Each of the three survives the loss of another.
//   - PermissionRequest: JSON denial and exit code 0; exit code 2 does nothing
//     there (recorded on Claude Code: permreq-deny; NA-CC-21, NA-CX-25).
//   - UserPromptSubmit: JSON block and exit code 0 (recorded: prompt-block).
func For(agent, event, reason string) (Answer, bool) {
	if !Refusable(agent, event) {
		return Answer{}, false
	}
	line := Line(reason)
	var head, tail string
	switch event {
	case "PreToolUse":
		head = `{"hookSpecificOutput": {"hookEventName": "PreToolUse", "permissionDecision": "deny", "permissionDecisionReason": `
		tail = `}}`
	case "PermissionRequest":
		head = `{"hookSpecificOutput": {"hookEventName": "PermissionRequest", "decision": {"behavior": "deny", "message": `
		tail = `}}}`
	case "UserPromptSubmit":
		head, tail = `{"decision": "block", "reason": `, `}`
	}
	out := make([]byte, 0, len(head)+len(line)+len(tail)+2)
	out = append(out, head...)
	out = AppendJSON(out, line)
	out = append(out, tail...)
	if event != "PreToolUse" {
		return Answer{Stdout: out}, true
	}
	return Answer{Stdout: out, Stderr: []byte(line), ExitCode: 2}, true
}

// Bare returns the refusal for an event that is not known: exit code 2 and the
// reason on stderr, which every agent with an exit code dialect takes as a
// refusal where there is something to refuse.
func Bare(reason string) Answer {
	return Answer{Stderr: []byte(Line(reason)), ExitCode: 2}
}

// Line makes a reason fit to show: one line of at most [MaxReasonBytes] bytes,
// never empty, in which line ends and tabs are spaces and every other control,
// format or bidirectional character is written out as its number. It never
// starts like JSON, which some agents would read as an answer (contract 0.2).
func Line(reason string) string {
	const more = "…"
	out := make([]byte, 0, min(len(reason)+16, MaxReasonBytes))
	space := false
	for i, r := range reason {
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(reason[i:]); n == 1 {
				r = '?'
			}
		}
		if blank(r) {
			space = len(out) > 0
			continue
		}
		var piece [16]byte
		p := piece[:0]
		if space {
			p = append(p, ' ')
		}
		if len(out) == 0 && jsonStart(r) {
			p = append(p, "Reason: "...)
		}
		if hidden(r) {
			p = appendNumber(p, r)
		} else {
			p = utf8.AppendRune(p, r)
		}
		if len(out)+len(p) > MaxReasonBytes-len(more) {
			out = append(out, more...)
			break
		}
		out = append(out, p...)
		space = false
	}
	if len(out) == 0 {
		return Default
	}
	return string(out)
}

// Text makes a text fit to show: what changes how its neighbours look or cannot be
// seen is written out as its number, as in [Line]. Lines stay lines, unless oneLine;
// then their ends and tabs are spaces.
func Text(s string, oneLine bool) string {
	out := make([]byte, 0, len(s)+16)
	for i, r := range s {
		if r == utf8.RuneError {
			if _, n := utf8.DecodeRuneInString(s[i:]); n == 1 {
				r = '?'
			}
		}
		switch {
		case r == '\r' && i+1 < len(s) && s[i+1] == '\n':
			continue
		case r == '\r', r == 0x85, r == 0x2028, r == 0x2029:
			r = '\n'
		}
		switch {
		case r == '\n' || r == '\t':
			if oneLine {
				r = ' '
			}
			out = append(out, byte(r))
		case hidden(r):
			out = appendNumber(out, r)
		default:
			out = utf8.AppendRune(out, r)
		}
	}
	return string(out)
}

func blank(r rune) bool {
	switch r {
	case ' ', '\n', '\r', '\t', 0x85, 0xa0, 0x1680, 0x2028, 0x2029, 0x202f, 0x205f, 0x3000:
		return true
	}
	return 0x2000 <= r && r <= 0x200a
}

func jsonStart(r rune) bool {
	return r == '{' || r == '[' || r == '"'
}

// hidden reports whether r changes how its neighbours look or cannot be seen.
func hidden(r rune) bool {
	switch {
	case r < 0x20, 0x7f <= r && r < 0xa0: // controls
	case r == 0xad, r == 0x34f, r == 0x61c, r == 0x115f, r == 0x1160, r == 0x17b4, r == 0x17b5, r == 0x3164, r == 0xffa0:
	case 0x600 <= r && r <= 0x605, r == 0x6dd, r == 0x70f, r == 0x890, r == 0x891, r == 0x8e2: // format characters of scripts
	case r == 0x110bd, r == 0x110cd, 0x13430 <= r && r <= 0x1343f, 0x1bca0 <= r && r <= 0x1bca3, 0x1d173 <= r && r <= 0x1d17a:
	case 0x180b <= r && r <= 0x180f:
	case 0x200b <= r && r <= 0x200f, 0x202a <= r && r <= 0x202e, 0x2060 <= r && r <= 0x206f:
	case 0xfe00 <= r && r <= 0xfe0f, r == 0xfeff, 0xfff0 <= r && r <= 0xfffb:
	case 0xe000 <= r && r <= 0xf8ff: // private use
	case 0xe0000 <= r: // tags, variation selectors, private planes
	default:
		return false
	}
	return true
}

const digits = "0123456789abcdef"

func appendNumber(dst []byte, r rune) []byte {
	dst = append(dst, "U+"...)
	started := false
	for shift := 20; shift >= 0; shift -= 4 {
		d := r >> shift & 15
		if d != 0 || started || shift < 16 {
			dst, started = append(dst, digits[d]), true
		}
	}
	return dst
}

// AppendJSON writes s, which must be UTF-8, as a JSON string of ASCII, as the
// recorded answers are.
func AppendJSON(dst []byte, s string) []byte {
	dst = append(dst, '"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case 0x20 <= r && r < 0x7f:
			dst = append(dst, byte(r))
		case r > 0xffff:
			r -= 0x10000
			dst = appendUnit(appendUnit(dst, 0xd800+r>>10), 0xdc00+r&0x3ff)
		default:
			dst = appendUnit(dst, r)
		}
	}
	return append(dst, '"')
}

func appendUnit(dst []byte, u rune) []byte {
	return append(dst, '\\', 'u', digits[u>>12&15], digits[u>>8&15], digits[u>>4&15], digits[u&15])
}
