package agenthooks

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
)

// ErrOrder reports an emission that has no place at this time of the session:
// before its startup, after its shutdown, or anything but the shutdown when
// the startup was denied (AH-3.1-1, AH-6.1a-1). Nothing was asked and there is
// no record; the action must not proceed.
var ErrOrder = errors.New("emission out of order")

// SessionOptions configures a [Session].
type SessionOptions struct {
	ID     string         // "" makes a random one
	Mode   Mode           // zero means the host's
	ModeAt map[Point]Mode // overrides Mode, and what the host says, at single points
}

// A Session is one run of an agent: it numbers the emissions over all turns
// (AH-3.1-5, AH-3.1-6), keeps their order, and keeps labels. It may be used
// concurrently, for instance by parallel tool calls.
type Session struct {
	h     *Host
	id    string
	frame frame
	modes [len(pointOrder)]Mode
	data  labelStore

	mu    sync.Mutex
	phase phase
	next  int64
	turn  int64
}

type phase int

const (
	phaseNew     phase = iota
	phaseOpening       // startup under way
	phaseOpen
	phaseRefused // startup denied: only a shutdown may follow
	phaseClosed
)

// NewSession returns a session that waits for its startup.
func (h *Host) NewSession(o SessionOptions) (*Session, error) {
	errs := checkModes(o.ModeAt)
	mode, err := o.Mode.complete("")
	if err != nil {
		errs = append(errs, err)
	}
	if o.ID == "" {
		o.ID = rand.Text()
	}
	id, err := quoted(o.ID)
	if err != nil {
		errs = append(errs, errors.New("session id: must be UTF-8 text"))
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	s := &Session{h: h, id: o.ID, frame: h.frame, turn: -1}
	for i, p := range pointOrder {
		m := h.modeAt(p)
		if mode != "" {
			m = mode
		}
		if at, ok := o.ModeAt[p]; ok {
			m = at
		}
		s.modes[i] = m
	}
	s.frame.sessionID = len(id)
	s.frame.session = id + `,"started_at":"` + h.o.Now().UTC().Format(timestampLayout) + `"`
	return s, nil
}

func (h *Host) modeAt(p Point) Mode {
	if m, ok := h.o.ModeAt[p]; ok {
		return m
	}
	return h.o.Mode
}

// ID returns the session's id.
func (s *Session) ID() string { return s.id }

// Emit asks the interceptors about e. A nil error means that the action may
// proceed, with the emission's target. Otherwise it must not: the error is a
// [*BlockedError] with the record, or wraps [ErrOrder]. When ctx ends the
// emission is denied, recorded, and the error wraps ctx's cause.
func (s *Session) Emit(ctx context.Context, e Event) (*Emission, error) {
	out, err := s.emit(ctx, &e, nil)
	if err != nil {
		return nil, err
	}
	return out, nil
}

// EmitUnchecked is [Session.Emit] for a caller that looks at
// [Emission].Proceeds itself: a block is no error here, and neither is the end
// of ctx, which shows as a deny. Only [ErrOrder] is, with a nil Emission.
func (s *Session) EmitUnchecked(ctx context.Context, e Event) (*Emission, error) {
	out, err := s.emit(ctx, &e, nil)
	if out == nil {
		return nil, err
	}
	return out, nil
}

func (s *Session) emit(ctx context.Context, e *Event, veto func(*Context) string) (*Emission, error) {
	seq, turn, err := s.number(e.point)
	if err != nil {
		return nil, err
	}
	f := s.facts(e, seq)
	c, refused := s.frame.build(e, seq, f.timestamp, turn, s.data.union(e.From).sources(), s.h.bounds)
	out, err := s.h.emit(ctx, f, c, refused, veto)
	s.settle(e, out)
	return out, err
}

// number checks the order and takes the next sequence number in one step, so
// that nothing gets a number behind the shutdown's.
func (s *Session) number(p Point) (seq, turn int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case !p.Valid():
		return 0, 0, fmt.Errorf("%w: not one of the eight points", ErrOrder)
	case s.phase == phaseNew && p == AgentStartup:
		s.phase = phaseOpening
	case s.phase == phaseOpen && p != AgentStartup, s.phase == phaseRefused && p == AgentShutdown:
		if p == AgentShutdown {
			s.phase = phaseClosed
		}
	default:
		return 0, 0, fmt.Errorf("%w: %s %s", ErrOrder, p, s.phase)
	}
	if p == Input {
		s.turn++
	}
	seq = s.next
	s.next++
	return seq, s.turn, nil
}

func (p phase) String() string {
	switch p {
	case phaseNew:
		return "before agent_startup"
	case phaseOpening:
		return "while agent_startup is not decided"
	case phaseRefused:
		return "after agent_startup was denied"
	case phaseClosed:
		return "after agent_shutdown"
	case phaseOpen:
	}
	return "in an open session"
}

