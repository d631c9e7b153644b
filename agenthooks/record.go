package agenthooks

import (
	"unicode/utf8"

	"github.com/go-json-experiment/json"
)

// A Mode says whether verdicts are enforced (AH 8).
type Mode string

// The two modes. The zero value of a setting means [Enforce].
const (
	Enforce      Mode = "enforce"       // a deny stops the action
	EvaluateOnly Mode = "evaluate_only" // everything proceeds; records show what would have been
)

// A Record is what remains of one emission (AH 10.3). It holds no payload:
// identities, codes, truncated messages and who decided. Records are shared
// with the sink and the buffer; do not change one.
type Record struct {
	Point                  Point            `json:"interception_point"`
	Mode                   Mode             `json:"mode"`
	Verdict                RecordVerdict    `json:"verdict"`
	InputIdentity          *string          `json:"input_identity"`    // nil without provider or when rejected before dispatch
	EnforcedIdentity       *string          `json:"enforced_identity"` // of the context after composition
	IdentityProvider       *string          `json:"identity_provider"` // nil for [NoIdentity]
	SessionID              string           `json:"session_id"`        // "" when unknown
	Sequence               int64            `json:"sequence"`          // -1 when unknown
	Timestamp              string           `json:"timestamp,omitzero"`
	Trace                  *Trace           `json:"trace,omitzero"`
	DecidedBy              *int             `json:"decided_by"` // registration index, nil where no one interceptor decided (AH-10.3-4)
	Composition            Composition      `json:"composition"`
	Verdicts               []VerdictSummary `json:"verdicts"` // one per interceptor that ran
	FoldTruncated          *bool            `json:"fold_truncated,omitzero"`
	ResolvedBy             Resolved         `json:"resolved_by,omitzero"`
	InterceptorsRegistered int              `json:"interceptors_registered"`
}

// MarshalJSON writes the wire form.
func (r Record) MarshalJSON() ([]byte, error) {
	type wire Record // without this method
	return json.Marshal(wire(r))
}

// Resolved says how the approval seam was used; "" means that it was not.
type Resolved string

// What a consultation came to.
const (
	ResolvedApproval  Resolved = "approval"  // a permit took the deny's place
	ResolvedRejection Resolved = "rejection" // consulted, and the deny stands
)

// Trace is the W3C trace context that a host gave with the event.
type Trace struct {
	TraceID string `json:"trace_id,omitzero"`
	SpanID  string `json:"span_id,omitzero"`
}

// A VerdictSummary says what one interceptor returned.
type VerdictSummary struct {
	Index    int      `json:"index"`
	Decision Decision `json:"decision"`
	Reason   string   `json:"reason,omitzero"`
	Name     string   `json:"name,omitzero"` // from the registration
}

// A RecordVerdict is the payload-free projection of a verdict (AH-10.3-2).
type RecordVerdict struct {
	Decision     Decision         `json:"decision"`
	Reason       string           `json:"reason,omitzero"`
	Message      string           `json:"message,omitzero"` // at most 256 bytes and an ellipsis
	Warnings     []Warning        `json:"warnings,omitempty"`
	Approval     *struct{}        `json:"approval,omitzero"`  // present on a liftable deny, always {}
	Transform    *RecordTransform `json:"transform,omitzero"` // the path without the value
	Evidence     *Evidence        `json:"evidence,omitzero"`
	ResultLabels []string         `json:"result_labels,omitempty"`
}

// A RecordTransform says where a transform wrote.
type RecordTransform struct {
	Path string `json:"path"`
}

// project is AH-10.3-2. v was gated or made by the host.
func (v *Verdict) project() RecordVerdict {
	out := RecordVerdict{
		Decision: v.Decision, Reason: v.Reason, Message: truncate(v.Message), Evidence: v.Evidence, ResultLabels: v.ResultLabels,
	}
	if v.Evidence != nil && v.Evidence.Artefact == "" && len(v.Evidence.VerificationPointers) == 0 {
		out.Evidence = nil
	}
	for _, w := range v.Warnings {
		out.Warnings = append(out.Warnings, Warning{w.Reason, truncate(w.Message)})
	}
	if v.Approval != nil {
		out.Approval = &struct{}{}
	}
	if v.Transform != nil {
		out.Transform = &RecordTransform{v.Transform.Path}
	}
	return out
}

const maxMessageBytes = 256

// truncate keeps at most 256 bytes, whole code points, and marks a cut with an
// ellipsis (AH-10.3-3).
func truncate(s string) string {
	if len(s) <= maxMessageBytes {
		return s
	}
	n := maxMessageBytes
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}
