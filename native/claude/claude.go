// Package claude is the hook dialect of Claude Code: it turns a hook's stdin into
// an AHP event and a verdict into the answer that the agent honours. The
// recordings of version 2.1.332 are its reference; the contract's section 1
// fills what they do not show.
package claude

import (
	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/native"
	"github.com/holdpoint/holdpoint/native/internal/dialect"
	"github.com/holdpoint/holdpoint/native/refuse"
)

// Agent is the agent's name on a hook client's command line.
const Agent = refuse.ClaudeCode

var table = dialect.Dialect{
	Agent:      Agent,
	Turn:       "prompt_id",
	ProjectVar: "CLAUDE_PROJECT_DIR",
	Events: map[string]ahp.EventType{
		"PreToolUse":         ahp.ToolBefore,
		"PostToolUse":        ahp.ToolAfter,
		"PostToolUseFailure": ahp.ToolError,
		"SessionStart":       ahp.SessionStart,
		"SessionEnd":         ahp.SessionEnd,
	},
	Kinds: map[string]ahp.ToolKind{
		"Bash":         ahp.KindShell,
		"PowerShell":   ahp.KindShell,
		"Monitor":      ahp.KindShell, // recorded: it runs a command line
		"Read":         ahp.KindFileRead,
		"NotebookRead": ahp.KindFileRead,
		"Write":        ahp.KindFileWrite,
		"Edit":         ahp.KindFileEdit,
		"MultiEdit":    ahp.KindFileEdit,
		"NotebookEdit": ahp.KindFileEdit,
		"Glob":         ahp.KindSearch,
		"Grep":         ahp.KindSearch,
		"LS":           ahp.KindSearch,
		"ToolSearch":   ahp.KindSearch,
		"WebFetch":     ahp.KindFetch,
		"WebSearch":    ahp.KindFetch,
		"Agent":        ahp.KindTask,
		"Task":         ahp.KindTask,
	},
	// The four reasons for which a person or a program ends a session as meant;
	// whatever else comes is unknown.
	Ends: map[string]ahp.Outcome{
		"clear":             ahp.OutcomeCompleted,
		"logout":            ahp.OutcomeCompleted,
		"prompt_input_exit": ahp.OutcomeCompleted,
		"resume":            ahp.OutcomeCompleted,
	},
	Offers: offers,
	Blocks: map[string]bool{"PreCompact": true},
}

// Decode reads one payload strictly: UTF-8, no duplicate names, nothing after the
// object, within the limits of o. Members that it does not know are ignored. The
// result is never nil.
//
// The error is an [*ahp.Failure] of class [ahp.FailEvent] with a JSON pointer:
// what the event itself causes is refused whatever the failure policy says. It is
// one when a member that the event must have is missing or has another type, and
// when the payload's event can be refused but the command line names another
// event. Whoever gets it answers with Encode and the zero verdict, which refuses
// exactly where a refusal is possible.
func Decode(call *native.Call, o native.Options) (*native.Decoded, error) {
	return table.Decode(call, o)
}

// Encode returns what the agent must get for the event that [native.Decoded]
// names. A verdict other than proceed is a refusal where the event can be refused
// and nothing where it cannot, Stop above all. An empty event name means that
// neither payload nor command line gave one, and is refused in the form that
// needs no name.
func Encode(event string, v native.Verdict) refuse.Answer { return table.Encode(event, v) }