// settle moves the session on and keeps labels of what proceeded.
func (s *Session) settle(e *Event, out *Emission) {
	if e.point == AgentStartup {
		s.mu.Lock()
		s.phase = phaseOpen
		if !out.Proceeds {
			s.phase = phaseRefused
		}
		s.mu.Unlock()
	}
	if !out.Proceeds {
		return
	}
	data := e.Data
	if data == "" && (e.point == PreToolCall || e.point == PostToolCall) {
		data = e.id
	}
	s.data.keep(data, out.labels)
}

func (s *Session) facts(e *Event, seq int64) facts {
	f := facts{point: e.point, mode: s.modes[e.point.index()], sessionID: s.id, sequence: seq, timestamp: s.h.o.Now().UTC().Format(timestampLayout)}
	if t := &e.Optional.Trace; *t != (Trace{}) {
		f.trace = &Trace{strings.ToValidUTF8(t.TraceID, "\uFFFD"), strings.ToValidUTF8(t.SpanID, "\uFFFD")}
	}
	return f
}

// Labels returns the labels of the named data together, for a host that wants
// to keep them longer than the session.
func (s *Session) Labels(data ...string) Labels { return s.data.union(data) }

// SetLabels adds labels to the named data, for instance from an earlier
// session.
func (s *Session) SetLabels(data string, l Labels) error {
	for _, ns := range slices.Sorted(maps.Keys(l)) {
		if !namespacePattern(ns) {
			return fmt.Errorf("labels: namespace %q must match ^[a-z][a-z0-9_]*$", ns)
		}
	}
	s.data.keep(data, l)
	return nil
}

// Forget drops the labels of the named data. A session keeps them until then.
func (s *Session) Forget(data string) { s.data.forget(data) }

// RecordHostFailure is for a host that cannot build the event for a point at
// all (AH-10.3-7). It writes a deny host_error:context_invalid under the next
// sequence number. Detail is a type name or a path, never payload. Like
// [Session.Emit] it returns the block, in evaluate_only nil.
func (s *Session) RecordHostFailure(p Point, detail string) (*Emission, error) {
	seq, _, err := s.number(p)
	if err != nil {
		return nil, err
	}
	e := &Event{point: p}
	f := s.facts(e, seq)
	out, err := s.h.failure(f, detail)
	s.settle(e, out)
	if err != nil {
		return nil, err
	}
	return out, nil
}

// HostFailure is what is known about an emission that could not be built.
type HostFailure struct {
	Detail    string // a type name or a path, never payload
	SessionID string // "" when unknown
	Sequence  *int64 // nil when unknown
	Timestamp string // "" when unknown
}

// RecordHostFailure is [Session.RecordHostFailure] outside a session.
func (h *Host) RecordHostFailure(p Point, k HostFailure) (*Emission, error) {
	f := facts{point: p, mode: h.modeAt(p), sessionID: strings.ToValidUTF8(k.SessionID, ""), sequence: -1, timestamp: strings.ToValidUTF8(k.Timestamp, "")}
	if !p.Valid() {
		f.point = AgentStartup // AH-10.3-10
	}
	if k.Sequence != nil {
		f.sequence = *k.Sequence
	}
	out, err := h.failure(f, k.Detail)
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (h *Host) failure(f facts, detail string) (*Emission, error) {
	r := &run{h: h, mode: f.mode, decidedBy: -1, truncated: -1}
	r.deny(ReasonContextInvalid, strings.ToValidUTF8(detail, "\uFFFD"))
	return r.close(f)
}

// EmitJSON asks about a context that somebody else built, as JSON text. It
// checks no session's order. The result is as in [Session.Emit].
func (h *Host) EmitJSON(ctx context.Context, text jsontext.Value) (*Emission, error) {
	out, err := h.EmitJSONUnchecked(ctx, text)
	if err != nil || !out.Proceeds {
		return nil, err
	}
	return out, nil
}

// EmitJSONUnchecked is [Host.EmitJSON] for a caller that wants the emission
// also when it is blocked; then both results are set.
func (h *Host) EmitJSONUnchecked(ctx context.Context, text jsontext.Value) (*Emission, error) {
	c, refused := parseContext(append([]byte{}, text...), h.bounds)
	known := c
	if known == nil {
		known = index(append([]byte{}, text...)) // best effort on text that was refused
	}
	f := known.facts()
	f.mode = h.modeAt(f.point)
	return h.emit(ctx, f, c, refused, nil)
}

// facts reads what a record wants to know, as far as it is there
// (AH-10.3-10).
func (c *Context) facts() facts {
	f := facts{point: AgentStartup, sequence: c.Sequence()}
	if c.spec != nil {
		f.point = c.spec.point
	}
	valid := func(s string) string { return strings.ToValidUTF8(s, "\uFFFD") }
	f.sessionID = valid(c.string("session", "id"))
	f.sequence = max(f.sequence, -1)
	ts, _ := text(c.top[topTimestamp].of(c.text))
	f.timestamp = valid(ts)
	t := Trace{TraceID: valid(c.string("trace", "trace_id")), SpanID: valid(c.string("trace", "span_id"))}
	if t != (Trace{}) {
		f.trace = &t
	}
	return f
}
