// Package harness is the client side of AHP: it asks the backends of a registration
// about an operation, in order, under deadlines and stated failure policies, and comes
// to one settlement. The registration's version chooses the revision: 0.1, where
// controls refuse, or draft, where they also rewrite, ask for approval, supply results,
// inject context, and stop or continue a turn.
//
// In revision draft a host says once what it covers, and then asks with typed events:
//
//	h, err := harness.New(reg, harness.Options{
//		Source:   "urn:uuid:…",
//		Manifest: manifest, // the events, and what can be enforced at each
//		Recorder: rec,
//	})
//	defer h.Close(ctx)
//	…
//	call, s, err := harness.Settle(ctx, h, harness.ToolBefore[Args]{Tool: tool, Args: args})
//	if s.Proceeds() {
//		// the host's own permissions, then the operation with call.Args
//	}
//
// Settle is for all 19 events that can be intercepted, [Observe] for the other 13.
// [ResolveTool], [ToolDone], [Compacted], [TaskChanged] and their like make the events
// that follow. Underneath, and in revision 0.1, is one road for every event:
//
//	call := h.Begin(ctx, event)
//	s, err := call.Settle() // the decision; observers delay nothing
//	err = call.Wait(ctx)    // deliveries to observers are done or given up
//
// What a harness must get right lies here and in package settle: order
// (AHP-COMP-001), deadlines (AHP-FAIL-002), failure policy (AHP-FAIL-001),
// refusals that leak nothing (V-FAIL-3, V-FAIL-4), observers that delay nothing
// (V-COMP-3), and one record for each settlement. No effects from a backend
// grant anything: the host's own permissions still decide (AHP-SEC-001).
//
// # What each subscription sees
//
// In revision draft a request is made for its subscription: the parts that it selects
// and that [Options.MayShow] allows, native data only with [Options.ShowNative], state
// as its selection shows it. A copy of hidden text, from eight bytes on, is hidden as
// well: in another part, in opaque JSON like tool.input, in native data, in state, in
// what an error says. A body that an interceptor selects and cannot be given is a
// failure of class content_missing, to which its policy applies, and nothing is sent.
// An event about what a copy was taken out of, a part or opaque JSON, is not judged
// without it: such an event is refused whatever the policy says, or whoever
// writes both texts would choose which controls are asked. An observer gets a gap
// either way. What a view does not show whole is not offered for replacement.
//
// # Ownership
//
// A call owns every delivery that it starts, under one budget. The end of its context,
// of its budget, or of the harness interrupts it: the settlement is then Interrupted
// under either failure policy, what was accepted before stays, nothing new is sent, and
// no observer is told. [Harness.Close] does not wait for ordinary observers: a host
// that wants a graceful end waits for its calls first.
//
// # Not here yet
//
// Uploads and OAuth are refused at load, with the place in the registration.
//
// A host whose backends are reached over HTTP and are not trusted should silence
// the standard logger (log.SetOutput) or send it where such text may go: net/http
// writes there, past every option, when a peer sends bytes out of turn, and quotes
// them (V-FAIL-4).
package harness
