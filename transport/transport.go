// Package transport carries one frame to a backend and one back: over HTTP, over
// the stdin and stdout of a process, or to a function in this process.
//
// A frame is one JSON text without a line feed. The package does not read
// frames, except that it looks for the id of an answer where a process may
// answer late; it knows nothing of decisions. Whatever goes wrong comes out as
// an [*ahp.Failure] with a class; its text holds nothing that a peer sent.
package transport

import (
	"context"
	"crypto/x509"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"time"

	"github.com/holdpoint/holdpoint/ahp"
)

// A Carrier reaches one backend. Its methods may be called concurrently.
type Carrier interface {
	// Ask sends x and hands the answer to x.Accept. It returns what Accept
	// returned, or the failure to get an answer; it returns when ctx ends, and
	// nothing that arrives later reaches Accept. The deadline of ctx covers all
	// of it, set-up and parsing included (V-DL-2). Ask sends at most once.
	Ask(ctx context.Context, x *Exchange) *ahp.Failure
	// Tell delivers a notification, which has no answer (AHP-RPC-002). The
	// result is for counting only.
	Tell(ctx context.Context, frame []byte) *ahp.Failure
	// Close admits nothing new, ends what is under way, and ends and reaps every
	// process within a bound, at once when ctx ends. It may be called again; all
	// calls return once everything has ended.
	Close(ctx context.Context) error
}

// An Exchange is one question. Its fields do not change while a carrier has it.
type Exchange struct {
	ID string // JSON-RPC id of the question
	// Frame has no line feed. Where its capacity holds one right behind it a
	// stdio carrier needs no copy. A carrier never writes to it, but may still
	// read it after a failed Ask.
	Frame []byte
	// Accept reads an answer and reports what is wrong with it. It is called at
	// most once for each Ask, before Ask returns, and must not keep answer.
	Accept func(answer []byte) *ahp.Failure
}

// Local is a backend in this process: it takes a request frame and returns a
// response frame, or nil for a notification. It is called concurrently. When ctx
// ends the caller has moved on and drops what comes; Local must return soon
// after, because the owner of the call waits for it. An error means "no answer";
// an [*ahp.Failure] in it gives the class. A panic is a failure too.
type Local func(ctx context.Context, frame []byte) ([]byte, error)

// Default bounds, used where a field of [Options] is zero.
const (
	DefaultMaxAnswerBytes = 4 << 20
	DefaultGrace          = time.Second
	DefaultStderrBytes    = 16 << 10
)

// Options bounds and configures carriers. The zero value is usable.
type Options struct {
	// MaxAnswerBytes bounds one answer; a longer one is malformed.
	MaxAnswerBytes int
	// Grace is what an ending process gets to end by itself: once after its
	// stdin is closed, once more after TERM, then it is killed.
	Grace time.Duration
	// StderrBytes is how much of the end of a process's stderr is kept.
	StderrBytes int
	// Env names further variables that child processes get, beside the few that
	// every program needs (V-IO-5).
	Env []string
	// LookupEnv finds variables, for children and for bearer tokens; nil means
	// [os.LookupEnv].
	LookupEnv func(name string) (string, bool)
	// RootCAs replaces the platform's trust for HTTPS; nil keeps it (V-TLS-3).
	RootCAs *x509.CertPool
	// Proxy is used for HTTP; nil means none, whatever the environment says.
	Proxy *url.URL
	// Local holds the functions of local backends by id.
	Local map[string]Local

	// Revision is the revision of the messages; empty means 0.1. In revision draft a
	// 401 is [ahp.FailAuth] (D-FC-4), and a persistent process's answer to a question
	// that is not open is dropped (D-IO-3, D-AMB-18).
	Revision ahp.Version
	// Secret returns the token that a tokenRef names, each time a message is sent.
	// It must return when ctx ends; one that does not is left behind, and only Close
	// waits for it. Nil resolves nothing. An error, and an empty token, mean that the
	// message is not sent (D-FAIL-3, D-AUTH-4).
	Secret func(ctx context.Context, ref string) (string, error)
	// RoundTripper carries HTTP in place of a transport of our own, which RootCAs
	// and Proxy configure. It stays the caller's: Close ends the exchanges on it, and
	// does not touch it (D-SHUT-3). It must not follow redirects or add credentials.
	RoundTripper http.RoundTripper
	// Stray is told of each dropped answer of a persistent process, concurrently;
	// nil tells nobody. Revision draft only.
	Stray func()
}

func (o Options) complete() Options {
	if o.MaxAnswerBytes <= 0 {
		o.MaxAnswerBytes = DefaultMaxAnswerBytes
	}
	if o.Grace <= 0 {
		o.Grace = DefaultGrace
	}
	if o.StderrBytes <= 0 {
		o.StderrBytes = DefaultStderrBytes
	}
	if o.LookupEnv == nil {
		o.LookupEnv = os.LookupEnv
	}
	return o
}

// New returns the carrier for b. It connects and starts nothing: processes and
// connections begin with the first message, and end with Close.
func New(b *ahp.Backend, o Options) (Carrier, error) {
	o = o.complete()
	switch t := b.Transport.(type) {
	case *ahp.HTTPTransport:
		return newHTTP(b, t, o)
	case *ahp.StdioTransport:
		return newStdio(b, t, o)
	case *ahp.LocalTransport:
		f := o.Local[b.ID]
		if f == nil {
			return nil, fmt.Errorf("%s: no local function under this id", b.ID)
		}
		return newLocal(f), nil
	}
	return nil, fmt.Errorf("%s: no transport", b.ID)
}
