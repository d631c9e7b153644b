package gateway

import (
	"cmp"
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/fsnotify/fsnotify"
	"golang.org/x/sync/errgroup"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/audit"
	"github.com/holdpoint/holdpoint/backend"
	"github.com/holdpoint/holdpoint/harness"
	"github.com/holdpoint/holdpoint/hookwire"
	"github.com/holdpoint/holdpoint/internal/atomicfile"
	"github.com/holdpoint/holdpoint/internal/privdir"
	"github.com/holdpoint/holdpoint/transport"
)

// A Gateway is the daemon. [Open] makes one, [Gateway.Run] runs it once.
type Gateway struct {
	opts       Options
	log        *slog.Logger
	metrics    *metrics
	audit      *auditor
	recorder   harness.Recorder // of settlements: the gateway itself, or the spool of Once
	decider    *Decider
	harness    *harness.Harness
	endpoint   *backend.Server // the policy for harnesses elsewhere
	rejections *rejections
	source     string // names this installation in events

	lock    *lockFile
	hookLn  net.Listener
	ahpLn   net.Listener
	tcpLn   net.Listener
	watcher *fsnotify.Watcher

	observed      map[ahp.EventType]bool                  // event types that some backend observes
	asked         map[ahp.EventType]bool                  // event types that some backend of the draft chain is asked about
	manifest      *ahp.Manifest                           // of the draft chain; nil in 0.1
	offers        map[string]map[string]*ahp.Capabilities // by agent and native event; draft chain
	offered       sync.Map                                // event id to *ahp.Capabilities, while the call is under way
	sessions      *sessions
	reloads       chan Trigger
	spooled       map[string]bool // lines of spools that are still being read; drainSpool's own
	brokenPolicy  atomic.Pointer[error]
	policyExposed atomic.Bool // the policy folder lies in a workspace
	serving       atomic.Bool
	began         time.Time

	deliveries sync.WaitGroup // calls whose observers are still being told
}

// Open takes the lock of the socket, loads the policy, and listens. Everything
// that can be wrong with the options, the policy, the folders and the addresses
// is an error here; a second daemon gets a [*RunningError]. A gateway that is
// not run must be closed.
func Open(ctx context.Context, o Options) (_ *Gateway, err error) {
	o, err = o.complete()
	if err != nil {
		return nil, err
	}
	dir := filepath.Dir(o.Socket)
	if err := privdir.Make(dir); err != nil {
		return nil, fmt.Errorf("socket folder: %w", err)
	}
	lock, err := lockSocket(o.Socket)
	if err != nil {
		return nil, err
	}
	g := &Gateway{
		opts: o, log: o.Logger, metrics: newMetrics(), lock: lock,
		sessions: newSessions(o.Policy.Home), reloads: make(chan Trigger, 1), began: time.Now(),
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, g.Close())
		}
	}()
	g.audit = newAuditor(o.Audit, o.OnAuditFailure, o.Logger, g.metrics)
	g.recorder = g
	if g.source, err = installation(dir); err != nil {
		return nil, err
	}
	src := o.Policy
	src.Guard = append(append([]string(nil), src.Guard...), dir)
	src.FindSecrets = src.FindSecrets || o.FactValues
	if o.Secrets != "" {
		src.Guard = append(src.Guard, o.Secrets)
	}
	if src.OnOverlay == nil {
		src.OnOverlay = g.overlayRead
	}
	if g.decider, err = NewDecider(src); err != nil {
		return nil, err
	}
	if err := g.openChain(); err != nil {
		return nil, err
	}
	if o.Policy.Dir != "" && o.Reload == ReloadAuto {
		if g.watcher, err = watchPolicy(o.Policy.Dir); err != nil {
			return nil, fmt.Errorf("policy folder cannot be watched, start with reload manual: %w", err)
		}
	}
	if err := g.listen(ctx); err != nil {
		return nil, err
	}
	return g, nil
}

// What is remembered of answers to harnesses elsewhere. A repeat comes within seconds,
// and a policy gives the same answer again: the memory saves work and a second record.
const (
	answersKept  = 512
	answersBytes = 1 << 20
)

// openChain makes the chain: the policy first, then what is registered.
func (g *Gateway) openChain() error {
	var err error
	g.rejections = newRejections()
	g.endpoint, err = backend.New(backend.HandlerFunc(g.answerHarness), backend.Options{
		MaxConcurrent: g.opts.MaxConnections, Timeout: g.opts.PolicyTimeout, Logger: g.log,
		Prompt: true, MemoryEntries: answersKept, MemoryBytes: answersBytes,
		Versions: Revisions(), Manifest: BackendManifest(), Rejected: g.rejected,
	})
	if err != nil {
		return err
	}
	if g.opts.Revision == ahp.VersionDraft {
		return g.openDraft()
	}
	own := ahp.Backend{
		ID: PolicyID, Transport: &ahp.LocalTransport{},
		Subscriptions: []ahp.Subscription{{
			Events: []ahp.EventType{ahp.ToolBefore}, Mode: ahp.ModeIntercept,
			Timeout: g.opts.PolicyTimeout, FailurePolicy: g.opts.FailurePolicy,
		}},
	}
	g.observed = map[ahp.EventType]bool{}
	for i := range g.opts.Hooks {
		for j := range g.opts.Hooks[i].Subscriptions {
			if sub := &g.opts.Hooks[i].Subscriptions[j]; sub.Mode == ahp.ModeObserve {
				for _, t := range sub.Events {
					g.observed[t] = true
				}
			}
		}
	}
	reg := &ahp.Registration{Version: ahp.Version01, Hooks: append([]ahp.Backend{own}, g.opts.Hooks...)}
	o := g.harnessOptions()
	o.Capabilities = ahp.DenyOnly()
	o.Local = map[string]transport.Local{PolicyID: g.askPolicy}
	return g.openHarness(reg, o)
}

