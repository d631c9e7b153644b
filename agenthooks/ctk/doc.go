// Package ctk is a conformance test kit for hosts of the AGENT-HOOKS-0.1
// control contract (AH 13).
//
// A [Vector] is one hermetic test case: a scripted model, tools, interceptors
// and a resolver, and what has to come of them. [Load] reads a folder of them
// and refuses what it does not understand whole; [Builtin] is the kit's own
// set. [Run] plays vectors against a [Host]: [Reference] is the host of this
// project, [Process] any program in any language that speaks the line protocol
// of docs/conform-host.md, and [Serve] is the other end of that protocol.
//
// A result says that a host kept the contract under test. It is no statement
// about the security of anything that runs on it (AH-1.4-2).
package ctk
