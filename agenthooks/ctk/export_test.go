package ctk

import "github.com/holdpoint/holdpoint/agenthooks/loop"

// Terminating is the reference host with the other posture.
func Terminating() Host { return reference{posture: loop.Terminate} }

// HasPostures reports whether the outcome of v differs by posture.
func (v *Vector) HasPostures() bool { return v.expect.byPosture != nil }
