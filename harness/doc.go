// Package harness is the client side of AHP 0.1: it asks the backends of a
// registration about an operation, in order, under deadlines and stated failure
// policies, and comes to one settlement.
//
//	h, err := harness.New(reg, harness.Options{
//		Source:       "urn:uuid:…",
//		Capabilities: ahp.DenyOnly(),
//		Recorder:     rec,
//	})
//	defer h.Close(ctx)
//	…
//	call := h.Begin(ctx, event)
//	s, err := call.Settle()
//	if s.Proceeds() {
//		// the host's own permissions, then the operation
//	}
//	err = call.Wait(ctx) // deliveries to observers are done or given up
//
// What a harness must get right lies here and in package settle: order
// (AHP-COMP-001), deadlines (AHP-FAIL-002), failure policy (AHP-FAIL-001),
// refusals that leak nothing (V-FAIL-3, V-FAIL-4), observers that delay nothing
// (V-COMP-3), and one record for each settlement. No effects from a backend
// grant anything: the host's own permissions still decide (AHP-SEC-001).
//
// A host whose backends are reached over HTTP and are not trusted should silence
// the standard logger (log.SetOutput) or send it where such text may go: net/http
// writes there, past every option, when a peer sends bytes out of turn, and quotes
// them (V-FAIL-4).
package harness