// openHarness makes the harness of a chain whose first backend is the policy.
func (g *Gateway) openHarness(reg *ahp.Registration, o harness.Options) (err error) {
	if g.harness, err = harness.New(reg, o); err == nil || len(g.opts.Hooks) == 0 {
		return err
	}
	// The policy stands in no document: what is wrong with one is said with the places
	// that things have there.
	if _, alone := harness.New(&ahp.Registration{Version: reg.Version, Hooks: g.opts.Hooks}, o); alone != nil {
		return alone
	}
	return err
}

// harnessOptions are those of the chain in either revision.
func (g *Gateway) harnessOptions() harness.Options {
	return harness.Options{
		Source:        g.source,
		Recorder:      g.recorder,
		RecordFailure: g.opts.OnAuditFailure,
		RecordTimeout: auditTimeout,
		Budget:        MaxBudget,
		// The frame's limit is checked before; the event with its envelope is larger.
		MaxEventBytes: 2*g.opts.MaxPayloadBytes + 64<<10,
		Logger:        g.log,
	}
}

func (g *Gateway) listen(ctx context.Context) error {
	refused := func(err error) {
		g.metrics.refusedPeers.Inc()
		g.log.LogAttrs(context.Background(), slog.LevelWarn, "connection of another user refused", slog.String("error", err.Error()))
	}
	warning, err := checkPeers(hookwire.KnowsPeers, g.opts.TCP != nil)
	if err != nil {
		return err
	}
	if warning != nil {
		g.log.LogAttrs(ctx, slog.LevelWarn, "agents are not served", slog.String("problem", warning.Error()))
	}
	hook, err := listenUnix(ctx, g.opts.Socket)
	if err != nil {
		return err
	}
	g.hookLn = &peerListener{hook, refused}
	api, err := listenUnix(ctx, g.opts.AHPSocket)
	if err != nil {
		return err
	}
	g.ahpLn = &peerListener{api, refused}
	if t := g.opts.TCP; t != nil {
		ln, err := new(net.ListenConfig).Listen(ctx, "tcp", t.Addr)
		if err != nil {
			return err
		}
		if t.TLS != nil {
			cfg := t.TLS.Clone()
			cfg.MinVersion = max(cfg.MinVersion, tls.VersionTLS12)
			ln = tls.NewListener(ln, cfg)
		}
		g.tcpLn = ln
	}
	return nil
}

// Close releases what Open took. It must not be called while Run runs, and need
// not be called after it.
func (g *Gateway) Close() error {
	var errs []error
	for _, ln := range []net.Listener{g.hookLn, g.ahpLn, g.tcpLn} {
		if ln != nil {
			if err := ln.Close(); err != nil && !errors.Is(err, net.ErrClosed) {
				errs = append(errs, err)
			}
		}
	}
	if g.watcher != nil {
		errs = append(errs, g.watcher.Close())
	}
	if g.endpoint != nil {
		errs = append(errs, g.endpoint.Shutdown(context.Background()))
	}
	if g.harness != nil {
		errs = append(errs, g.harness.Close(context.Background()))
	}
	if g.lock != nil {
		// Last: whoever gets the lock may replace the sockets.
		errs = append(errs, g.lock.release())
		g.lock = nil
	}
	return errors.Join(errs...)
}

// TCPAddr returns the address that the AHP endpoint is served on, or nil.
func (g *Gateway) TCPAddr() net.Addr {
	if g.tcpLn == nil {
		return nil
	}
	return g.tcpLn.Addr()
}

// Decider returns the policy that the gateway decides by.
func (g *Gateway) Decider() *Decider { return g.decider }

