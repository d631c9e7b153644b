// Package agenthooks is a host for the AGENT-HOOKS-0.1 control contract: at
// eight points of an agent's loop it asks interceptors for a verdict, combines
// what they say, and lets the loop go on or not.
//
// A host makes a [Host] with [New], opens a [Session], and calls
// [Session.Emit] before and after each action with an [Event]. A nil error
// means that the action may proceed, with the emission's target; any error
// means that it must not. An [Interceptor] gets a [Context], which nothing can
// change, and answers with a [Verdict]. Each emission leaves one [Record]
// without payload.
//
// Failures are denies: an interceptor that panics, hangs or answers nonsense,
// a context that cannot be canonicalised, a host without interceptors. The
// reserved reasons say which.
//
// The contract is cooperative. It is no sandbox, it authenticates nobody, and
// it sees only what the host puts through it: model and tool calls run with the
// privilege of the host process (AH-1.4-1, AH-1.4-3).
package agenthooks
