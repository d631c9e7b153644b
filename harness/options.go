package harness

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"time"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/wire01"
	"github.com/holdpoint/holdpoint/settle"
	"github.com/holdpoint/holdpoint/transport"
)

// Defaults, used where a field of [Options] is zero.
const (
	DefaultBudget         = time.Minute
	DefaultRecordTimeout  = 5 * time.Second
	DefaultObserveTimeout = 5 * time.Second
	DefaultObserveQueue   = 256
	DefaultRetries        = 1
)

// A Recorder keeps records. Record is called once for each settlement, before
// Settle returns it, concurrently for concurrent calls. ctx carries the values
// of the caller's context but not its end: it ends after
// [Options.RecordTimeout], and Record must return then. The record is Record's
// to keep.
type Recorder interface {
	Record(ctx context.Context, r *settle.Record) error
}

type discard struct{}

func (discard) Record(context.Context, *settle.Record) error { return nil }

// Discard is a [Recorder] that keeps nothing. With it the harness also saves
// itself the work of computing operation identities.
var Discard Recorder = discard{}

// RecordFailure says what a settlement comes to whose record was not kept.
type RecordFailure string

// The two ways; the zero value means [RecordDeny].
const (
	RecordDeny    RecordFailure = "deny"    // refuse the operation
	RecordProceed RecordFailure = "proceed" // let the settlement stand; log and count
)

// Options configures a [Harness]. [New] copies it; later changes have no effect.
type Options struct {
	// Source names this harness in events that have no source: an absolute URI
	// without secrets (V-EVT-2). Required.
	Source string
	// Capabilities is what the host can enforce for tool.before. It has no
	// default, and must hold deny (AHP-CAP-001, V-CAP-1).
	Capabilities ahp.Capabilities
	// Recorder gets one record for each settlement. Required; [Discard] says
	// openly that none are kept.
	Recorder Recorder
	// RecordFailure decides about settlements whose record failed.
	RecordFailure RecordFailure
	// RecordTimeout bounds one call of the recorder.
	RecordTimeout time.Duration

	// Local holds the functions of the registration's local backends by id.
	Local map[string]transport.Local
	// Transport configures carriers: roots, proxy, environment, bounds. Its
	// Local member is ignored.
	Transport transport.Options

	// Budget bounds one call from Begin on, retries and observations included.
	// A budget that ends before the settlement is never a permission.
	Budget time.Duration
	// Retries is how often a question is sent again after a lost connection,
	// inside the first deadline (V-RETRY-1). Negative means never.
	Retries int
	// MaxEventBytes bounds an encoded event; default [wire01.DefaultMaxBytes].
	// What exceeds it is refused whatever the failure policy says.
	MaxEventBytes int
	// EventByPolicy leaves failures that the event itself causes to the failure
	// policy. Under fail-open a padded event then gets through.
	EventByPolicy bool

	// MinimalSession drops every optional session field from what leaves the
	// process (V-EVT-3). Local backends still see them.
	MinimalSession bool
	// HideReasons shows the agent a fixed text in place of a backend's reason
	// (V-LIFE-4). The record keeps the reason.
	HideReasons bool

	// ObserveQueue bounds the notifications that wait for one backend; what
	// comes on top is dropped and counted.
	ObserveQueue int
	// ObserveTimeout bounds one delivery.
	ObserveTimeout time.Duration

	// Logger gets diagnostics, never payloads; nil discards them.
	Logger *slog.Logger
}

func (o Options) complete() (Options, error) {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if u, err := url.Parse(o.Source); o.Source == "" || err != nil || !u.IsAbs() {
		bad("options: source: not an absolute URI")
	} else if u.User != nil {
		bad("options: source: holds user information")
	}
	if len(o.Capabilities.Effects) == 0 {
		bad("options: capabilities: required")
	} else {
		seen := map[ahp.EffectType]bool{}
		for _, e := range o.Capabilities.Effects {
			if e != ahp.EffectDeny && !ahp.ReverseDNS(string(e)) {
				bad("options: capabilities: %q is neither deny nor a reverse-DNS name", e)
			}
			if seen[e] {
				bad("options: capabilities: %q stands there twice", e)
			}
			seen[e] = true
		}
		if !o.Capabilities.Allows(ahp.EffectDeny) {
			bad("options: capabilities: a host that cannot deny cannot intercept")
		}
	}
	if o.Recorder == nil {
		bad("options: recorder: required; use Discard to keep no records")
	}
	o.RecordFailure = cmp.Or(o.RecordFailure, RecordDeny)
	if o.RecordFailure != RecordDeny && o.RecordFailure != RecordProceed {
		bad("options: record failure: %q is neither deny nor proceed", o.RecordFailure)
	}
	for _, d := range []struct {
		name string
		v    time.Duration
	}{{"budget", o.Budget}, {"record timeout", o.RecordTimeout}, {"observe timeout", o.ObserveTimeout}} {
		if d.v < 0 {
			bad("options: %s: %v is negative", d.name, d.v)
		}
	}
	if o.MaxEventBytes < 0 || o.ObserveQueue < 0 {
		bad("options: a bound is negative")
	}
	o.Budget = cmp.Or(o.Budget, DefaultBudget)
	o.RecordTimeout = cmp.Or(o.RecordTimeout, DefaultRecordTimeout)
	o.ObserveTimeout = cmp.Or(o.ObserveTimeout, DefaultObserveTimeout)
	o.ObserveQueue = cmp.Or(o.ObserveQueue, DefaultObserveQueue)
	o.MaxEventBytes = cmp.Or(o.MaxEventBytes, wire01.DefaultMaxBytes)
	o.Retries = max(cmp.Or(o.Retries, DefaultRetries), 0)
	o.Transport.Local = o.Local
	if o.Transport.MaxAnswerBytes <= 0 {
		o.Transport.MaxAnswerBytes = transport.DefaultMaxAnswerBytes
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o, errors.Join(errs...)
}
