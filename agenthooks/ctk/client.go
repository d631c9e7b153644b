package ctk

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/holdpoint/holdpoint/agenthooks"
)

// Bounds of what a host may send for one vector. Contexts are kept until the
// vector is judged.
const (
	maxCallbacks = 20_000
	maxRunBytes  = 64 << 20
)

// client is the kit's end of the line protocol. One goroutine at a time uses
// it: a host answers before it is asked again, and while it runs it may have
// any number of callbacks open.
type client struct {
	peer *lines
}

// ask sends m and reads the answer of the type want into out. An error message
// of the host is a [HostError].
func (c *client) ask(m any, want string, out any) error {
	if err := c.peer.write(m); err != nil {
		return fmt.Errorf("write to the host: %w", err)
	}
	line, err := c.next()
	if err != nil {
		return err
	}
	return expectMessage(line, want, out)
}

func (c *client) next() ([]byte, error) {
	line, err := c.peer.read()
	if errors.Is(err, io.EOF) {
		return nil, errGone
	}
	if err != nil {
		return nil, fmt.Errorf("read from the host: %w", err)
	}
	return line, nil
}

// errGone reports a host that closed its output.
var errGone = errors.New("the host ended its output")

// A HostError is what a host says went wrong. The host is still there.
type HostError struct{ Message string }

// Error is the host's message, cut short.
func (e *HostError) Error() string {
	m := plain(e.Message)
	if len(m) > 500 {
		m = m[:500] + "…"
	}
	return "the host reports: " + m
}

func expectMessage(line []byte, want string, out any) error {
	typ, err := typeOf(line)
	if err != nil {
		return fmt.Errorf("a line is no message: %w", err)
	}
	switch typ {
	case want:
		if err := decodeMessage(line, out); err != nil {
			return fmt.Errorf("%s: %w", want, err)
		}
		return nil
	case typeError:
		var m errorMessage
		if err := decodeMessage(line, &m); err != nil {
			return fmt.Errorf("error: %w", err)
		}
		return &HostError{m.Message}
	}
	return fmt.Errorf("found a message of type %q, expected %s", escape(typ), want)
}

func (c *client) declare() (*Surface, error) {
	var m surfaceMessage
	if err := c.ask(helloMessage{typeHello, ProtocolVersion, agenthooks.SpecVersion}, typeSurface, &m); err != nil {
		return nil, err
	}
	return &m.Surface, m.check()
}

func (c *client) setup(s *Setup) error {
	m := setupMessage{
		Type: typeSetup, Vector: s.Vector, Mode: s.Mode, Composition: s.Composition, Identity: s.Identity,
		Interceptors: s.Interceptors, Resolver: s.Resolver, Redact: orEmpty(s.Redact),
		Scenario: s.Scenario.scenarioJSON(), Extension: s.Extension.json(),
	}
	return c.ask(m, typeReady, &plainMessage{})
}

// run plays the vector and answers the host's callbacks until the result comes.
func (c *client) run(ctx context.Context, script Callbacks) (*RunRecord, error) {
	if err := c.peer.write(plainMessage{typeRun}); err != nil {
		return nil, fmt.Errorf("write to the host: %w", err)
	}
	before := c.peer.size
	for range maxCallbacks {
		line, err := c.next()
		if err != nil {
			return nil, err
		}
		if c.peer.size-before > maxRunBytes {
			return nil, fmt.Errorf("more than %d bytes in one vector", maxRunBytes)
		}
		typ, err := typeOf(line)
		if err != nil {
			return nil, fmt.Errorf("a line is no message: %w", err)
		}
		switch typ {
		case typeIntercept:
			var m interceptMessage
			if err := decodeMessage(line, &m); err != nil {
				return nil, fmt.Errorf("intercept: %w", err)
			}
			a, err := script.Intercept(ctx, m.Interceptor, m.Context)
			if err != nil {
				return nil, fmt.Errorf("intercept: %w", err)
			}
			err = c.peer.write(answer(typeVerdict, m.Call, a))
			if err != nil {
				return nil, fmt.Errorf("write to the host: %w", err)
			}
		case typeResolve:
			var m resolveMessage
			if err := decodeMessage(line, &m); err != nil {
				return nil, fmt.Errorf("resolve: %w", err)
			}
			a, err := script.Resolve(ctx, m.Request)
			if err != nil {
				return nil, fmt.Errorf("resolve: %w", err)
			}
			if err := c.peer.write(answer(typeResolution, m.Call, a)); err != nil {
				return nil, fmt.Errorf("write to the host: %w", err)
			}
		default:
			var m resultMessage
			if err := expectMessage(line, typeResult, &m); err != nil {
				return nil, err
			}
			return m.record()
		}
	}
	return nil, fmt.Errorf("more than %d callbacks in one vector", maxCallbacks)
}

func answer(typ string, call int64, a Answer) answerMessage {
	m := answerMessage{Type: typ, Call: call}
	switch {
	case a.Raise:
		m.Fault = raise
		return m
	case a.Mutate:
		m.Fault = mutate
	}
	if typ == typeVerdict {
		m.Verdict = a.JSON
	} else {
		m.Resolution = a.JSON
	}
	return m
}

func (c *client) teardown() error {
	return c.ask(plainMessage{typeTeardown}, typeDone, &plainMessage{})
}
