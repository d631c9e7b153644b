// Package settle is the settlement of one operation as a pure state machine,
// and the record that a settlement leaves behind.
//
// A [Chain] is the accepted state. [Chain.Apply] takes one backend's effects or
// its failure, checks them whole, and gives the next state; nothing of a
// rejected answer gets into it. [Chain.Settlement] is the outcome. The zero
// value of each of these types refuses, so that a forgotten step is never a
// permission.
//
// Revision draft has a [Boundary] in the place of the chain: responses are lists of
// effects, which are staged, checked whole and taken at once (AHP draft sections 9 to
// 16). [Boundary.Event] is the effective event and [Boundary.State] what the next
// backend is told. A [Settlement] then has more states than proceed and denied, of
// which an open ask is a refusal until [Settlement.Approve] is given the operation
// that was approved. [Withholds] says what a host holds back after a refusal where
// nothing is left to be denied.
//
// Which effects are acceptable is said once. Package ahp has the tables: what may be
// offered at a boundary, and of which sort its values are. Package wiredraft has what a
// text says by itself: closed shapes, and whether an answer fits the form of MCP that it
// is for. All that hangs on the event, on what was shown of it and on what a response
// leads to is here, for effects that were decoded as for effects that were built. [Check]
// is that for whoever sends them, so that a backend has no rules of its own.
//
// The package does no I/O and reads no clock: equal inputs settle equally, in a
// live harness as in a replay (V-COMP-7).
package settle
