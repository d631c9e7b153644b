// Package secret finds secret values in text, with the rules of gitleaks.
//
// The rules cost tens of milliseconds and some 20 MiB to load, so they are loaded
// when a text first holds one of their keywords, never before. Most texts hold
// none and cost one pass over their bytes.
//
// It is apart from package facts so that who does not name it does not compile it.
package secret

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/rs/zerolog"
	"github.com/zricethezav/gitleaks/v8/config"
	"github.com/zricethezav/gitleaks/v8/detect"
	"github.com/zricethezav/gitleaks/v8/logging"

	"github.com/holdpoint/holdpoint/facts"
)

// genericRule matches any assignment of a random-looking value to a name such as
// key or token. In an agent's work, where code is written all day, most of its
// findings are no secrets.
const genericRule = "generic-api-key"

// MaxTextBytes bounds the part of one text that is looked at. Longer texts are
// looked at in windows of this size that overlap.
const MaxTextBytes = 1 << 20

const overlapBytes = 8 << 10 // longer than any secret that the rules know

// A Detector finds secrets. Its zero value is not usable: see [New]. It is safe
// for concurrent use.
type Detector struct {
	generic bool
	filter  func() (*prefilter, error)
	rules   func() (*detect.Detector, error)
	loaded  atomic.Bool
}

// Options configures [New].
type Options struct {
	// Generic adds the rule for any random-looking value that is assigned to a
	// name such as key or token. It finds more, and much that is no secret.
	Generic bool
}

// New returns a detector. Nothing is loaded yet.
func New(o Options) *Detector {
	d := &Detector{generic: o.Generic}
	d.filter = sync.OnceValues(func() (*prefilter, error) { return newPrefilter(config.DefaultConfig, o.Generic) })
	d.rules = sync.OnceValues(d.load)
	return d
}

// Loaded reports whether the rules are in memory.
func (d *Detector) Loaded() bool { return d.loaded.Load() }

// loading keeps two detectors from loading at the same time: the library reads
// its configuration through a global.
var loading sync.Mutex

func (d *Detector) load() (*detect.Detector, error) {
	loading.Lock()
	defer loading.Unlock()
	// The library logs what it skips, at levels that quote the text.
	logging.Logger = zerolog.Nop()
	det, err := detect.NewDetectorDefaultConfig()
	if err != nil {
		return nil, fmt.Errorf("load the rules for secrets: %w", err)
	}
	// A comment in the text must not switch its own check off.
	det.IgnoreGitleaksAllow = true
	det.MaxDecodeDepth = 0
	if !d.generic {
		delete(det.Config.Rules, genericRule)
	}
	d.loaded.Store(true)
	return det, nil
}

// Find returns the secrets in text, ordered by place, none inside another. It
// implements [facts.SecretFinder]. When ctx ends it returns ctx's error: a text
// that was not looked at to its end is not clean.
func (d *Detector) Find(ctx context.Context, text string) ([]facts.SecretMatch, error) {
	f, err := d.filter()
	if err != nil {
		return nil, err
	}
	if !f.hit(text) {
		return nil, nil
	}
	det, err := d.rules()
	if err != nil {
		return nil, err
	}
	var out []facts.SecretMatch
	for start := 0; ; start += MaxTextBytes - overlapBytes {
		window := text[start:min(len(text), start+MaxTextBytes)]
		if f.hit(window) {
			for _, m := range find(ctx, det, window) {
				out = append(out, facts.SecretMatch{Kind: m.Kind, Start: m.Start + start, End: m.End + start})
			}
		}
		if err := ctx.Err(); err != nil {
			return nil, context.Cause(ctx)
		}
		if start+MaxTextBytes >= len(text) {
			break
		}
	}
	return outermost(out), nil
}

func find(ctx context.Context, det *detect.Detector, text string) []facts.SecretMatch {
	var out []facts.SecretMatch
	found := det.DetectContext(ctx, detect.Fragment{Raw: text}) //nolint:staticcheck // in v8 DetectContext takes no other type
	for _, f := range found {
		if f.Secret == "" {
			continue
		}
		// The library tells lines, not offsets. Every place that holds the value is
		// reported: each one must be redacted.
		for at := 0; ; {
			i := strings.Index(text[at:], f.Secret)
			if i < 0 {
				break
			}
			out = append(out, facts.SecretMatch{Kind: f.RuleID, Start: at + i, End: at + i + len(f.Secret)})
			at += i + len(f.Secret)
		}
	}
	return out
}

// outermost sorts matches and drops those inside or overlapping another one. The
// more telling kind wins: a rule that names a service before one for a header.
func outermost(list []facts.SecretMatch) []facts.SecretMatch {
	slices.SortFunc(list, func(a, b facts.SecretMatch) int {
		switch {
		case a.Start != b.Start:
			return a.Start - b.Start
		case a.End != b.End:
			return b.End - a.End
		case vague(a.Kind) != vague(b.Kind):
			if vague(a.Kind) {
				return 1
			}
			return -1
		}
		return strings.Compare(a.Kind, b.Kind)
	})
	var out []facts.SecretMatch
	for _, m := range list {
		if n := len(out); n > 0 && m.Start < out[n-1].End {
			out[n-1].End = max(out[n-1].End, m.End)
			continue
		}
		out = append(out, m)
	}
	return out
}

func vague(kind string) bool { return kind == genericRule || strings.HasPrefix(kind, "curl-auth-") }

// newPrefilter reads the keywords out of the rules' text: parsing and compiling
// all of it is what must not happen before a keyword is seen.
func newPrefilter(rules string, generic bool) (*prefilter, error) {
	words := map[string]bool{}
	id, inList := "", false
	for line := range strings.Lines(rules) {
		line = strings.TrimSpace(line)
		switch {
		case line == "[[rules]]":
			id, inList = "", false
			continue
		case id == "" && strings.HasPrefix(line, "id = "):
			id = strings.Trim(line[len("id = "):], `"`)
			continue
		case strings.HasPrefix(line, "keywords = ["):
			inList = true
			line = line[len("keywords = ["):]
		case !inList:
			continue
		}
		if id != genericRule || generic {
			for i, part := range strings.Split(line, `"`) {
				if i%2 == 1 && part != "" {
					words[strings.ToLower(part)] = true
				}
			}
		}
		if strings.Contains(line, "]") && !strings.Contains(line, `]"`) {
			inList = false
		}
	}
	if len(words) < 100 {
		return nil, fmt.Errorf("the rules for secrets name %d keywords, want hundreds", len(words))
	}
	list := make([]string, 0, len(words))
	for w := range words {
		list = append(list, w)
	}
	slices.Sort(list)
	return buildPrefilter(list)
}
