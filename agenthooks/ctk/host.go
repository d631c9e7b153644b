package ctk

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/agenthooks"
)

// A Host is an implementation under test.
type Host interface {
	// Declare says what the host claims to do. It is called once, first.
	Declare(ctx context.Context) (*Surface, error)

	// Open makes a fresh host for one vector. [Run.Close] follows when the
	// error is nil.
	Open(ctx context.Context, s *Setup) (Run, error)
}

// A Run is a host that is set up for one vector.
type Run interface {
	// Run plays the scenario once, on the host's real dispatch path.
	Run(ctx context.Context) (*RunRecord, error)

	// Close ends the run. It is called once, also after an error.
	Close() error
}

// Callbacks are the scripted interceptors and the resolver of a vector. They
// may be called from any goroutine.
type Callbacks interface {
	// Intercept answers for the interceptor with a registration index. The
	// context is whatever the host hands to its interceptors.
	Intercept(ctx context.Context, index int, context jsontext.Value) (Answer, error)

	// Resolve answers an approval request: an object with context_identity,
	// interception_point, verdict and context.
	Resolve(ctx context.Context, request jsontext.Value) (Answer, error)
}

// An Answer is what a scripted interceptor or resolver does.
type Answer struct {
	JSON   jsontext.Value // the verdict or the resolution, to be handed on as it is
	Raise  bool           // fail natively instead: an error or a panic
	Mutate bool           // overwrite the context that the host handed over, then answer with JSON
}

// A Surface is what a host declares (AH 13.1). Results are judged by it, never
// by what happened.
type Surface struct {
	Framework      string `json:"framework"`
	AdapterVersion string `json:"adapter_version"`
	Language       string `json:"sdk_language"`
	SDKVersion     string `json:"sdk_version"`

	Capabilities []Capability             `json:"capabilities"`
	Profiles     []agenthooks.Composition `json:"profiles"` // each with the knob values it supports; empty means all

	IdentityProvider *string `json:"identity_provider"`
	ContentDerived   bool    `json:"content_derived"` // of a provider of the host's own: a function of the context alone

	Postures       map[string]string `json:"postures"`
	BufferedOutput bool              `json:"buffered_output"`
	ExposureBound  string            `json:"exposure_bound,omitzero"` // with BufferedOutput false
}

// check refuses what is in none of the closed sets: a misspelled profile would
// skip its vectors in silence.
func (s *Surface) check() error {
	for i, c := range s.Capabilities {
		if !slices.Contains(capabilities, c) {
			return fmt.Errorf("surface: /capabilities/%d: %s is not known", i, plain(short(string(c))))
		}
	}
	if s.has(IncrementalOutput) && s.BufferedOutput {
		return errors.New("surface: incremental_output goes with buffered_output: false only (AH 12.1)")
	}
	for i, c := range s.Profiles {
		var member, value string
		switch {
		case !slices.Contains(profileSet, c.Profile):
			member, value = "profile", string(c.Profile)
		case c.OnApproval != "" && c.OnApproval != agenthooks.Stop && c.OnApproval != agenthooks.Resume:
			member, value = "on_approval", string(c.OnApproval)
		case !choice(c.OnDisagreement):
			member, value = "on_disagreement", string(c.OnDisagreement)
		case !choice(c.OnTransformConflict):
			member, value = "on_transform_conflict", string(c.OnTransformConflict)
		default:
			continue
		}
		return fmt.Errorf("surface: /profiles/%d/%s: %s is not known", i, member, plain(short(value)))
	}
	return nil
}

var profileSet = []agenthooks.Profile{agenthooks.FirstDeny, agenthooks.RunAll, agenthooks.Strictest, agenthooks.Unanimous}

func choice(k agenthooks.Knob) bool {
	return k == "" || k == agenthooks.DenyIt || k == agenthooks.Consult
}

// PostureToolSeam is the one posture there is: how a run goes on after a deny
// with a reserved reason at a tool point. Its values are "continue", which is
// the default, and "terminate" (AH-13.1-2).
const PostureToolSeam = "tool_seam_host_error"

func (s *Surface) posture(name string) string {
	if p := s.Postures[name]; p != "" {
		return p
	}
	return "continue"
}

// A RunRecord is what a host reports of a run (AH 13.2b).
type RunRecord struct {
	Outcome         Outcome
	FinalOutput     jsontext.Value // nil is null
	ToolInvocations []Invocation   // really made, in order
	Error           string         // for [Errored]; no payload
	Identities      []IdentityPair // one per emission
	Records         []jsontext.Value
	ReleasedOutput  *string        // what reached the caller; nil when not reported
	Persisted       jsontext.Value // what the host would keep; nil when nothing
}

// An Invocation is a tool call that was made.
type Invocation struct {
	Name string         `json:"name"`
	Args jsontext.Value `json:"args"`
}

// An IdentityPair is the two identities of one emission.
type IdentityPair struct {
	Input    *string `json:"input_identity"`
	Enforced *string `json:"enforced_identity"`
}
