package gateway

import (
	"cmp"
	"crypto/tls"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"path/filepath"
	"time"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/audit"
	"github.com/holdpoint/holdpoint/harness"
	"github.com/holdpoint/holdpoint/hookwire"
)

// PolicyID is the backend id of the gateway's own policy. It goes first in every
// chain, and no registration may use it.
const PolicyID = "dev.holdpoint.policy"

// Oversize says what becomes of a hook payload beyond the limit.
type Oversize string

// The two ways. There is no default.
const (
	OversizeRefuse Oversize = "refuse" // refused whatever the failure policy says
	OversizePolicy Oversize = "policy" // the hook client's failure policy decides
)

// The defaults of [Options].
const (
	DefaultDrain          = 5 * time.Second
	DefaultFrameTimeout   = 5 * time.Second // a client sends its frame at once
	DefaultMaxConnections = 256
	DefaultBudget         = 10 * time.Second // of a client that states none
	MaxBudget             = 10 * time.Minute
)

// Options configures a [Gateway]. [Open] copies it; later changes have no effect.
type Options struct {
	// Socket is the path of the hook socket, and AHPSocket that of the AHP
	// endpoint: absolute, at most [hookwire.MaxSocketPathBytes] bytes, in folders that only the
	// user can enter. An empty AHPSocket means ahp.sock beside Socket.
	Socket, AHPSocket string

	// Policy says where the policy comes from. PolicyTimeout and FailurePolicy
	// are those of the gateway's own policy in the chain; both are required.
	Policy        PolicySource
	PolicyTimeout time.Duration
	FailurePolicy ahp.FailurePolicy
	// Reload says when the policy folder is read again; required with a folder.
	Reload ReloadMode

	// Hooks are further backends of the chain, in order, behind the policy.
	Hooks []ahp.Backend
	// Revision is that of Hooks, in which the chain runs. Empty means 0.1 with Hooks,
	// and draft without.
	Revision ahp.Version
	// Secrets is the folder of the files that a tokenRef of Hooks names
	// ([harness.SecretDir]); empty refuses such references. Draft only.
	Secrets string
	// RewriteAllows lets a changed input be allowed, past the user's own prompt, by
	// agents that take none without (Codex). Without it they are offered no change,
	// and what the policy would change there is refused. Draft only.
	RewriteAllows bool

	// Audit keeps the records; required. The caller closes it after Run.
	Audit audit.Log
	// OnAuditFailure says what a decision comes to whose record was not kept;
	// required.
	OnAuditFailure harness.RecordFailure
	// FactValues puts what the facts of a decision say into its record: short lines,
	// bounded, with secrets replaced. Without it a record has their names only.
	FactValues bool
	// KeepFor and KeepBytes bound the audit log; zero keeps everything.
	KeepFor   time.Duration
	KeepBytes int64

	// Oversize says what becomes of payloads above MaxPayloadBytes; required.
	Oversize        Oversize
	MaxPayloadBytes int // zero means [hookwire.MaxPayloadBytes]

	// TCP, when not nil, serves the AHP endpoint on a TCP address as well.
	TCP *TCP

	// FrameTimeout bounds the arrival of one frame or request head; zero means
	// [DefaultFrameTimeout].
	FrameTimeout time.Duration

	MaxConnections int           // at the same time on each socket; zero means [DefaultMaxConnections]
	Drain          time.Duration // how long a stop waits for what is under way; zero means [DefaultDrain]

	// Native puts the agent's own payload into events, for the backends that ask
	// for it (V-NAT-1: off by default).
	Native bool

	// Daemon says that the process is this gateway's alone. Run then sets the garbage
	// collector of the whole process for little memory, unless GOGC is set, and gives
	// memory back when there is little to do.
	Daemon bool

	Version string       // of the program, for /healthz and audit entries
	Logger  *slog.Logger // gets diagnostics, never payloads; nil discards them
}

// TCP says how the AHP endpoint is served on a TCP address.
type TCP struct {
	Addr  string   // host:port; port 0 takes a free one
	Token string   // bearer token that every request must carry, on loopback too; at least 16 bytes
	Hosts []string // further names under which the address may be asked for
	TLS   *tls.Config
}

const minTokenBytes = 16

