package agenthooks

import (
	"bytes"
	"context"
	"fmt"
	"maps"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/jcs"
)

// A Resolver decides on liftable denies, for instance by asking a person
// (AH 9).
//
// Resolve is called concurrently. When ctx ends the host has moved on and the
// deny stands. An error, a panic or a late answer denies too.
type Resolver interface {
	Resolve(ctx context.Context, r *ApprovalRequest) (Resolution, error)
}

// ResolverFunc is a function that serves as a [Resolver].
type ResolverFunc func(context.Context, *ApprovalRequest) (Resolution, error)

// Resolve calls f.
func (f ResolverFunc) Resolve(ctx context.Context, r *ApprovalRequest) (Resolution, error) {
	return f(ctx, r)
}

// A Redactor returns the context that the resolver may see. It is called
// concurrently; [Context.Set] is its tool. A failure denies (AH-9-3). Records
// keep the identities of the unredacted context (AH-9-9).
type Redactor func(ctx context.Context, c *Context) (*Context, error)

// RedactPaths is a [Redactor] that puts placeholder at each transform path
// (AH 5.2) and skips paths that do not resolve.
func RedactPaths(placeholder string, paths ...string) Redactor {
	paths = append([]string{}, paths...)
	return func(_ context.Context, c *Context) (*Context, error) {
		for _, p := range paths {
			if next, err := c.Set(p, placeholder); err == nil {
				c = next
			}
		}
		return c, nil
	}
}

// An Outcome is how a consultation ended.
type Outcome string

// The three outcomes. The zero value is refused, which denies.
const (
	Approved   Outcome = "approve"    // carries a permit, which takes the deny's place
	Rejected   Outcome = "reject"     // carries the deny that stands
	Unresolved Outcome = "unresolved" // nobody decided; carries nothing, and denies
)

// An ApprovalRequest is what a resolver decides on. It is the resolver's own.
type ApprovalRequest struct {
	ContextIdentity *string  `json:"context_identity"` // of Context as presented; nil for [NoIdentity]
	Point           Point    `json:"interception_point"`
	Verdict         Verdict  `json:"verdict"` // the deny in question, as it was returned
	Context         *Context `json:"context"` // after redaction
}

// Approve answers r with a permit: [Allow] or [Rewrite].
func (r *ApprovalRequest) Approve(v Verdict) Resolution {
	return Resolution{Outcome: Approved, ContextIdentity: r.ContextIdentity, Verdict: &v}
}

// Reject answers r with a deny.
func (r *ApprovalRequest) Reject(reason, message string) Resolution {
	v := Deny(reason, message)
	return Resolution{Outcome: Rejected, ContextIdentity: r.ContextIdentity, Verdict: &v}
}

// Unresolved answers that nobody decided.
func (r *ApprovalRequest) Unresolved() Resolution {
	return Resolution{Outcome: Unresolved, ContextIdentity: r.ContextIdentity}
}

// A Resolution is a resolver's answer. ContextIdentity must be the request's,
// byte for byte: the answer holds for that context and no other.
type Resolution struct {
	Outcome         Outcome
	ContextIdentity *string
	Verdict         *Verdict // absent exactly when Outcome is unresolved

	broken bool // the identity in a text was neither string nor null
}

// ParseResolution reads a resolution from JSON text, for resolvers that live
// in another process. It fails only on text that is no JSON object; all other
// faults are kept in the resolution and denied in the contract's order
// (AH-9-5).
func ParseResolution(data []byte) (Resolution, error) {
	var out Resolution
	if err := jcs.Check(data, verdictBounds); err != nil {
		return out, fmt.Errorf("resolution: %w", err)
	}
	data = bytes.TrimSpace(data)
	if data[0] != '{' {
		return out, fmt.Errorf("resolution: expected an object")
	}
	whole := span{0, len(data)}
	if o, ok := text(member(data, whole, "outcome").of(data)); ok {
		out.Outcome = Outcome(o)
	}
	switch id := member(data, whole, "context_identity").of(data); {
	case isNull(id):
	case typeOf(id) == stringJSON:
		s, _ := text(id)
		out.ContextIdentity = &s
	default:
		out.broken = true
	}
	if v := member(data, whole, "verdict").of(data); len(v) > 0 && !isNull(v) {
		raw := RawVerdict(bytes.Clone(v))
		out.Verdict = &raw
	}
	return out, nil
}

// MarshalJSON writes c as the JSON text it is.
func (c *Context) MarshalJSON() ([]byte, error) { return c.JSON(), nil }

// check is AH-9-5: the steps in order, the first failure decides. It returns
// the verdict that takes the deny's place, or the host's deny and false.
func (r *Resolution) check(want *string) (v Verdict, lifted, pooled bool) {
	if r.broken || (r.ContextIdentity == nil) != (want == nil) || want != nil && *r.ContextIdentity != *want { // A1
		return hostDeny(ReasonApprovalIdentityMismatch, ""), false, false
	}
	switch r.Outcome { // A2
	case Approved, Rejected, Unresolved:
	default:
		return hostDeny(ReasonApprovalResolverFailed, "unknown outcome"), false, false
	}
	if (r.Verdict == nil) != (r.Outcome == Unresolved) {
		return hostDeny(ReasonApprovalResolverFailed, "verdict present or absent against the outcome"), false, false
	}
	if r.Outcome == Unresolved { // A3
		return hostDeny(ReasonApprovalUnresolved, ""), false, false
	}
	v, reason := r.Verdict.gate(false)
	if reason != "" { // A4
		return v, false, false
	}
	if v.permit() != (r.Outcome == Approved) { // A5
		return hostDeny(ReasonVerdictInvalid, "outcome and verdict disagree"), false, false
	}
	return v, v.permit(), true
}

// forResolver is the verdict as the resolver sees it: a copy of its own.
func (v *Verdict) forResolver() Verdict {
	out := *v
	out.Warnings = append([]Warning(nil), v.Warnings...)
	out.ResultLabels = append([]string(nil), v.ResultLabels...)
	out.Approval = append(jsontext.Value(nil), v.Approval...)
	if v.Evidence != nil {
		e := *v.Evidence
		e.VerificationPointers = make(map[string]string, len(v.Evidence.VerificationPointers))
		maps.Copy(e.VerificationPointers, v.Evidence.VerificationPointers)
		out.Evidence = &e
	}
	return out
}