// Run serves until ctx ends or a part fails, and returns when all parts have
// stopped. At the end of ctx it admits nothing new, lets what is under way go on
// for the drain time, refuses the rest, and releases everything; that is no error.
func (g *Gateway) Run(ctx context.Context) error {
	g.lifeEntry(ctx, audit.Start)
	rec := reloadRecord{Version: reloadVersion, Trigger: TriggerStart, Result: "loaded", Digest: g.decider.Digest(), Rules: len(g.decider.Set().Rules())}
	g.metrics.reloads.WithLabelValues(rec.Result).Inc()
	g.writeReload(ctx, &rec)
	g.drainSpool(ctx)

	grp, run := errgroup.WithContext(ctx)
	// Work under way outlives ctx by the drain time.
	work, endWork := context.WithCancelCause(context.WithoutCancel(ctx))
	grp.Go(func() error { return g.serveHooks(run, work) })
	for _, s := range g.servers() {
		grp.Go(func() error { return s.serve(run, work, g.opts.Drain) })
	}
	grp.Go(func() error { return g.reloadLoop(run) })
	grp.Go(func() error { return g.spoolLoop(run) })
	grp.Go(func() error { return g.retainLoop(run) })
	grp.Go(func() error { return g.rejectedLoop(run) })
	var watch sync.WaitGroup
	ended := make(chan struct{})
	watch.Go(func() {
		<-run.Done() // at the latest when grp.Wait has returned
		g.serving.Store(false)
		drain := time.NewTimer(g.opts.Drain)
		defer drain.Stop()
		select {
		case <-drain.C:
			endWork(errStopping)
		case <-ended:
		}
	})
	g.serving.Store(true)
	if g.opts.Daemon {
		grp.Go(func() error { return newTidier().run(run) })
	}
	g.log.LogAttrs(ctx, slog.LevelInfo, "serving", slog.String("socket", g.opts.Socket), slog.String("ahpSocket", g.opts.AHPSocket),
		slog.String("policy", cmp.Or(g.opts.Policy.Dir, "the default pack")), slog.String("digest", g.decider.Digest()))
	err := grp.Wait()
	close(ended)
	watch.Wait()
	endWork(errStopping)
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), g.opts.Drain)
	defer cancel()
	err = errors.Join(err, g.endpoint.Shutdown(stop), g.harness.Close(stop))
	g.deliveries.Wait() // the harness has ended them
	g.writeRejected(ctx)
	g.lifeEntry(ctx, audit.Stop)
	g.log.LogAttrs(ctx, slog.LevelInfo, "stopped")
	return errors.Join(err, g.Close())
}

var errStopping = errors.New("the gateway is stopping")

// lifeVersion is the version of the data of start and stop entries.
const lifeVersion = 1

func (g *Gateway) lifeEntry(ctx context.Context, kind audit.Kind) {
	data, err := json.Marshal(struct {
		Version int    `json:"version"`
		Program string `json:"program"`
		PID     int    `json:"pid"`
		Digest  string `json:"digest"`
	}{lifeVersion, g.opts.Version, os.Getpid(), g.decider.Digest()})
	if err == nil {
		err = g.audit.append(ctx, audit.Entry{Version: lifeVersion, Kind: kind, Time: time.Now(), Operation: g.decider.Digest(), Data: data})
	}
	if err != nil {
		g.log.LogAttrs(ctx, slog.LevelError, "audit entry was not written", slog.String("kind", string(kind)), slog.String("error", err.Error()))
	}
}

// retainEvery is how often the audit log is pruned, and retainPause the least
// time between two tries while it is full.
const (
	retainEvery = time.Minute
	retainPause = time.Second
)

func (g *Gateway) retainLoop(ctx context.Context) error {
	if g.opts.KeepFor == 0 && g.opts.KeepBytes == 0 {
		return nil
	}
	for {
		p := audit.Policy{MaxBytes: g.opts.KeepBytes}
		if g.opts.KeepFor > 0 {
			p.Before = time.Now().Add(-g.opts.KeepFor)
		}
		switch pruned, err := g.opts.Audit.Retain(ctx, p); {
		case ctx.Err() != nil:
			return nil
		case err != nil:
			g.log.LogAttrs(ctx, slog.LevelError, "audit log could not be pruned", slog.String("error", err.Error()))
		case pruned.Entries > 0:
			g.log.LogAttrs(ctx, slog.LevelInfo, "audit log pruned", slog.Int64("entries", pruned.Entries), slog.Int64("bytes", pruned.Bytes))
		}
		if !sleep(ctx, retainPause) {
			return nil
		}
		next := time.NewTimer(retainEvery)
		select {
		case <-ctx.Done():
			next.Stop()
			return nil
		case <-next.C:
		case <-g.audit.full:
			next.Stop()
		}
	}
}

// sleep waits for d, and reports false if ctx ended first.
func sleep(ctx context.Context, d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-t.C:
		return true
	}
}

const sourceFile = "installation"

// installation returns the URI that names this installation in events; it is
// made once and kept in the state folder (AHP 0.1 section 3.1).
func installation(dir string) (string, error) {
	path := filepath.Join(dir, sourceFile)
	if b, err := os.ReadFile(path); err == nil {
		if s := strings.TrimSpace(string(b)); strings.HasPrefix(s, "urn:uuid:") && len(s) == len("urn:uuid:")+36 {
			return s, nil
		}
	}
	s := "urn:uuid:" + harness.NewID()
	if err := atomicfile.Write(path, []byte(s+"\n"), 0o600); err != nil {
		return "", err
	}
	return s, nil
}
