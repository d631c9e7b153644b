package gateway

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/facts"
	"github.com/holdpoint/holdpoint/policy"
	"github.com/holdpoint/holdpoint/policy/cel"
	"github.com/holdpoint/holdpoint/shell"
)

// A PolicySource says where a policy comes from and what its facts may use.
type PolicySource struct {
	// Dir is the policy folder; empty means the default pack alone.
	Dir string
	// Roots are workspace roots for events that name none. A policy folder
	// inside one is refused.
	Roots []string
	// Home is the home folder of the user that the agent runs as.
	Home string
	// Dialect is the shell of commands whose tool does not say.
	Dialect shell.Dialect
	// Disk lets the facts follow links on disk. A check of a command for another
	// machine leaves it off.
	Disk bool
	// Secrets makes the detector of secret values. It is called when the first
	// policy is loaded that reads them, since detectors are large. Nil finds none.
	Secrets func() (facts.SecretFinder, error)
	// FindSecrets looks for secrets although no rule reads them: for whoever shows
	// facts to people.
	FindSecrets bool
	// ProjectOverlays lets the overlay of each workspace root ([OverlayFile]) be
	// heard on top of the policy. It can only make decisions stricter. A root is
	// looked at on this machine's disk, so Disk must be set.
	ProjectOverlays bool
	// OnOverlay is told once of each overlay that is read, and of each state of it.
	// It is called from decisions, maybe concurrently. Nil is told nothing.
	OnOverlay func(OverlayReport)
	// Guard lists files and folders of the gate itself; changing them is a hazard.
	Guard []string
}

// A Decider decides on events by a policy that can be replaced while it runs.
// It is safe for concurrent use.
type Decider struct {
	src    PolicySource
	engine policy.Engine
	set    atomic.Pointer[inForce]

	loading sync.Mutex    // one load at a time; guards opts
	opts    facts.Options // for the next load
}

// inForce is a policy with the options for the facts that it reads.
type inForce struct {
	set      *policy.Set
	opts     facts.Options
	secrets  facts.SecretFinder // for overlays; nil finds none
	overlays *overlays          // nil when none is heard

	allSecrets bool // looked for although no rule reads them
}

// NewDecider loads the policy of src. The error joins every problem of every file.
func NewDecider(src PolicySource) (*Decider, error) {
	engine, err := cel.New(cel.Options{})
	if err != nil {
		return nil, fmt.Errorf("policy engine: %w", err)
	}
	d := &Decider{src: src, engine: engine, opts: facts.Options{
		Home:            src.Home,
		Roots:           src.Roots,
		Dialect:         src.Dialect,
		Env:             homeEnv(src.Home),
		CaseInsensitive: runtime.GOOS == "darwin" || runtime.GOOS == "windows",
	}}
	if src.Disk {
		d.opts.FS, d.opts.FSLimit = disk{}, diskLimit
	}
	if err := d.Load(); err != nil {
		return nil, err
	}
	return d, nil
}

// Load reads the policy again and, if it is whole, puts it in force. On an error
// the policy before stays in force.
func (d *Decider) Load() error {
	d.loading.Lock()
	defer d.loading.Unlock()
	set, err := policy.Load(d.src.Dir, policy.Options{
		Engine: d.engine,
		Packs:  []string{policy.DefaultPack},
		Roots:  d.src.Roots,

		Overlayable: d.src.ProjectOverlays,
	})
	if err != nil {
		return err
	}
	if (set.NeedsSecrets() || d.src.FindSecrets) && d.opts.Secrets == nil && d.src.Secrets != nil {
		if d.opts.Secrets, err = d.src.Secrets(); err != nil {
			return fmt.Errorf("secret detector: %w", err)
		}
	}
	d.opts.GuardPaths = d.guarded()
	opts := d.opts
	opts.Programs = set.Programs()
	now := &inForce{set: set, opts: opts, allSecrets: d.src.FindSecrets}
	if d.src.ProjectOverlays && d.src.Disk {
		now.overlays, now.secrets = newOverlays(set, d.src.OnOverlay), d.lateSecrets()
	}
	d.set.Store(now)
	return nil
}

