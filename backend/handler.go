package backend

import (
	"context"
	"errors"
	"time"

	"github.com/holdpoint/holdpoint/ahp"
)

// A Handler decides on events.
//
// Intercept is called concurrently, once for each request; what is repeated while
// it runs or soon after gets the same answer without a call. When ctx ends the
// harness has moved on: return, a late answer is dropped. No effects let the
// operation proceed to the host's own permissions. To refuse, return one
// [*ahp.Deny]; [Request.Effects] builds all effects. An error means "no answer", and
// the harness applies its failure policy: [ErrUnavailable] is told as -32003, every
// other error and every panic as -32004, without its text. Effects that the harness
// did not offer or that the protocol does not allow at the event are such an error
// too: a list of which one is not acceptable is not sent.
type Handler interface {
	Intercept(ctx context.Context, r *Request) ([]ahp.Effect, error)
}

// HandlerFunc is a function that serves as a [Handler].
type HandlerFunc func(context.Context, *Request) ([]ahp.Effect, error)

// Intercept calls f.
func (f HandlerFunc) Intercept(ctx context.Context, r *Request) ([]ahp.Effect, error) {
	return f(ctx, r)
}

var _ Handler = HandlerFunc(nil)

// A Request is one event that somebody asks or tells about. It belongs to the
// handler. Effects of revision draft are checked against Event once the handler has
// returned; a handler that wants to change the event changes a copy.
type Request struct {
	Version   ahp.Version // the revision that it came in
	Event     *ahp.Event  // valid for the revision
	EventText ahp.Raw     // the event as it was sent

	// Principal says who asks: what [Options.Authenticate] or [WithPrincipal]
	// gave, or empty. Nothing in the event is proof of it (V-EXT-2).
	Principal string

	Capabilities ahp.Capabilities // what may be returned; zero for observations

	// State is what the chain accepted so far (AHP draft section 2.1); nil when the
	// harness says nothing of it, and in revision 0.1. It is untrusted, and no
	// authority (D-APP-5).
	State *ahp.State

	Extensions    ahp.Members // of the request's params
	HasExtensions bool

	Deadline time.Time // when ctx ends by itself
}

// ErrUnavailable is returned by a [Handler], alone or wrapped, that cannot
// evaluate for the moment (-32003): a dependency is down, a queue is full.
var ErrUnavailable = errors.New("backend unavailable")

type principalKey struct{}

// WithPrincipal returns a context under which [Server.Local] and
// [Server.ServeStdio] see that principal.
func WithPrincipal(ctx context.Context, principal string) context.Context {
	return context.WithValue(ctx, principalKey{}, principal)
}

func principalOf(ctx context.Context) string {
	p, _ := ctx.Value(principalKey{}).(string)
	return p
}
