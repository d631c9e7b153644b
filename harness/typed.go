package harness

import (
	"context"
	"errors"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/settle"
)

// A Boundary is a typed event that interceptors decide about: [ToolBefore] and the 18
// other types of this package. A host can make its own.
type Boundary[E any] interface {
	// Event is the event to ask about. ID, Source and Time may be empty.
	Event() (*ahp.Event, error)
	// Effective is the receiver with what accepted effects changed. An error says
	// that the effective event does not fit the type; a response that leads there is
	// rejected whole (D-STAGE-10).
	Effective(ev *ahp.Event) (E, error)
}

// Settle asks about e, waits until observers are told, and returns the effective e and
// the settlement. Before it acts on e, a host asks the settlement:
//
//	e, s, err := harness.Settle(ctx, h, harness.ToolBefore[Args]{…})
//	switch s.State {
//	case settle.Proceed: // the host's own permissions, then run e.Args
//	case settle.Ask: // get an approval for s.Operation, then s.Approve
//	case settle.Supplied: // s.Candidate in place of running; see ResolveTool
//	default: // not run: denied, stopped, interrupted
//	}
//
// e is always returned as accepted effects left it, except where the settlement could
// not be made; then it is the e that was given. The settlement holds whatever the
// error, which is that of [Call.Settle], of an e that is no event ([ErrEvent]), or the
// end of ctx while observers were told.
//
// Where observers must not delay the caller, use [Harness.Begin], [Call.Settle] and
// [Call.Wait].
func Settle[E Boundary[E]](ctx context.Context, h *Harness, e E) (E, settle.Settlement, error) {
	ev, err := e.Event()
	if err != nil {
		return e, settle.Settlement{State: settle.Denied, Reason: ahp.GenericDenial, Synthetic: true, Class: ahp.FailEvent},
			errors.Join(ErrEvent, err)
	}
	c := h.begin(ctx, ev, func(ev *ahp.Event) error {
		_, err := e.Effective(ev)
		return err
	})
	s, err := c.Settle()
	if werr := c.Wait(ctx); err == nil {
		err = werr
	}
	if s.Event == nil {
		return e, s, err
	}
	out, xerr := e.Effective(s.Event)
	if xerr != nil { // the event as it was given does not fit its own type
		s.State, s.Reason, s.Synthetic, s.Class, s.Candidate = settle.Denied, ahp.GenericDenial, true, ahp.FailEvent, nil
		return e, s, errors.Join(err, ErrEvent, xerr)
	}
	return out, s, err
}

// Observe tells observers about ev and waits until they are told: for the events that
// nobody decides about. An error is [ErrEvent], [ErrClosed], [ErrDuplicate], or the
// end of ctx; what becomes of single deliveries is in [Harness.Stats] and the log.
func Observe(ctx context.Context, h *Harness, ev *ahp.Event) error {
	c := h.Begin(ctx, ev)
	_, err := c.Settle()
	if werr := c.Wait(ctx); err == nil {
		err = werr
	}
	return err
}

// Base is what events of every type share. All of it is optional, but for the session
// of a SessionStart and the turn of the turn's events.
type Base struct {
	ID          string // [NewID] makes one where it is empty
	Time        string // RFC 3339; now where it is empty
	Session     ahp.Session
	Turn        *ahp.Turn
	Parent      string // id of an event of the same source; see [Link]
	Gaps        []ahp.Gap
	Native      *ahp.Native
	Synthesized *bool
	Extensions  ahp.Members
}

func (b *Base) event(t ahp.EventType, messages []ahp.Message, body ahp.Body) *ahp.Event {
	return &ahp.Event{
		ID: b.ID, Type: t, Time: b.Time, Session: b.Session, Turn: b.Turn, Parent: b.Parent,
		Gaps: b.Gaps, Native: b.Native, Synthesized: b.Synthesized,
		Extensions: b.Extensions, HasExtensions: b.Extensions != nil,
		Messages: messages, Body: body,
	}
}

