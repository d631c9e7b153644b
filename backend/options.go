package backend

import (
	"cmp"
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/wire01"
)

// Defaults of [Options].
const (
	DefaultMaxConcurrent = 256
	DefaultTimeout       = 30 * time.Second
	DefaultMemoryEntries = 4096
	DefaultMemoryBytes   = 16 << 20
	DefaultMemoryTTL     = 2 * time.Minute
)

// Options configures a [Server]. [New] copies it; later changes have no effect.
// The zero value is usable.
type Options struct {
	// Versions are the revisions that the server speaks; none is [ahp.Version01]
	// alone. The protocolVersion of a message decides, exactly (D-VER-1, D-VER-4);
	// any other is answered with -32001 and this list (D-VER-2).
	Versions []ahp.Version

	// Manifest answers hooks/capabilities of revision draft, with the events that this
	// backend decides about (D-AMB-9). Its intercept entries are then all there is: a
	// request about another event is answered with -32002. Nil means that the method
	// is unknown (-32601), and that the handler is asked about every event.
	Manifest *ahp.Manifest

	// Observe gets each hooks/observe event; nil drops them. It is called
	// concurrently, and may see an event again (V-RETRY-6). Its ctx ends as a
	// handler's does; a panic is logged.
	Observe func(ctx context.Context, r *Request)

	// Rejected hears of each message that neither the handler nor Observe is asked
	// about, before it is answered; nil drops it. It is called concurrently, by whoever
	// serves the message, and must return at once. It hears of HTTP requests that are
	// refused before there is a message (a credential, a media type) as well.
	Rejected func(Rejection)

	// Authenticate says which principal sends an HTTP request; false is answered
	// with 401. Nil lets everybody in under the empty principal. See [BearerToken].
	Authenticate func(r *http.Request) (principal string, ok bool)

	// Authorize says whether that principal may ask at all; false is answered with
	// 403, before anything is read (D-AUTH-8). Nil lets everybody.
	Authorize func(r *http.Request, principal string) bool

	Limits        wire01.Limits // of one message; MaxBytes also bounds an HTTP body and a line
	MaxConcurrent int           // requests and observations under way; more are -32003 at once; zero is [DefaultMaxConcurrent]
	Timeout       time.Duration // bounds one call of the handler; zero is [DefaultTimeout]

	// Prompt says that the handler and Observe return soon after their ctx ends,
	// whatever they do, end no goroutine, and keep nothing of the Request but strings:
	// its memory, raw values included, is the server's again when they have returned.
	// They are then called on the goroutine that serves the request, which saves one
	// for each, and most of the memory. A handler that breaks the promise holds up
	// its connection, and its request gets no answer in time.
	Prompt bool

	// What is remembered of answers, to give a repeated event the same one
	// (AHP-CORE-004, V-RETRY-4): how many, how many bytes in all, how long after
	// the answer. Zero is the default. Failures are not remembered.
	MemoryEntries int
	MemoryBytes   int
	MemoryTTL     time.Duration

	Logger *slog.Logger // gets diagnostics, never payloads; nil discards them
}

func (o Options) complete() (Options, error) {
	var errs []error
	check := func(name string, v int64) {
		if v < 0 {
			errs = append(errs, fmt.Errorf("%s: %d is negative", name, v))
		}
	}
	if len(o.Versions) == 0 {
		o.Versions = []ahp.Version{ahp.Version01}
	}
	for i, v := range o.Versions {
		if v != ahp.Version01 && v != ahp.VersionDraft {
			errs = append(errs, fmt.Errorf("versions: %q is no revision", v))
		} else if slices.Contains(o.Versions[:i], v) {
			errs = append(errs, fmt.Errorf("versions: %s stands twice", v))
		}
	}
	if o.Manifest != nil && !slices.Contains(o.Versions, ahp.VersionDraft) {
		errs = append(errs, errors.New("manifest: only revision draft has one"))
	}
	o.Versions = slices.Clone(o.Versions)
	check("max concurrent", int64(o.MaxConcurrent))
	check("timeout", int64(o.Timeout))
	check("memory entries", int64(o.MemoryEntries))
	check("memory bytes", int64(o.MemoryBytes))
	check("memory time", int64(o.MemoryTTL))
	o.MaxConcurrent = cmp.Or(o.MaxConcurrent, DefaultMaxConcurrent)
	o.Timeout = cmp.Or(o.Timeout, DefaultTimeout)
	o.MemoryEntries = cmp.Or(o.MemoryEntries, DefaultMemoryEntries)
	o.MemoryBytes = cmp.Or(o.MemoryBytes, DefaultMemoryBytes)
	o.MemoryTTL = cmp.Or(o.MemoryTTL, DefaultMemoryTTL)
	if o.Limits.MaxBytes <= 0 {
		o.Limits.MaxBytes = wire01.DefaultMaxBytes
	}
	o.Limits.SingleLine = false // a matter of the carrier
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o, errors.Join(errs...)
}

// BearerToken returns an [Options.Authenticate] that lets in whoever sends the
// token as "Authorization: Bearer <token>" (V-AUTH-1), as that principal. The
// comparison takes the same time whatever was sent. It panics on an empty token,
// which would let everybody in.
func BearerToken(token, principal string) func(*http.Request) (string, bool) {
	if token == "" {
		panic("backend: empty bearer token")
	}
	want := sha256.Sum256([]byte(token))
	return func(r *http.Request) (string, bool) {
		scheme, got, _ := strings.Cut(r.Header.Get("Authorization"), " ")
		sum := sha256.Sum256([]byte(got))
		if !strings.EqualFold(scheme, "Bearer") || subtle.ConstantTimeCompare(sum[:], want[:]) != 1 {
			return "", false
		}
		return principal, true
	}
}
