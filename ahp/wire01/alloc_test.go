//go:build !race

package wire01_test

import (
	"testing"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/wire01"
)

// TestAllocations holds what plain messages cost. The race detector makes sync.Pool
// drop items at random, so they are counted without it.
func TestAllocations(t *testing.T) {
	frame := sized(t, 1<<10)
	m, bad := wire01.DecodeRequest(frame, wire01.Limits{})
	if bad != nil {
		t.Fatal(bad)
	}
	plain := *m.Event
	tool := *m.Event.Tool
	tool.Unknown, plain.Unknown, plain.Native, plain.Extensions, plain.HasExtensions = nil, nil, nil, nil, false
	plain.Tool, plain.Session.Unknown = &tool, nil
	effects := []ahp.Effect{&ahp.Deny{Reason: "Force pushes are prohibited.", Code: "com.example.force_push"}}
	answer := []byte(denied)
	buf := make([]byte, 0, 8<<10)
	for name, tt := range map[string]struct {
		most float64
		do   func() error
	}{
		"a request is read": {3, func() error {
			if _, bad := wire01.DecodeRequest(frame, wire01.Limits{}); bad != nil {
				return bad
			}
			return nil
		}},
		"a plain request is written": {0, func() error {
			_, err := wire01.AppendIntercept(buf, &plain, ahp.Capabilities{Effects: m.Capabilities.Effects}, nil)
			return err
		}},
		"an answer is written": {0, func() error {
			_, err := wire01.AppendResult(buf, m.ID, effects, nil)
			return err
		}},
		"an answer is read": {5, func() error {
			if _, f := wire01.DecodeResponse(answer, "e-1", ahp.DenyOnly(), wire01.Limits{}); f != nil {
				return f
			}
			return nil
		}},
	} {
		var err error
		if got := testing.AllocsPerRun(100, func() { err = tt.do() }); got > tt.most || err != nil {
			t.Errorf("%s: %v allocations, at most %v are expected; %v", name, got, tt.most, err)
		}
	}
}