func (b *Base) effective(ev *ahp.Event) { b.ID, b.Time = ev.ID, ev.Time }

// strict reads JSON into a value: no unknown members, no repeats, nothing behind it.
var strict = json.JoinOptions(json.RejectUnknownMembers(true), jsontext.AllowDuplicateNames(false))

// toolEvent makes the tool of an event with typed arguments.
func toolEvent[Args any](t ahp.Tool, args Args) (*ahp.Tool, error) {
	in, err := json.Marshal(args)
	if err != nil {
		return nil, errArguments
	}
	t.Input = in
	if t.Origin == "" {
		t.Origin = ahp.OriginNative
	}
	if t.Path == "" {
		t.Path = string(t.Origin)
	}
	return &t, nil
}

func toolArgs[Args any](ev *ahp.Event) (args Args, err error) {
	if ev.Tool == nil || json.Unmarshal(ev.Tool.Input, &args, strict) != nil {
		return args, errArguments // the cause may quote the input
	}
	return args, nil
}

var errArguments = errors.New("the tool's input does not fit its arguments")

// ToolBefore is a tool call before it runs (AHP-TB-001). Args is the type of its
// arguments, which must be a JSON object: the effective input is read back into it
// strictly, and a response whose input does not fit is rejected whole.
type ToolBefore[Args any] struct {
	Base
	// Tool names the tool and the call. Its Input is not used; Origin and Path are
	// native where they are empty.
	Tool  ahp.Tool
	Args  Args
	Parts []ahp.Part // content beside the input; may be nil
}

// Event implements [Boundary].
func (e ToolBefore[Args]) Event() (*ahp.Event, error) {
	t, err := toolEvent(e.Tool, e.Args)
	if err != nil {
		return nil, err
	}
	ev := e.event(ahp.ToolBefore, nil, nil)
	ev.Tool, ev.Parts = t, e.Parts
	return ev, nil
}

// Effective implements [Boundary].
func (e ToolBefore[Args]) Effective(ev *ahp.Event) (ToolBefore[Args], error) {
	args, err := toolArgs[Args](ev)
	if err != nil {
		return e, err
	}
	e.effective(ev)
	e.Args, e.Tool = args, *ev.Tool
	return e, nil
}

// PermissionRequest is the host's own permission request about a tool call.
type PermissionRequest[Args any] struct {
	Base
	Tool ahp.Tool // as in [ToolBefore]
	Args Args
	ahp.PermissionRequestBody
}

// Event implements [Boundary].
func (e PermissionRequest[Args]) Event() (*ahp.Event, error) {
	t, err := toolEvent(e.Tool, e.Args)
	if err != nil {
		return nil, err
	}
	ev := e.event(ahp.ToolPermissionRequest, nil, &e.PermissionRequestBody)
	ev.Tool = t
	return ev, nil
}

// Effective implements [Boundary].
func (e PermissionRequest[Args]) Effective(ev *ahp.Event) (PermissionRequest[Args], error) {
	args, err := toolArgs[Args](ev)
	if err != nil {
		return e, err
	}
	e.effective(ev)
	e.Args, e.Tool = args, *ev.Tool
	return e, nil
}

// ToolAfter is a resolved tool call: run, denied, supplied, cancelled or timed out
// (D-TE-2). Messages are its result as the model will see it.
type ToolAfter struct {
	Base
	Tool     ahp.Tool // with the Input that was in effect
	Messages []ahp.Message
	ahp.ToolAfterBody
}

// Event implements [Boundary].
func (e ToolAfter) Event() (*ahp.Event, error) {
	ev := e.event(ahp.ToolAfter, e.Messages, &e.ToolAfterBody)
	ev.Tool = &e.Tool
	return ev, nil
}

// Effective implements [Boundary].
func (e ToolAfter) Effective(ev *ahp.Event) (ToolAfter, error) {
	e.effective(ev)
	e.Messages = ev.Messages
	return e, nil
}
