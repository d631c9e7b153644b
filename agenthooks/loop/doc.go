// Package loop is an agent loop under the AGENT-HOOKS-0.1 control contract. It
// asks a [Model], runs the [Tool] calls that the answer holds, and repeats until
// the model answers with content alone; each step goes through its interception
// point, a transform counts at every one of them, and what was denied lives on
// nowhere (AH 3, AH 6).
//
// An Agent is made with [New] and holds no state of a conversation. [Agent.Open]
// starts a session, [Session.Turn] answers one request, [Session.Close] ends it.
//
// The loop is the reference host of the conformance kit, and small enough to be
// read by whoever writes a host of his own. Model and tools run with the
// privilege of the process; nothing here contains them (AH-1.4-3).
package loop
