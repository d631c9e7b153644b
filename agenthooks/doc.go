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
// A host needs few names: [Options] with its [Registration] list, [New],
// [Host.NewSession], [Session.Emit], the event constructors from [Startup] to
// [Shutdown], [Emission] and [BlockedError]. An interceptor needs [Context] and
// [Allow], [Deny], [Escalate], [Warn] or [Rewrite]. Everything else is for
// approval ([Resolver], [Redactor]), streams ([Session.Stream]), identities
// ([IdentityProvider]), labels ([Labels]) and hosts in other languages
// ([Host.EmitJSON], [RawVerdict], [ParseResolution]).
//
// Integers beyond ±(2^53-1) in what the default identity covers are refused,
// not rounded. There are three ways out: carry them as decimal strings, use a
// provider of your own ([CustomIdentity]), or none ([NoIdentity]), which every
// record then shows.
//
// Failures are denies: an interceptor that panics, hangs or answers nonsense,
// a context that cannot be canonicalised, a host without interceptors. The
// reserved reasons say which.
//
// The contract is cooperative. It is no sandbox, it authenticates nobody, and
// it sees only what the host puts through it: model and tool calls run with the
// privilege of the host process (AH-1.4-1, AH-1.4-3).
package agenthooks
