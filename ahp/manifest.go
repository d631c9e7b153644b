package ahp

import "slices"

// A Manifest says what a harness covers (AHP draft section 20). It proves neither
// identity nor that an effect was applied (D-DISC-4). What it leaves out is not
// covered, and a limit that is absent is unknown, never unlimited (D-DISC-5).
type Manifest struct {
	Events            []ManifestEvent // may be empty
	Gaps              []Gap           // uncovered paths; Path and Reason
	Transports        []string        // http, stdio, in_process
	Authentication    []string        // bearer, oauth
	ToolPaths         []string
	ContentCategories []string
	Limits            ManifestLimits
	ManagedPolicy     ManagedPolicy
	Correlation       []string // correlationIdentityFields: no verified identity
	Unknown           Members
}

// A ManifestEvent is the coverage of one event type.
type ManifestEvent struct {
	Event EventType
	Modes []Mode // not empty, no repeats
	// Capabilities is required with mode intercept, and inside [Bounds].
	Capabilities *Capabilities
	Unknown      Members
}

// ManifestLimits are limits from 0; nil means unknown, and then a gap says so.
type ManifestLimits struct {
	MaxUploadBytes, MaxContinuations, MinTimeoutMs, MaxTimeoutMs *int64
	Unknown                                                      Members
}

// Scope says who put a subscription into force.
type Scope string

// The scopes of a subscription.
const (
	ScopeManaged Scope = "managed" // cannot be disabled
	ScopeProject Scope = "project"
	ScopeUser    Scope = "user"
)

// Known reports whether s is one of the three scopes.
func (s Scope) Known() bool { return s == ScopeManaged || s == ScopeProject || s == ScopeUser }

// ManagedPolicy says which scopes a harness honors. With managed, Disableable is
// false.
type ManagedPolicy struct {
	Scopes      []Scope
	Disableable bool
	Unknown     Members
}

// Event returns the coverage of events of type t, or nil.
func (m *Manifest) Event(t EventType) *ManifestEvent {
	for i := range m.Events {
		if m.Events[i].Event == t {
			return &m.Events[i]
		}
	}
	return nil
}

// Covers reports whether the manifest lists mode for events of type t.
func (m *Manifest) Covers(t EventType, mode Mode) bool {
	e := m.Event(t)
	if e == nil {
		return false
	}
	return slices.Contains(e.Modes, mode)
}
