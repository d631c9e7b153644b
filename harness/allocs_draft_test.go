//go:build !race

package harness_test

import (
	"context"
	"strings"
	"testing"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/harness"
	"github.com/holdpoint/holdpoint/transport"
)

// What one interception allocates over a local carrier: little more than revision 0.1
// does, the same for a large input, and per interceptor no encoding of the event.
func TestDraftAllocations(t *testing.T) {
	measure := func(h *harness.Harness, ev *ahp.Event) float64 {
		ctx := context.Background()
		return testing.AllocsPerRun(200, func() {
			if s, err := h.Begin(ctx, ev).Settle(); !s.Proceeds() || err != nil {
				t.Error(s.State, err)
			}
		})
	}
	of := func(n int, ev *ahp.Event) float64 {
		backends := interceptors(n, &ahp.LocalTransport{})
		local := map[string]transport.Local{}
		for i := range backends {
			local[backends[i].ID] = quickSays("[]")
		}
		o := draftOptions(harness.Discard)
		o.Local, o.Manifest = local, denyOnlyManifest()
		h, err := harness.New(&ahp.Registration{Version: ahp.VersionDraft, Hooks: backends}, o)
		if err != nil {
			t.Fatal(err)
		}
		defer closeNow(t, h)
		return measure(h, ev)
	}
	old, err := harness.New(&ahp.Registration{Version: ahp.Version01, Hooks: []ahp.Backend{
		intercept(backendID, &ahp.LocalTransport{}, long, ahp.FailClosed),
	}}, harness.Options{
		Source: "urn:example:bench", Capabilities: ahp.DenyOnly(), Recorder: harness.Discard,
		Local: map[string]transport.Local{backendID: quickLocal},
	})
	if err != nil {
		t.Fatal(err)
	}
	defer closeNow(t, old)
	big := kilobyteDraft()
	big.Tool.Input = ahp.Raw(`{"cmd":"` + strings.Repeat("echo hello ", 4000) + `"}`)

	one01, one, four, large := measure(old, kilobyte()), of(1, kilobyteDraft()), of(4, kilobyteDraft()), of(1, big)
	t.Logf("revision 0.1: %v; draft: one interceptor %v, four %v, a large input %v", one01, one, four, large)
	if one > one01+6 {
		t.Errorf("one interceptor: %v allocations, revision 0.1 makes %v", one, one01)
	}
	if large > one+4 {
		t.Errorf("a large input: %v allocations, a small one %v", large, one)
	}
	if perHop := (four - one) / 3; perHop > one {
		t.Errorf("each further interceptor: %v allocations, the first %v", perHop, one)
	}
}
