package main

import (
	"time"

	"github.com/holdpoint/holdpoint/native/refuse"
)

const (
	failOpen   = "fail-open"
	failClosed = "fail-closed"

	// The agents wait longer: 5 s and more for a tool, 1.5 s in all when a session
	// of Claude Code ends (NA-CC-30).
	defaultTimeout     = 4 * time.Second
	defaultTimeoutPass = time.Second
	minTimeout         = 10 * time.Millisecond
	maxTimeout         = 10 * time.Minute
)

const usage = `usage: holdpoint-hook --failure-policy fail-closed|fail-open [--socket PATH]
                      [--timeout D] [--fallback-exec PATH] AGENT [EVENT]

Hands the hook event on stdin to the Holdpoint gateway and the answer back to
the agent. AGENT is claude-code or codex; EVENT is the agent's own name of the
event, for example PreToolUse.

  --failure-policy P    what happens to an operation that can be refused when no
                        whole, valid answer comes in time: fail-closed refuses
                        it, fail-open lets the agent go on. Required. What is
                        too large to check is refused under both.
  --socket PATH         the gateway's hook socket: absolute, at most 100 bytes,
                        in a folder of mode 0700. Without it: hook.sock in
                        .local/state/holdpoint in the home folder that the user
                        database names. No environment variable is read.
  --timeout D           the time for everything, for example 4s (the default;
                        1s at events that cannot be refused). Set it below the
                        agent's own timeout for the hook.
  --fallback-exec PATH  when the gateway does not answer in half of the time,
                        become "PATH hook AGENT EVENT" with the payload on
                        stdin instead of applying the failure policy.
                        HOLDPOINT_HOOK_POLICY, HOLDPOINT_HOOK_BUDGET_MS and
                        HOLDPOINT_HOOK_SOCKET tell it the policy, the
                        milliseconds left and the socket.
  --help, --version     alone

exit codes:
  0  no objection, or a refusal that is on stdout (PermissionRequest,
     UserPromptSubmit); also every event that cannot be refused, Stop above all
  2  refused (PreToolUse): the reason is on stdout as JSON and on stderr. An
     error on this command line is a refusal, too
  A gateway's answer may bring an exit code of its own.

When the client decides alone it adds a line to hook.spool beside the socket.
`

// options is the command line.
type options struct {
	policy   string
	socket   string
	timeout  time.Duration
	fallback string
	agent    string
	event    string
}

// parse reads the command line and returns what is wrong with it, or "". It reads
// on after a problem: agent and event decide in which form the problem is told.
func (o *options) parse(args []string) (problem string) {
	bad := func(s string) {
		if problem == "" {
			problem = s
		}
	}
	var words []string
	for i := 0; i < len(args); i++ {
		name, value, joined := cut(args[i])
		if len(name) == 0 || name[0] != '-' {
			words = append(words, args[i])
			continue
		}
		switch name {
		case "--failure-policy", "--socket", "--timeout", "--fallback-exec":
		default:
			bad("unknown option.")
			continue
		}
		if !joined {
			if i+1 == len(args) {
				bad(name + " needs a value.")
				break
			}
			i++
			value = args[i]
		}
		switch name {
		case "--failure-policy":
			if value != failOpen && value != failClosed || o.policy != "" {
				bad("--failure-policy is fail-closed or fail-open, once.")
			}
			o.policy = value
		case "--socket":
			if value == "" || o.socket != "" {
				bad("--socket is a path, once.")
			}
			o.socket = value
		case "--timeout":
			d, err := time.ParseDuration(value)
			if err != nil || d < minTimeout || d > maxTimeout || o.timeout != 0 {
				bad("--timeout is a duration from 10ms to 10m, once.")
			} else {
				o.timeout = d
			}
		case "--fallback-exec":
			if value == "" || value[0] != '/' || o.fallback != "" {
				bad("--fallback-exec is an absolute path, once.")
			}
			o.fallback = value
		}
	}
	if len(words) > 0 {
		o.agent = words[0]
	}
	if len(words) > 1 {
		o.event = words[1]
	}
	if o.policy == "" {
		bad("--failure-policy is missing.")
	}
	if len(words) == 0 || len(words) > 2 || !refuse.Known(o.agent) {
		bad("expected claude-code or codex and an event.")
	}
	if o.timeout == 0 {
		o.timeout = defaultTimeout
		if o.event != "" && refuse.Known(o.agent) && !refuse.Refusable(o.agent, o.event) {
			o.timeout = defaultTimeoutPass
		}
	}
	return problem
}

func cut(arg string) (name, value string, joined bool) {
	if len(arg) > 0 && arg[0] == '-' {
		for i := range len(arg) {
			if arg[i] == '=' {
				return arg[:i], arg[i+1:], true
			}
		}
	}
	return arg, "", false
}
