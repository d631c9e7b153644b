// Package settle is the settlement of one operation as a pure state machine,
// and the record that a settlement leaves behind.
//
// A [Chain] is the accepted state. [Chain.Apply] takes one backend's effects or
// its failure, checks them whole, and gives the next state; nothing of a
// rejected answer gets into it. [Chain.Settlement] is the outcome. The zero
// value of each of these types refuses, so that a forgotten step is never a
// permission.
//
// The package does no I/O and reads no clock: equal inputs settle equally, in a
// live harness as in a replay (V-COMP-7).
package settle
