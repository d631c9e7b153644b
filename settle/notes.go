package settle

import (
	"context"
	"slices"
	"sync"
)

// Details are the parts of a record that the harness itself cannot know. They
// name things and hold no values of the payload.
type Details struct {
	PolicyDigest string   // digest of the policy that was evaluated
	Rules        []string // names of the rules that fired, shadowed ones included
	Hazards      []string // hazard codes
	Facts        []string // names of the facts that rules read
	RootSource   string   // how the workspace roots were found
	Client       string   // name and version of the hook client
	Adapter      string   // name of the native adapter
}

// Notes carries [Details] from an in-process backend or an adapter to the
// record, beside the protocol: nothing in it changes a decision. It is safe for
// concurrent use, and a nil *Notes takes everything and keeps nothing. What
// comes after the record was made is dropped.
type Notes struct {
	mu     sync.Mutex
	sealed bool
	d      Details
}

// Add merges d into the notes: set strings replace, lists are appended without
// repeats.
func (n *Notes) Add(d Details) {
	if n == nil {
		return
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.sealed {
		return
	}
	set(&n.d.PolicyDigest, d.PolicyDigest)
	set(&n.d.RootSource, d.RootSource)
	set(&n.d.Client, d.Client)
	set(&n.d.Adapter, d.Adapter)
	n.d.Rules = merge(n.d.Rules, d.Rules)
	n.d.Hazards = merge(n.d.Hazards, d.Hazards)
	n.d.Facts = merge(n.d.Facts, d.Facts)
}

// Seal ends the notes and returns what they hold. The result is the caller's.
func (n *Notes) Seal() Details {
	if n == nil {
		return Details{}
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.sealed = true
	d := n.d
	n.d = Details{}
	return d
}

func set(dst *string, v string) {
	if v != "" {
		*dst = v
	}
}

func merge(dst, more []string) []string {
	for _, s := range more {
		if len(dst) >= MaxNames {
			break
		}
		if !slices.Contains(dst, s) {
			dst = append(dst, s)
		}
	}
	return dst
}

type notesKey struct{}

// WithNotes returns a context that carries n to whoever evaluates in this
// process.
func WithNotes(ctx context.Context, n *Notes) context.Context {
	return context.WithValue(ctx, notesKey{}, n)
}

// NotesFrom returns the notes that ctx carries, or nil, which is fit for use.
func NotesFrom(ctx context.Context) *Notes {
	n, _ := ctx.Value(notesKey{}).(*Notes)
	return n
}
