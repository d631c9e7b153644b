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
	// inside the first deadline (V-RETRY-1, D-RETRY-1); in revision draft a
	// notification as well (D-OBS-13). Negative means never.
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

	// Carriers replaces the carriers of backends by id. They stay the caller's, and
	// Close leaves them open (D-SHUT-3); so does a Transport.RoundTripper.
	Carriers map[string]transport.Carrier

	// The members below belong to revision draft.

	// Manifest says what the host covers: which events in which modes, and what it
	// can enforce at each. Required for a registration of revision draft, which is
	// checked against it (D-REG-4); Capabilities is not used then. [New] does not
	// copy it: it must not change any more.
	Manifest *ahp.Manifest
	// Offer narrows what the manifest says for one event: a path that cannot be
	// blocked, a host without a user to ask, steps that are left (D-CAP-1). What it
	// adds counts for nothing. It is called once for each call; nil narrows nothing.
	Offer func(ev *ahp.Event, host ahp.Capabilities) ahp.Capabilities
	// Boundary adds the host's own checks to those of every response.
	Boundary settle.BoundaryOptions
	// Authorize is asked before a response that changed the effective event is
	// taken; an error rejects the response whole (D-TGT-10, D-TGT-12). Unlike the
	// functions of Boundary it may block, at most until ctx ends; no lock is held,
	// and deadline and cancellation are looked at again after it (D-INT-7). Nil
	// allows.
	Authorize func(ctx context.Context, from Receiver, was, is *ahp.Event) error
	// MayShow is asked about each part whose body a subscription selects (D-SEL-7).
	// Nil shows text, and no attachment reference: a reference belongs to one
	// receiver, and only the host knows whose it is (D-UP-18).
	MayShow func(to Receiver, p *ahp.Part) bool
	// ShowNative is the local policy on native payloads: without it no subscription
	// gets one, whatever it asks for (D-NAT-1).
	ShowNative bool
	// Scopes lists the scopes that the host honors for this registration; another
	// one is refused at load (D-SUB-5). Nil means those of the manifest.
	Scopes []ahp.Scope
	// Disabled names subscriptions that user or project configuration turned off:
	// by id, or as "backend/N" by position. One that is not disableable is an error
	// (D-SUB-6).
	Disabled []string
	// Secret resolves a tokenRef each time a message is sent. It must return when
	// ctx ends. [SecretDir] makes one.
	Secret func(ctx context.Context, ref string) (string, error)
	// StrictSecrets refuses at load what does not resolve then (D-SUB-9).
	StrictSecrets bool
}

// A Receiver is one subscription, as hooks of [Options] see it. The ids are local:
// they stand in no message (D-ENV-6).
type Receiver struct {
	Backend      string
	Subscription string // its id, or "backend/N" with its position from 0
	Mode         ahp.Mode
}

func (o Options) complete(version ahp.Version) (Options, error) {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if u, err := url.Parse(o.Source); o.Source == "" || err != nil || !u.IsAbs() {
		bad("options: source: not an absolute URI")
	} else if u.User != nil {
		bad("options: source: holds user information")
	}
	if version == ahp.VersionDraft {
		errs = append(errs, checkManifest(o.Manifest)...)
	} else if len(o.Capabilities.Effects) == 0 {
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
	o.Transport.Revision = version
	if version == ahp.VersionDraft && o.Transport.Secret == nil {
		o.Transport.Secret = o.Secret
	}
	if o.Transport.MaxAnswerBytes <= 0 {
		o.Transport.MaxAnswerBytes = transport.DefaultMaxAnswerBytes
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o, errors.Join(errs...)
}
