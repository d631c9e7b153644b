package ctk

import (
	"context"
	"io"

	"github.com/holdpoint/holdpoint/agenthooks/loop"
)

// Terminating is the reference host with the other posture.
func Terminating() Host { return reference{posture: loop.Terminate} }

// HasPostures reports whether the outcome of v differs by posture.
func (v *Vector) HasPostures() bool { return v.expect.byPosture != nil }

// OverLines is a host behind the line protocol without a process.
func OverLines(r io.Reader, w io.Writer) Host { return &lineHost{client{newLines(r, w)}} }

type lineHost struct{ c client }

func (h *lineHost) Declare(context.Context) (*Surface, error) { return h.c.declare() }

func (h *lineHost) Open(_ context.Context, s *Setup) (Run, error) {
	if err := h.c.setup(s); err != nil {
		return nil, err
	}
	return &lineRun{h.c, s.Script}, nil
}

type lineRun struct {
	c      client
	script Callbacks
}

func (r *lineRun) Run(ctx context.Context) (*RunRecord, error) { return r.c.run(ctx, r.script) }
func (r *lineRun) Close() error                                { return r.c.teardown() }
