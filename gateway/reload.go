package gateway

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"log/slog"
	"path/filepath"
	"time"

	"github.com/fsnotify/fsnotify"

	"github.com/holdpoint/holdpoint/audit"
)

// ReloadMode says when the policy folder is read again.
type ReloadMode string

// The reload modes. SIGHUP (through [Gateway.Reload]) works in both.
const (
	ReloadAuto   ReloadMode = "auto"   // when a file in it changes
	ReloadManual ReloadMode = "manual" // when asked
)

// Debounce is how long the policy folder must be quiet before it is read: an
// editor writes a file in several steps.
const Debounce = 200 * time.Millisecond

// A Trigger says why the policy was loaded.
type Trigger string

// The triggers.
const (
	TriggerStart  Trigger = "start"
	TriggerWatch  Trigger = "watch"
	TriggerSignal Trigger = "signal"
)

// reloadVersion is the version of [reloadRecord] in the audit log.
const reloadVersion = 1

// A reloadRecord is the audit entry of one load. It holds no text of the policy.
type reloadRecord struct {
	Version  int     `json:"version"`
	Trigger  Trigger `json:"trigger"`
	Result   string  `json:"result"`             // loaded, unchanged, refused
	Digest   string  `json:"digest"`             // in force afterwards
	Previous string  `json:"previous,omitempty"` // in force before, when it changed
	Problems int     `json:"problems,omitempty"` // of the policy that was refused
	Rules    int     `json:"rules"`              // in force afterwards
}

// Reload reads the policy again, as a signal asks for. It returns at once; Run
// does the work.
func (g *Gateway) Reload() {
	select {
	case g.reloads <- TriggerSignal:
	default: // one is waiting already
	}
}

// load reads the policy and writes down what came of it. A policy that is broken
// leaves the one before in force; that is a state that health, metrics, log and
// audit show, not a failure of the gateway.
func (g *Gateway) load(ctx context.Context, why Trigger) {
	before := g.decider.Digest()
	err := g.decider.Load()
	rec := reloadRecord{Version: reloadVersion, Trigger: why, Result: "loaded", Digest: g.decider.Digest(), Rules: len(g.decider.Set().Rules())}
	switch {
	case err != nil:
		rec.Result, rec.Problems = "refused", countProblems(err)
		g.brokenPolicy.Store(&err)
		g.metrics.policyBroken.Set(1)
		g.log.LogAttrs(ctx, slog.LevelError, "policy refused, the one before stays in force",
			slog.String("trigger", string(why)), slog.Int("problems", rec.Problems), slog.String("digest", rec.Digest), slog.String("error", err.Error()))
	default:
		if rec.Digest == before {
			rec.Result = "unchanged"
		} else {
			rec.Previous = before
		}
		g.brokenPolicy.Store(nil)
		g.metrics.policyBroken.Set(0)
		g.log.LogAttrs(ctx, slog.LevelInfo, "policy loaded",
			slog.String("trigger", string(why)), slog.String("result", rec.Result), slog.String("digest", rec.Digest), slog.Int("rules", rec.Rules))
	}
	g.metrics.reloads.WithLabelValues(rec.Result).Inc()
	g.writeReload(ctx, &rec)
}

func (g *Gateway) writeReload(ctx context.Context, rec *reloadRecord) {
	data, err := json.Marshal(rec)
	if err == nil {
		err = g.audit.append(ctx, audit.Entry{
			Version: reloadVersion, Kind: audit.Reload, Time: time.Now(), Decision: rec.Result, Operation: rec.Digest, Data: data,
		})
	}
	if err != nil {
		g.log.LogAttrs(ctx, slog.LevelError, "audit entry of a reload was not written", slog.String("error", err.Error()))
	}
}

func countProblems(err error) int {
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		n := 0
		for _, e := range joined.Unwrap() {
			n += countProblems(e)
		}
		return max(n, 1)
	}
	if inner := errors.Unwrap(err); inner != nil {
		return countProblems(inner)
	}
	return 1
}

// watchPolicy returns a watcher of the policy folder (see [watchTree]) and the
// folder above, in which a whole policy folder can be swapped by a rename.
func watchPolicy(dir string) (*fsnotify.Watcher, error) {
	w, err := fsnotify.NewWatcher()
	if err != nil {
		return nil, err
	}
	err = w.Add(filepath.Dir(dir))
	if err == nil {
		_, err = watchTree(w, dir)
	}
	if err != nil {
		return nil, errors.Join(err, w.Close())
	}
	return w, nil
}

const maxWatchedFolders = 256

// watchTree adds dir, the folders below it, and the folders of the files that
// links in them lead to: [policy.Load] follows a link that is the folder itself
// or one of its files. It returns these files, for the rest of their folders is
// not of interest. Watching a folder twice is harmless.
func watchTree(w *fsnotify.Watcher, dir string) (linked map[string]bool, err error) {
	n := 0
	add := func(folder string) error {
		if n++; n > maxWatchedFolders {
			return fs.SkipAll
		}
		return w.Add(folder)
	}
	linked = map[string]bool{}
	// With a separator behind it the walk starts in the folder, not at a link to it.
	err = filepath.WalkDir(dir+string(filepath.Separator), func(path string, d fs.DirEntry, err error) error {
		switch {
		case errors.Is(err, fs.ErrNotExist):
			return nil // gone meanwhile: its parent's watch tells when it is back
		case err != nil:
			return err
		case d.IsDir():
			return add(filepath.Clean(path))
		case d.Type()&fs.ModeSymlink == 0:
			return nil
		}
		target, err := filepath.EvalSymlinks(path)
		if err != nil || linked[target] {
			return nil // a dangling link is the loader's to refuse
		}
		linked[target] = true
		return add(filepath.Dir(target))
	})
	return linked, err
}

// reloadLoop loads the policy when asked, or when its folder was quiet for
// [Debounce] after a change. It returns when ctx ends.
func (g *Gateway) reloadLoop(ctx context.Context) error {
	var events chan fsnotify.Event
	var watchErrs chan error
	linked := map[string]bool{} // what [watchTree] returned last
	watchAll := func() {
		var err error
		if linked, err = watchTree(g.watcher, g.opts.Policy.Dir); err != nil {
			g.log.LogAttrs(ctx, slog.LevelWarn, "policy folder cannot be watched whole", slog.String("error", err.Error()))
		}
	}
	if g.watcher != nil {
		defer func() { _ = g.watcher.Close() }() // again in Close, which reports it
		events, watchErrs = g.watcher.Events, g.watcher.Errors
		watchAll()
	}
	quiet := time.NewTimer(Debounce)
	quiet.Stop()
	defer quiet.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case why := <-g.reloads:
			quiet.Stop()
			g.load(ctx, why)
		case ev, ok := <-events:
			if !ok {
				events = nil
				continue
			}
			if ev.Op == fsnotify.Chmod || !within(g.opts.Policy.Dir, ev.Name) && !linked[ev.Name] {
				continue
			}
			quiet.Reset(Debounce)
		case err, ok := <-watchErrs:
			if !ok {
				watchErrs = nil
				continue
			}
			// Events may be lost: look at the folder as if one had come.
			g.log.LogAttrs(ctx, slog.LevelWarn, "watch of the policy folder reported an error", slog.String("error", err.Error()))
			quiet.Reset(Debounce)
		case <-quiet.C:
			watchAll()
			g.load(ctx, TriggerWatch)
		}
	}
}

// within reports whether path is dir or below it.
func within(dir, path string) bool {
	rel, err := filepath.Rel(dir, path)
	return err == nil && (rel == "." || filepath.IsLocal(rel))
}
