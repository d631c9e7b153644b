package gateway

import (
	"context"
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
	set  *policy.Set
	opts facts.Options
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
	})
	if err != nil {
		return err
	}
	if set.NeedsSecrets() && d.opts.Secrets == nil && d.src.Secrets != nil {
		if d.opts.Secrets, err = d.src.Secrets(); err != nil {
			return fmt.Errorf("secret detector: %w", err)
		}
	}
	d.opts.GuardPaths = d.guarded()
	opts := d.opts
	opts.Programs = set.Programs()
	d.set.Store(&inForce{set: set, opts: opts})
	return nil
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
	set, o := now.set, now.opts
	if at.Home != "" && at.Home != o.Home {
		o.Home, o.Env = at.Home, homeEnv(at.Home)
	}
	if at.Dialect != shell.Unknown {
		o.Dialect = at.Dialect
	}
	if at.Elsewhere {
		o.FS = nil
	}
	if !set.NeedsSecrets() {
		o.Secrets = nil
	}
	f, err := facts.Extract(ctx, ev, o)
	if err != nil {
		return policy.Decision{}, nil, err
	}
	dec, err := set.Decide(ctx, f)
	if err != nil {
		return policy.Decision{}, f, err
	}
	return dec, f, nil
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
