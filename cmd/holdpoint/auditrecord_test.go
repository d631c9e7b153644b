package main

import (
	"testing"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/settle"
)

func TestDeniedWhy(t *testing.T) {
	tests := []struct {
		rec  settle.Record
		want string
	}{
		{settle.Record{Decision: settle.DecisionSynthetic, By: "com.example.b", Class: ahp.FailDeadline}, "no usable answer from com.example.b: deadline_exceeded"},
		{settle.Record{Decision: settle.DecisionSynthetic, Class: ahp.FailEvent}, "by the gateway itself: event_unacceptable"},
		{settle.Record{Decision: settle.DecisionExplicit, By: "com.example.b", Rules: []string{"r"}, Code: "x.y", Reason: "Because."}, "by com.example.b (r): Because."},
		{settle.Record{Decision: settle.DecisionExplicit, By: "com.example.b", Code: "x.y"}, "by com.example.b (x.y)"},
	}
	for _, tt := range tests {
		if got := deniedWhy(&tt.rec); got != tt.want {
			t.Errorf("got %q, want %q", got, tt.want)
		}
	}
}
