package hookwire

import (
	"slices"
	"strconv"
	"unicode/utf8"
)

// Header is what the client knows of an event without reading the payload. The
// gateway takes it as a hint: what the payload says comes first. Texts that are
// not UTF-8 are left out when a header is written.
type Header struct {
	Version int    // the sender's frame version; written as [Version] whatever it is here
	Client  string // the client's release, for diagnosis
	Agent   string // the agent's name on the command line, for example "claude-code"
	Event   string // the native event's name on the command line; may be empty

	// BudgetMs is how many milliseconds the client goes on waiting from the
	// moment it sends. 0 means that it did not say.
	BudgetMs int64

	CWD string // the client's working directory; may be empty

	// Env holds the agent's project variables ([ProjectVariables]) that are set.
	Env map[string]string

	ParentPID int // the process that started the client; 0 when unknown
	// ParentStart tells two processes of one number apart: clock ticks since boot
	// on Linux, microseconds since 1970 on macOS, 0 when unknown.
	ParentStart int64

	Cut bool // CWD or Env was left out because the header would not fit
}

// The agents that the client and the gateway know by name.
const (
	AgentClaudeCode = "claude-code"
	AgentCodex      = "codex"
)

// ProjectVariables lists the environment variables that the client forwards for
// an agent. They name the project; nothing else of the environment leaves the
// client. Codex has none (its environment may hold another agent's: NA-CX-32).
func ProjectVariables(agent string) []string {
	if agent == AgentClaudeCode {
		return []string{"CLAUDE_PROJECT_DIR"}
	}
	return nil
}

// maxHeaderMembers bounds the members of a header and of its env object.
const maxHeaderMembers = 64

func appendHeaderBounded(dst []byte, h *Header) ([]byte, error) {
	start := len(dst)
	x := *h
	for step := 0; ; step++ {
		dst = appendHeader(dst[:start], &x)
		size := len(dst) - start
		switch {
		case size <= MaxHeaderBytes:
			return dst, nil
		case step == 0: // the payload names the working directory as well
			x.CWD, x.Cut = "", true
		case step == 1:
			x.Env = nil
		default:
			return dst[:start], &TooLargeError{"header", int64(size), MaxHeaderBytes}
		}
	}
}

// appendHeader writes JSON by hand: a JSON package would cost every tool call
// more at start-up than it saves here.
func appendHeader(dst []byte, h *Header) []byte {
	dst = append(dst, `{"version":`...)
	dst = strconv.AppendInt(dst, Version, 10)
	dst = appendMember(dst, `,"client":`, h.Client)
	dst = appendMember(dst, `,"agent":`, h.Agent)
	dst = appendMember(dst, `,"event":`, h.Event)
	dst = appendNumber(dst, `,"budgetMs":`, h.BudgetMs)
	dst = appendMember(dst, `,"cwd":`, h.CWD)
	open := false
	for _, name := range ProjectVariables(h.Agent) {
		value, ok := h.Env[name]
		if !ok || !utf8.ValidString(value) {
			continue
		}
		if !open {
			dst, open = append(dst, `,"env":{`...), true
		} else {
			dst = append(dst, ',')
		}
		dst = append(appendString(dst, name), ':')
		dst = appendString(dst, value)
	}
	if open {
		dst = append(dst, '}')
	}
	dst = appendNumber(dst, `,"parentPid":`, int64(h.ParentPID))
	dst = appendNumber(dst, `,"parentStart":`, h.ParentStart)
	if h.Cut {
		dst = append(dst, `,"cut":true`...)
	}
	return append(dst, '}')
}

func appendMember(dst []byte, name, value string) []byte {
	if value == "" || !utf8.ValidString(value) {
		return dst
	}
	return appendString(append(dst, name...), value)
}

func appendNumber(dst []byte, name string, n int64) []byte {
	if n <= 0 {
		return dst
	}
	return strconv.AppendInt(append(dst, name...), n, 10)
}

// appendString writes valid UTF-8 as a JSON string.
func appendString(dst []byte, s string) []byte {
	const hex = "0123456789abcdef"
	dst = append(dst, '"')
	for i := 0; i < len(s); i++ {
		switch c := s[i]; {
		case c == '"' || c == '\\':
			dst = append(dst, '\\', c)
		case c < 0x20 || c == 0x7f:
			dst = append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
		default:
			dst = append(dst, c)
		}
	}
	return append(dst, '"')
}

// parseHeader reads the header strictly. Members that it does not know are
// skipped, so that a newer client is served; everything else must be as written.
func parseHeader(b []byte, h *Header) error {
	s := scanner{b: b}
	version := int64(0) // version 0 did not write the member
	ok := s.object(func(name string) bool {
		switch name {
		case "version":
			return s.count(&version)
		case "client":
			return s.text(&h.Client)
		case "agent":
			return s.text(&h.Agent)
		case "event":
			return s.text(&h.Event)
		case "budgetMs":
			return s.count(&h.BudgetMs)
		case "cwd":
			return s.text(&h.CWD)
		case "env":
			return s.object(func(name string) bool {
				var value string
				if !s.text(&value) {
					return false
				}
				if h.Env == nil {
					h.Env = map[string]string{}
				}
				h.Env[name] = value
				return true
			})
		case "parentPid":
			var n int64
			if !s.count(&n) || n > 1<<31-1 {
				return false
			}
			h.ParentPID = int(n)
			return true
		case "parentStart":
			return s.count(&h.ParentStart)
		case "cut":
			return s.boolean(&h.Cut)
		}
		return s.skip(maxSkipDepth)
	})
	if !ok || !s.end() || version > 1<<31-1 {
		*h = Header{}
		return ErrMalformed
	}
	h.Version = int(version)
	for name := range h.Env {
		if !forwarded(h.Agent, name) {
			delete(h.Env, name)
		}
	}
	return nil
}

func forwarded(agent, name string) bool {
	return slices.Contains(ProjectVariables(agent), name)
}
