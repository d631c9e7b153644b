package ahp

import "fmt"

// FailureClass says in which way a backend gave no usable answer. The first
// eleven are those of revision 0.1 (V-FC-1 to V-FC-11; D-FC-1 to D-FC-3, D-FC-5 to
// D-FC-12), the two behind them the draft's failed authentication (D-FC-4); the
// rest are local causes that end the same way.
type FailureClass string

// The failure classes.
const (
	FailDeadline      FailureClass = "deadline_exceeded"  // V-FC-1
	FailConnection    FailureClass = "connection_failed"  // V-FC-2: refused, reset or lost
	FailProcess       FailureClass = "process_failed"     // V-FC-3: launch failed, abnormal end
	FailHTTPStatus    FailureClass = "http_status"        // V-FC-4
	FailMalformed     FailureClass = "malformed"          // V-FC-5: UTF-8, JSON, JSON-RPC, framing, media type, size
	FailIDMismatch    FailureClass = "id_mismatch"        // V-FC-6
	FailRPCError      FailureClass = "rpc_error"          // V-FC-7
	FailUnsupported   FailureClass = "unsupported"        // V-FC-8: version or event
	FailMissingField  FailureClass = "missing_field"      // V-FC-9
	FailInvalidEffect FailureClass = "invalid_effect"     // V-FC-10: unadvertised, unknown, malformed, conflicting
	FailLate          FailureClass = "late_response"      // V-FC-11
	FailCredential    FailureClass = "credential_missing" // V-AMB-14, D-FC-4: the token cannot be resolved; nothing was sent
	FailAuth          FailureClass = "auth_failed"        // D-FC-4: the peer refused the credential, or the lack of one
	FailContent       FailureClass = "content_missing"    // D-SEL-6: content that was asked for is not there; nothing was sent
	FailShutdown      FailureClass = "shutting_down"      // the harness was closing, or the caller gave up
	FailInternal      FailureClass = "internal"           // a fault of our own: a panic, an encoder's refusal

	// FailEvent means that the event itself cannot be judged: too large, too
	// deep, malformed, an analysis bound breached. It is refused whatever the
	// failure policy says, or padding would open the gate.
	FailEvent FailureClass = "event_unacceptable"
)

// FailureClasses lists every class in a fixed order.
func FailureClasses() []FailureClass {
	return []FailureClass{
		FailDeadline, FailConnection, FailProcess, FailHTTPStatus, FailMalformed,
		FailIDMismatch, FailRPCError, FailUnsupported, FailMissingField,
		FailInvalidEffect, FailLate, FailCredential, FailAuth, FailContent, FailShutdown, FailInternal, FailEvent,
	}
}

// PolicyApplies reports whether the subscription's failure policy decides about a
// failure of this class. It does for every outage, and does not for what the
// event itself causes.
func (c FailureClass) PolicyApplies() bool { return c != FailEvent }

// A Failure means that a backend gave no usable answer. A backend that says no
// has answered; a refusal is never a Failure.
type Failure struct {
	Class   FailureClass
	Backend string // id in the registration; may be empty below the harness
	Pointer string // JSON pointer into the offending message; empty when there is none
	Code    int    // JSON-RPC error code or HTTP status, where the class has one

	// Err is the cause, for the local log only: it may name addresses and paths.
	// It is never shown to a model or a peer, and holds no bytes of the
	// peer's message.
	Err error
}

// Error says class, backend and cause. It is for logs.
func (f *Failure) Error() string {
	s := string(f.Class)
	if f.Backend != "" {
		s = f.Backend + ": " + s
	}
	if f.Code != 0 {
		s = fmt.Sprintf("%s (%d)", s, f.Code)
	}
	if f.Pointer != "" {
		s += " at " + f.Pointer
	}
	if f.Err != nil {
		s += ": " + f.Err.Error()
	}
	return s
}

// Unwrap returns the cause.
func (f *Failure) Unwrap() error { return f.Err }

// GenericDenial is the text of a refusal that a failure led to. It says nothing
// of the network, the backend or its answer (V-FAIL-3, V-FAIL-4, V-AMB-17).
const GenericDenial = "A required policy service did not give a usable answer, so this operation was refused."