func (o Options) complete() (Options, error) {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if err := checkSocketPath(o.Socket); err != nil {
		errs = append(errs, err)
	} else {
		o.AHPSocket = cmp.Or(o.AHPSocket, filepath.Join(filepath.Dir(o.Socket), "ahp.sock"))
		if err := checkSocketPath(o.AHPSocket); err != nil {
			errs = append(errs, err)
		} else if o.AHPSocket == o.Socket {
			bad("AHP socket: it is the hook socket")
		}
	}
	if o.PolicyTimeout <= 0 || o.PolicyTimeout%time.Millisecond != 0 || o.PolicyTimeout > MaxBudget {
		bad("policy timeout: %v, expected a positive number of whole milliseconds, at most %v", o.PolicyTimeout, MaxBudget)
	}
	if !o.FailurePolicy.Known() {
		bad("failure policy: expected %s or %s; there is no default", ahp.FailOpen, ahp.FailClosed)
	}
	if o.Policy.Dir != "" {
		if !filepath.IsAbs(o.Policy.Dir) {
			bad("policy folder: %q is no absolute path", o.Policy.Dir)
		}
		if o.Reload != ReloadAuto && o.Reload != ReloadManual {
			bad("reload: %q, expected %s or %s", o.Reload, ReloadAuto, ReloadManual)
		}
	}
	if err := o.checkHooks(); err != nil {
		errs = append(errs, err)
	}
	o.Revision = o.revision()
	if o.Secrets != "" && !filepath.IsAbs(o.Secrets) {
		bad("secrets: %q is no absolute path", o.Secrets)
	}
	if o.Revision != ahp.Version01 && o.Revision != ahp.VersionDraft {
		bad("revision: %q, expected %s or %s", o.Revision, ahp.Version01, ahp.VersionDraft)
	}
	if o.Audit == nil {
		bad("audit: required")
	}
	if o.OnAuditFailure != harness.RecordDeny && o.OnAuditFailure != harness.RecordProceed {
		bad("audit on failure: %q, expected deny or proceed", o.OnAuditFailure)
	}
	if o.Oversize != OversizeRefuse && o.Oversize != OversizePolicy {
		bad("oversize: %q, expected %s or %s", o.Oversize, OversizeRefuse, OversizePolicy)
	}
	for _, b := range []struct {
		name string
		is   int64
	}{
		{"audit: time to keep", int64(o.KeepFor)},
		{"audit: bytes to keep", o.KeepBytes},
		{"payload bytes", int64(o.MaxPayloadBytes)},
		{"connections", int64(o.MaxConnections)},
		{"drain", int64(o.Drain)},
		{"frame timeout", int64(o.FrameTimeout)},
	} {
		if b.is < 0 {
			bad("%s: the bound is negative", b.name)
		}
	}
	if o.TCP != nil {
		errs = append(errs, o.TCP.check())
	}
	o.MaxPayloadBytes = cmp.Or(o.MaxPayloadBytes, hookwire.MaxPayloadBytes)
	o.MaxConnections = cmp.Or(o.MaxConnections, DefaultMaxConnections)
	o.FrameTimeout = cmp.Or(o.FrameTimeout, DefaultFrameTimeout)
	o.Drain = cmp.Or(o.Drain, DefaultDrain)
	o.Version = cmp.Or(o.Version, "dev")
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	return o, errors.Join(errs...)
}

// check refuses an address without a token, and one beyond loopback without TLS.
func (t *TCP) check() error {
	host, _, err := net.SplitHostPort(t.Addr)
	if err != nil {
		return fmt.Errorf("listen %q: expected host:port", t.Addr)
	}
	var errs []error
	switch {
	case t.Token == "":
		errs = append(errs, fmt.Errorf("listen %s: a token is required, on loopback too", t.Addr))
	case len(t.Token) < minTokenBytes:
		errs = append(errs, fmt.Errorf("listen %s: the token has %d bytes, expected at least %d", t.Addr, len(t.Token), minTokenBytes))
	}
	for i := range len(t.Token) {
		if c := t.Token[i]; c <= ' ' || c >= 0x7f {
			errs = append(errs, fmt.Errorf("listen %s: the token holds a space, a control or a non-ASCII character", t.Addr))
			break
		}
	}
	if t.TLS == nil && !loopback(host) {
		errs = append(errs, fmt.Errorf("listen %s: beyond loopback a certificate is required (TLS)", t.Addr))
	}
	return errors.Join(errs...)
}

// loopback reports whether only this machine can reach host. A name other than
// localhost is not taken for one, whatever it resolves to today.
func loopback(host string) bool {
	ip := net.ParseIP(host)
	return host == "localhost" || ip != nil && ip.IsLoopback()
}
