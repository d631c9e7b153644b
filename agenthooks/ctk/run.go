package ctk

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// DefaultTimeout bounds one vector, from setup to teardown.
const DefaultTimeout = 30 * time.Second

// Options configures [Conform].
type Options struct {
	Timeout time.Duration       // of one vector; zero means [DefaultTimeout]
	Each    func(*VectorResult) // gets each result as it comes; may be nil
}

// Conform plays every vector against h and reports. The error is for a host that
// cannot even declare itself, for an empty set (AH 13.2b), and for the end of
// ctx; a vector that fails is a result.
func Conform(ctx context.Context, h Host, vs []*Vector, o Options) (*Report, error) {
	if len(vs) == 0 {
		return nil, ErrEmpty
	}
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	surface, err := declare(ctx, h, o.Timeout)
	if err != nil {
		return nil, fmt.Errorf("the host did not declare itself: %w", err)
	}
	r := &Report{Surface: *surface}
	for _, v := range vs {
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		res := v.run(ctx, h, surface, o.Timeout)
		r.Results = append(r.Results, res)
		if o.Each != nil {
			o.Each(&r.Results[len(r.Results)-1])
		}
	}
	return r, nil
}

func declare(ctx context.Context, h Host, timeout time.Duration) (*Surface, error) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	s, err := h.Declare(ctx)
	if err != nil {
		return nil, err
	}
	return s, s.check()
}

// run plays one vector on a fresh host.
func (v *Vector) run(ctx context.Context, h Host, surface *Surface, timeout time.Duration) VectorResult {
	res := VectorResult{ID: v.ID, Title: v.Title, Part: v.Part, Status: Pass, Failures: []string{}}
	if missing := v.missing(surface); missing != "" {
		res.Status, res.Detail = Skip, missing
		return res
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	script := v.play()
	record, err := v.drive(ctx, h, script)
	if err != nil {
		res.Status, res.Detail = Fail, err.Error()
		res.Failures = []string{err.Error()}
		return res
	}
	if res.Failures = v.check(script.recorded(), record, surface); len(res.Failures) > 0 {
		res.Status, res.Detail = Fail, res.Failures[0]
	} else {
		res.Failures = []string{}
	}
	return res
}

// missing says what the host does not declare and the vector needs, "" if
// nothing.
func (v *Vector) missing(s *Surface) string {
	var out []string
	for _, c := range v.Capabilities {
		if !s.has(c) {
			out = append(out, string(c))
		}
	}
	if len(out) > 0 {
		return "not declared: " + strings.Join(out, ", ")
	}
	if !s.supports(v.Setup.Composition) {
		return "not declared: " + string(v.Setup.Composition.Profile) + " with this knob"
	}
	return ""
}

// drive is setup, run and teardown, which always follows.
func (v *Vector) drive(ctx context.Context, h Host, script *script) (record *RunRecord, err error) {
	defer func() {
		if p := recover(); p != nil {
			record, err = nil, fmt.Errorf("the host panicked: %v", p)
		}
	}()
	setup := v.Setup
	setup.Script = script
	run, err := h.Open(ctx, &setup)
	if err != nil {
		return nil, fmt.Errorf("setup: %w", err)
	}
	defer func() {
		if closeErr := run.Close(); closeErr != nil {
			err = errors.Join(err, fmt.Errorf("teardown: %w", closeErr))
		}
	}()
	record, err = run.Run(ctx)
	if err != nil {
		return nil, fmt.Errorf("run: %w", err)
	}
	if err := script.broken(); err != nil {
		return nil, fmt.Errorf("run: %w", err)
	}
	if record == nil {
		return nil, errors.New("run: the host reported nothing")
	}
	return record, nil
}
