// Package codex is the hook dialect of the Codex CLI: it turns a hook's stdin
// into an AHP event and a verdict into the answer that the agent honours. The
// recordings of version 0.171.0 are its reference; the contract's section 2
// fills what they do not show.
package codex

import (
	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/native"
	"github.com/holdpoint/holdpoint/native/internal/dialect"
	"github.com/holdpoint/holdpoint/native/refuse"
)

// Agent is the agent's name on a hook client's command line.
const Agent = refuse.Codex

var table = dialect.Dialect{
	Agent: Agent,
	Turn:  "turn_id",
	Events: map[string]ahp.EventType{
		"PreToolUse":   ahp.ToolBefore,
		"PostToolUse":  ahp.ToolAfter, // of failed calls too: the payload does not tell
		"SessionStart": ahp.SessionStart,
		"SessionEnd":   ahp.SessionEnd, // newer versions (NA-CX-10)
	},
	Kinds: map[string]ahp.ToolKind{
		"Bash":        ahp.KindShell, // every shell tool (NA-CX-12)
		"write_stdin": ahp.KindShell, // not seen by hooks in 0.171.0
		"apply_patch": ahp.KindFileEdit,
		"web_search":  ahp.KindFetch,
		"spawn_agent": ahp.KindTask,
	},
	Offers:        offers,
	RewriteAllows: "PreToolUse", // NA-CX-22; recorded: rewrite-noverdict
}

// Decode reads one payload strictly, as the Decode of package claude does; see
// there for the errors. Codex names no workspace root, so NamedRoots is empty.
func Decode(call *native.Call, o native.Options) (*native.Decoded, error) {
	return table.Decode(call, o)
}

// Encode returns what the agent must get, as the Encode of package claude does.
// A denial never has an empty reason: Codex would run the command.
func Encode(event string, v native.Verdict) refuse.Answer { return table.Encode(event, v) }
