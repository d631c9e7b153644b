// Command holdpoint-hook is what a coding agent starts for each of its hook
// events. It copies the payload to the gateway and the agent's own answer back,
// and knows two things itself for when no answer comes in time: at which event it
// stands, and how a refusal looks there. It keeps its imports few: every tool
// call pays for its start.
package main

import (
	"os"
	"time"

	"github.com/holdpoint/holdpoint/hookwire"
	"github.com/holdpoint/holdpoint/native/refuse"
)

// release is the release's name; a build sets it with -ldflags "-X main.release=…".
var release = "dev"

func main() { os.Exit(run(os.Args[1:])) }

// A client is one run.
type client struct {
	options
	start    time.Time
	deadline time.Time // absolute, and over everything, the reading of stdin included

	buf   []byte // room for the frame's prefix, then the payload
	whole bool   // the payload was read to its end
	wrote bool   // something has gone to stdout
}

// The texts that a model may see. They say nothing of the machine (V-FAIL-3).
const (
	textNoAnswer = "A required policy service did not give a usable answer, so this operation was refused."
	textTooLarge = "This operation is too large to be checked, so it was refused. Do it in smaller steps."
	textUsage    = "The policy hook is not configured correctly, so this operation was refused: "
	textFault    = "The policy hook failed, so this operation was refused."
)

func run(args []string) (code int) {
	c := &client{start: time.Now()}
	defer func() {
		if recover() != nil {
			code = c.fault()
		}
	}()
	if len(args) == 1 {
		switch args[0] {
		case "--help", "-h":
			return c.print(usage)
		case "--version":
			return c.print("holdpoint-hook " + release + "\n")
		}
	}
	problem := c.parse(args)
	c.deadline = c.start.Add(c.timeout)
	testHook("parsed")
	if problem != "" {
		// The payload may say where the agent stands, and an agent that cannot get
		// rid of it may call the hook failed.
		c.readStdin()
		return c.decide(hookwire.CauseUsage, textUsage+problem)
	}
	if cause := c.readStdin(); cause != "" {
		if cause == hookwire.CausePayloadTooLarge {
			return c.decide(cause, textTooLarge)
		}
		return c.decide(cause, textNoAnswer)
	}
	testHook("read")
	a, cause := c.ask()
	testHook("asked")
	if cause == "" {
		return c.deliver(a)
	}
	if cause == hookwire.CausePayloadTooLarge {
		return c.decide(cause, textTooLarge)
	}
	return c.decide(cause, textNoAnswer)
}

// payload is what was read of stdin.
func (c *client) payload() []byte {
	if len(c.buf) <= hookwire.PrefixBytes {
		return nil
	}
	return c.buf[hookwire.PrefixBytes:]
}

// where returns the event at which the agent stands, or "".
func (c *client) where() string {
	if c.whole {
		if name, ok := hookwire.EventName(c.payload()); ok {
			return refuse.Where(c.agent, c.event, name)
		}
	}
	return c.event
}

// deliver hands the gateway's answer to the agent.
func (c *client) deliver(a *hookwire.Answer) int {
	write(2, a.Stderr)
	c.wrote = len(a.Stdout) > 0
	testHook("delivering")
	if write(1, a.Stdout) || a.ExitCode != 0 || !refuse.Refusable(c.agent, c.where()) {
		return int(a.ExitCode)
	}
	// What the agent did not take may have been a refusal.
	return c.decide(hookwire.CauseStdoutFailed, textNoAnswer)
}

// decide answers without the gateway, and notes that it did.
func (c *client) decide(cause hookwire.Cause, reason string) int {
	where := c.where()
	forced := cause == hookwire.CauseUsage || cause == hookwire.CausePayloadTooLarge || cause == hookwire.CausePanic ||
		cause == hookwire.CauseStdoutFailed // an answer came, so this is no outage
	if c.fallback != "" && c.whole && !forced {
		c.execFallback(where) // returns only when it could not
		cause = hookwire.CauseFallbackFailed
	}
	answer, refusable := refusal(c.agent, where, reason)
	outcome := hookwire.OutcomePassed
	if refusable {
		outcome = hookwire.OutcomeOpened
		if forced || c.policy != failOpen {
			outcome = hookwire.OutcomeRefused
		}
	}
	code := 0
	if outcome == hookwire.OutcomeRefused {
		// stderr first: with the exit code it refuses even where stdout is lost. A
		// second text on stdout would spoil the first.
		write(2, answer.Stderr)
		code = answer.ExitCode
		told := !c.wrote
		if told && len(answer.Stdout) > 0 {
			c.wrote = true
			told = write(1, answer.Stdout)
		}
		if !told && code == 0 {
			bare := refuse.Bare(reason)
			write(2, bare.Stderr)
			code = bare.ExitCode
		}
	}
	c.note(where, cause, outcome)
	return code
}

// refusal returns the form in which agent takes a refusal at event, and whether
// there is something to refuse. An event or an agent that is not known gets the
// form that needs neither.
func refusal(agent, event, reason string) (refuse.Answer, bool) {
	if event == "" {
		return refuse.Bare(reason), true
	}
	if !refuse.Known(agent) {
		return refuse.Bare(reason), refuse.Refusable(refuse.ClaudeCode, event)
	}
	return refuse.For(agent, event, reason)
}

// fault is the way out of a panic: closed, whatever the policy.
func (c *client) fault() (code int) {
	code = 2
	defer func() {
		// A second panic. At an event that cannot be refused exit code 2 would
		// keep the agent running.
		if recover() != nil && c.event != "" && !refuse.Refusable(c.agent, c.event) {
			code = 0
		}
	}()
	testHook("fault")
	return c.decide(hookwire.CausePanic, textFault)
}

// print is for people.
func (c *client) print(s string) int {
	if !write(1, []byte(s)) {
		return 1
	}
	return 0
}
