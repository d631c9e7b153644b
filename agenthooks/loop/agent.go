package loop

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/holdpoint/holdpoint/agenthooks"
)

// A Posture says how a turn goes on when the host itself denied a tool call or
// its result, with a reserved reason (AH-13.1-2).
type Posture string

// The two postures. The zero value means Continue.
const (
	Continue  Posture = "continue"  // the model sees a tool error and goes on
	Terminate Posture = "terminate" // the turn ends as blocked
)

// DefaultMaxModelCalls bounds the model calls of one turn.
const DefaultMaxModelCalls = 64

// Options configures an [Agent]. [New] copies it.
type Options struct {
	Host    *agenthooks.Host // asks the interceptors; required
	Model   Model            // required unless MaxModelCalls is negative
	ModelID string           // names the model in contexts; "" means "model"
	Tools   []Tool

	// Parallel is how many tool calls of one answer run at once: zero and one
	// mean one after the other.
	Parallel int

	// MaxModelCalls bounds the model calls of a turn: zero means
	// [DefaultMaxModelCalls], negative means none.
	MaxModelCalls int

	// OnHostError is the posture at the tool points; zero means [Continue].
	OnHostError Posture

	// Incremental releases streamed text as verdicts cover it (AH 12.1). The
	// host then has to declare buffered_output: false with exposure bound
	// "none": a deny at output cannot take back what has left.
	Incremental bool

	// Release gets all text that may leave, in order and once: at output, and
	// with Incremental while an answer streams. Content that is no text is
	// only returned by [Session.Turn]. An error ends the turn. May be nil.
	Release func(text string) error

	// Plain writes messages as {role, content} only, tool results before the
	// message that asked for them, as the reference host of the contract does
	// (AH 13.2d). Without it assistant messages carry tool_calls, and results
	// follow with their tool_call_id, as models want them.
	Plain bool
}

// An Agent is a model with tools under one [agenthooks.Host]. It may be used
// concurrently.
type Agent struct {
	o     Options
	tools map[string]Tool
	names []string // sorted
	specs []agenthooks.Tool
}

// New returns an agent. It refuses a configuration with all that is wrong in it.
func New(o Options) (*Agent, error) {
	var errs []error
	if o.Host == nil {
		errs = append(errs, errors.New("host: required"))
	}
	if o.Model == nil && o.MaxModelCalls >= 0 {
		errs = append(errs, errors.New("model: required"))
	}
	if o.ModelID == "" {
		o.ModelID = "model"
	}
	if o.MaxModelCalls == 0 {
		o.MaxModelCalls = DefaultMaxModelCalls
	}
	switch o.OnHostError {
	case "":
		o.OnHostError = Continue
	case Continue, Terminate:
	default:
		errs = append(errs, fmt.Errorf("on host error: %q is not one of continue, terminate", o.OnHostError))
	}
	if o.Parallel < 0 {
		errs = append(errs, fmt.Errorf("parallel: %d is negative", o.Parallel))
	}
	a := &Agent{tools: map[string]Tool{}}
	for i, t := range o.Tools {
		if t == nil {
			errs = append(errs, fmt.Errorf("tools[%d]: nil", i))
			continue
		}
		spec := t.Spec()
		if spec.Name == "" {
			errs = append(errs, fmt.Errorf("tools[%d]: no name", i))
			continue
		}
		if _, twice := a.tools[spec.Name]; twice {
			errs = append(errs, fmt.Errorf("tools[%d]: name %q is taken", i, spec.Name))
		}
		a.tools[spec.Name] = t
		a.specs = append(a.specs, spec)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	a.names = slices.Sorted(maps.Keys(a.tools))
	o.Tools = nil
	a.o = o
	return a, nil
}

// Open starts a session and passes agent_startup. When that is denied the
// session is closed already and the error is the [*agenthooks.BlockedError].
// [Session.Close] ends the session.
func (a *Agent) Open(ctx context.Context, o agenthooks.SessionOptions) (*Session, error) {
	hooks, err := a.o.Host.NewSession(o)
	if err != nil {
		return nil, err
	}
	s := &Session{a: a, hooks: hooks, start: time.Now()}
	if _, err := hooks.Emit(ctx, agenthooks.Startup(a.names...)); err != nil {
		s.failed = err
		return nil, errors.Join(err, s.Close(ctx))
	}
	return s, nil
}

// A Session is one conversation. One goroutine at a time may use it.
type Session struct {
	a       *Agent
	hooks   *agenthooks.Session
	start   time.Time
	history []message // of turns that were completed
	sources []string  // names of the data in history, for labels
	turns   int
	calls   int64 // tool calls made
	errs    int64 // of them with an error result
	failed  error // of the last turn
	closed  bool
}

// ID returns the session's id.
func (s *Session) ID() string { return s.hooks.ID() }

// Hooks returns the session that numbers the emissions, for labels.
func (s *Session) Hooks() *agenthooks.Session { return s.hooks }

// Close passes agent_shutdown, with the reason "error" when the last turn was
// blocked or failed and "cancelled" when its context ended. A deny there has
// no effect (AH-6.1a-2). It emits even when ctx has ended. Only the first call
// does anything.
func (s *Session) Close(ctx context.Context) error {
	if s.closed {
		return nil
	}
	s.closed = true
	reason := "completed"
	switch {
	case errors.Is(s.failed, context.Canceled), errors.Is(s.failed, context.DeadlineExceeded):
		reason = "cancelled"
	case s.failed != nil:
		reason = "error"
	}
	e := agenthooks.Shutdown(reason)
	e.Optional.Summary = &agenthooks.Summary{ToolCalls: s.calls, Errors: s.errs, Duration: time.Since(s.start)}
	_, err := s.hooks.EmitUnchecked(context.WithoutCancel(ctx), e)
	return err
}