// lateSecrets is the detector for overlays: made when the first of them reads
// secrets, unless the policy itself does.
func (d *Decider) lateSecrets() facts.SecretFinder {
	if d.opts.Secrets != nil || d.src.Secrets == nil {
		return d.opts.Secrets
	}
	detector := sync.OnceValues(d.src.Secrets)
	return func(ctx context.Context, text string) ([]facts.SecretMatch, error) {
		find, err := detector()
		if err != nil {
			return nil, err
		}
		return find(ctx, text)
	}
}

// guarded lists the files and folders of the gate itself, each by its name and,
// where that is a link or leads through one, by what it leads to. The files of a
// policy folder may be links, too.
func (d *Decider) guarded() []string {
	list := slices.Clone(d.src.Guard)
	if d.src.Dir != "" {
		list = append(list, d.src.Dir)
		// What cannot be read has been reported by whoever loads it.
		files, _ := os.ReadDir(d.src.Dir)
		for _, f := range files {
			if f.Type()&os.ModeSymlink != 0 {
				list = append(list, filepath.Join(d.src.Dir, f.Name()))
			}
		}
	}
	for _, name := range slices.Clone(list) {
		if target, err := filepath.EvalSymlinks(name); err == nil && target != name {
			list = append(list, target)
		}
	}
	return list
}

// Set returns the policy in force.
func (d *Decider) Set() *policy.Set { return d.set.Load().set }

// Digest identifies the policy in force.
func (d *Decider) Digest() string { return d.Set().Digest() }

// At says where one operation happens, if it is not where the [PolicySource]
// says. Zero fields change nothing.
type At struct {
	Home    string
	Dialect shell.Dialect
	// Elsewhere says that the place is on another machine: this one's disk knows
	// nothing of its links.
	Elsewhere bool
}

// Decide applies the policy in force to ev. An error means that no decision
// could be made; the decision returned with it refuses.
func (d *Decider) Decide(ctx context.Context, ev *ahp.Event) (policy.Decision, *facts.Facts, error) {
	return d.DecideAt(ctx, ev, At{})
}

// DecideAt is [Decider.Decide] for an operation in another place.
func (d *Decider) DecideAt(ctx context.Context, ev *ahp.Event, at At) (policy.Decision, *facts.Facts, error) {
	now := d.set.Load()
	ev, o := forFacts(ev), now.optionsAt(at)
	dec, f, err := now.set.Judge(ctx, ev, o)
	if now.overlays != nil && !at.Elsewhere {
		dec, err = now.tighten(ctx, ev, o, dec, f, err)
	}
	if err != nil {
		return policy.Decision{}, f, err
	}
	return dec, f, nil
}

// forFacts is an event of revision draft as the facts know events: with a kind, and
// with the names of server and tool. One of 0.1 is returned as it is.
func forFacts(ev *ahp.Event) *ahp.Event {
	t := ev.Tool
	if t == nil || t.Origin == "" || t.Server == nil && t.Kind.Known() {
		return ev
	}
	tool := *t
	if tool.Server == nil {
		tool.Kind = facts.KindOf(t.Name) // the draft has any kind, or none
	} else {
		tool.Kind = ahp.KindMCP
		server := t.Server.Name
		if server == "" {
			server = t.Server.ID
		}
		b, err := json.Marshal(struct {
			Server     string `json:"server"`
			Tool       string `json:"tool"`
			Provenance string `json:"provenance"`
		}{server, t.Server.ToolName, t.Server.Provenance})
		if err == nil { // strings always encode
			tool.MCP = b
		}
	}
	e := *ev
	e.Tool = &tool
	return &e
}

// optionsAt are the options for the facts of an operation in a place.
func (now *inForce) optionsAt(at At) facts.Options {
	o := now.opts
	if at.Home != "" && at.Home != o.Home {
		o.Home, o.Env = at.Home, homeEnv(at.Home)
	}
	if at.Dialect != shell.Unknown {
		o.Dialect = at.Dialect
	}
	if at.Elsewhere {
		o.FS = nil
	}
	if !now.set.NeedsSecrets() && !now.allSecrets {
		o.Secrets = nil
	}
	return o
}

// homeEnv knows HOME only: what else the agent's shell has set is not known here,
// and a guess would resolve a path that the shell resolves otherwise.
func homeEnv(home string) func(string) (string, bool) {
	return func(name string) (string, bool) {
		if name == "HOME" && home != "" {
			return home, true
		}
		return "", false
	}
}

// UserHome returns the home folder of the current user, or "".
func UserHome() string {
	home, err := os.UserHomeDir()
	if err != nil {
		return ""
	}
	return home
}
