// Package ahp is the Agent Hooks Protocol as data: events, effects,
// capabilities, registrations, failure classes and error codes.
//
// The model is a superset of the protocol's revisions, so that harness, backend,
// policy and adapters share one set of types; the codecs (packages ahp/wire01 and
// ahp/wiredraft) read and write one revision each and reject what their revision
// cannot say ([Event.DraftOnly]). The package does no I/O, reads no clock, and knows
// no JSON: a JSON value that is passed on untouched is a [Raw].
//
// Values of these types are plain data. They are safe for concurrent use as
// long as nobody changes them; whoever shares one stops writing to it.
package ahp
