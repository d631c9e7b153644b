package harness_test

import (
	"context"
	"fmt"
	"time"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/harness"
	"github.com/holdpoint/holdpoint/settle"
	"github.com/holdpoint/holdpoint/transport"
)

// printer is a recorder that prints what was decided.
type printer struct{}

func (printer) Record(_ context.Context, r *settle.Record) error {
	fmt.Println("record:", r.Tool, r.Outcome, r.Decision, r.Code)
	return nil
}

// A host asks its controls before it runs a tool. The only control here is a
// function in the same process; commands and URLs come from a registration file
// in the same way.
func Example() {
	guard := func(_ context.Context, frame []byte) ([]byte, error) {
		id, _ := frameID(frame)
		return []byte(answer(id, `[{"type":"deny","reason":"Push to a branch instead.","code":"net.acme.git.force"}]`)), nil
	}
	h, err := harness.New(&ahp.Registration{
		Version: ahp.Version01,
		Hooks: []ahp.Backend{{
			ID:        "net.acme.guard",
			Transport: &ahp.LocalTransport{},
			Subscriptions: []ahp.Subscription{{
				Events: []ahp.EventType{ahp.ToolBefore}, Mode: ahp.ModeIntercept,
				Timeout: time.Second, FailurePolicy: ahp.FailClosed,
			}},
		}},
	}, harness.Options{
		Source:       "urn:uuid:c0ffee00-1111-4222-8333-444455556666",
		Capabilities: ahp.DenyOnly(),
		Recorder:     printer{},
		Local:        map[string]transport.Local{"net.acme.guard": guard},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	defer h.Close(ctx)

	call := h.Begin(ctx, &ahp.Event{
		Type:    ahp.ToolBefore,
		Session: ahp.Session{ID: "s-1", CWD: "/srv/app"},
		Tool:    &ahp.Tool{CallID: "c-1", Name: "run", Kind: ahp.KindShell, Input: ahp.Raw(`{"cmd":"git push --force"}`)},
	})
	s, err := call.Settle()
	switch {
	case err != nil:
		fmt.Println("error:", err)
	case s.Proceeds():
		fmt.Println("nobody objects; now the host's own permissions")
	default:
		fmt.Println("refused:", s.Reason)
	}
	if err := call.Wait(ctx); err != nil {
		fmt.Println(err)
	}
	// Output:
	// record: run denied explicit net.acme.git.force
	// refused: Push to a branch instead.
}
