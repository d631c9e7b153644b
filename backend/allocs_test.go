//go:build !race

package backend_test

import (
	"context"
	"testing"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/backend"
)

// TestAllocations holds what one message costs beside its decoding and the handler.
func TestAllocations(t *testing.T) {
	refusal := []ahp.Effect{&ahp.Deny{Reason: "Not on a Friday.", Code: "com.example.friday"}}
	for _, tt := range []struct {
		name    string
		effects []ahp.Effect
		prompt  bool
		most    float64
	}{
		{"no effects, prompt", nil, true, 6},
		{"a refusal, prompt", refusal, true, 8},
		{"no effects", nil, false, 19},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := newServer(t, func(ctx context.Context, _ *backend.Request) ([]ahp.Effect, error) {
				return tt.effects, ctx.Err()
			}, backend.Options{Prompt: tt.prompt, MemoryEntries: 1})
			fs := frames(200)
			i := 0
			got := testing.AllocsPerRun(100, func() {
				if _, err := s.Local(t.Context(), fs[i]); err != nil {
					t.Fatal(err)
				}
				i++
			})
			if got > tt.most {
				t.Errorf("%v allocations, at most %v are expected", got, tt.most)
			}
			t.Logf("%v allocations", got)
		})
	}
}
