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

// exampleHarness has one control in this process, which answers with effects.
func exampleHarness(effects string, event ahp.ManifestEvent) *harness.Harness {
	control := func(_ context.Context, frame []byte) ([]byte, error) {
		id, ok := frameID(frame)
		if !ok { // a notification
			return nil, nil
		}
		return []byte(draftAnswer(id, effects)), nil
	}
	h, err := harness.New(&ahp.Registration{
		Version: ahp.VersionDraft,
		Hooks: []ahp.Backend{{
			ID: "net.acme.guard", Transport: &ahp.LocalTransport{},
			Subscriptions: []ahp.Subscription{{
				Events: []ahp.EventType{event.Event}, Mode: ahp.ModeIntercept, Timeout: time.Second, FailurePolicy: ahp.FailClosed,
				Content: ahp.ContentSelection{Default: ahp.SelectBody},
			}},
		}},
	}, harness.Options{
		Source:   "urn:uuid:c0ffee00-1111-4222-8333-444455556666",
		Manifest: &ahp.Manifest{Events: []ahp.ManifestEvent{event}},
		Recorder: harness.Discard,
		Local:    map[string]transport.Local{"net.acme.guard": control},
	})
	if err != nil {
		panic(err)
	}
	return h
}

// A control rewrites the input and asks for an approval. The arguments come back
// typed, and the approval is for the operation as it is in effect.
func ExampleSettle() {
	type Args struct {
		Cmd string `json:"cmd"`
	}
	h := exampleHarness(`[{"type":"modify","target":"input","operation":"merge","value":{"cmd":"terraform plan"}},{"type":"ask"}]`,
		ahp.ManifestEvent{Event: ahp.ToolBefore, Modes: []ahp.Mode{ahp.ModeIntercept}, Capabilities: &ahp.Capabilities{
			Effects: []ahp.EffectType{ahp.EffectDeny, ahp.EffectAsk, ahp.EffectModify},
			Modify:  []ahp.ModifyCapability{{Target: ahp.TargetInput, Merge: true}},
		}})
	ctx := context.Background()
	defer func() { _ = h.Close(ctx) }()

	call, s, err := harness.Settle(ctx, h, harness.ToolBefore[Args]{
		Tool: ahp.Tool{CallID: "call-1", Name: "run"},
		Args: Args{Cmd: "terraform destroy"},
	})
	if err != nil {
		fmt.Println(err)
	}
	fmt.Println(s.State, call.Args.Cmd)
	if s.State == settle.Ask { // the user says yes to call.Args
		s = s.Approve(s.Operation)
	}
	fmt.Println(s.Proceeds())
	// Output:
	// ask terraform plan
	// true
}

// A turn that is about to finish is asked to go on for one more step.
func ExampleSettle_turn() {
	one, none := int64(1), int64(0)
	h := exampleHarness(`[{"type":"flow","operation":"continue","instruction":"Run the tests."}]`,
		ahp.ManifestEvent{Event: ahp.TurnFinishBefore, Modes: []ahp.Mode{ahp.ModeIntercept}, Capabilities: &ahp.Capabilities{
			Effects: []ahp.EffectType{ahp.EffectFlow},
			Flow:    &ahp.FlowCapability{Continue: true, Remaining: &one, Count: &none, Max: &one},
		}})
	ctx := context.Background()
	defer func() { _ = h.Close(ctx) }()

	_, s, err := harness.Settle(ctx, h, harness.TurnFinish{
		Base:           harness.Base{Turn: &ahp.Turn{ID: "turn-1"}},
		Messages:       []ahp.Message{ahp.TextMessage("m-1", ahp.RoleAssistant, "Done.")},
		TurnFinishBody: ahp.TurnFinishBody{Outcome: ahp.TurnCompleted},
	})
	fmt.Println(s.State, s.Flow, s.Instructions, err)
	// Output: proceed continue [Run the tests.] <nil>
}

// A denied call is followed by the tool.after that every resolved call is owed.
func ExampleResolveTool() {
	h := exampleHarness(`[{"type":"deny","reason":"Not on a Friday."}]`, ahp.ManifestEvent{
		Event: ahp.ToolBefore, Modes: []ahp.Mode{ahp.ModeIntercept}, Capabilities: &ahp.Capabilities{Effects: []ahp.EffectType{ahp.EffectDeny}},
	})
	ctx := context.Background()
	defer func() { _ = h.Close(ctx) }()

	_, s, err := harness.Settle(ctx, h, harness.ToolBefore[map[string]any]{
		Tool: ahp.Tool{CallID: "call-1", Name: "deploy"}, Args: map[string]any{"to": "production"},
	})
	if err != nil {
		fmt.Println(err)
	}
	fmt.Println(s.State, s.Reason)
	after, err := harness.ResolveTool(s)
	fmt.Println(after.Outcome, after.Execution.Skipped, err)
	// Output:
	// denied Not on a Friday.
	// denied policy <nil>
}
