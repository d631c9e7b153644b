package ahp

// Permission is the settled permission of a chain so far. The zero value is none.
type Permission string

// The permissions, from weak to strong: deny over ask over allow over none
// (D-PREC-1).
const (
	PermissionNone  Permission = "none"
	PermissionAllow Permission = "allow"
	PermissionAsk   Permission = "ask"
	PermissionDeny  Permission = "deny"
)

// Flow is the settled flow of a chain so far. The zero value is none.
type Flow string

// The flows. Stop wins over continue (D-PREC-3).
const (
	FlowNone     Flow = "none"
	FlowStop     Flow = "stop"
	FlowContinue Flow = "continue"
)

// State tells a later interceptor what a chain has accepted so far (AHP draft
// section 2.1). It is untrusted data and no identity: a receiver draws no authority
// from it (D-APP-5).
type State struct {
	Permission   Permission
	Candidate    *Candidate // nil is null
	Flow         Flow       // empty when absent
	Instructions []string   // of accepted continues; nil when absent
	Injections   []Raw      // accepted inject effects as they came; nil when absent
	Unknown      Members
}

// A Candidate is a supplied result that waits for settlement.
type Candidate struct {
	Value      Raw // any JSON
	Provenance Raw // an object that names no subscription; nil when absent
	Unknown    Members
}
