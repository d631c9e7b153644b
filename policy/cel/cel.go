// Package cel is the policy engine for conditions in the Common Expression
// Language.
package cel

import (
	"errors"

	"github.com/holdpoint/holdpoint/policy"
)

// Options configures an [Engine]. The zero value is usable.
type Options struct {
	// CostLimit bounds the work of one evaluation, in CEL cost units. Zero means
	// [DefaultCostLimit].
	CostLimit uint64
}

// DefaultCostLimit allows some milliseconds of work.
const DefaultCostLimit = 1_000_000

// Engine compiles CEL conditions. It is safe for concurrent use.
type Engine struct{ opts Options }

var _ policy.Engine = (*Engine)(nil)

// New returns an engine.
func New(o Options) (*Engine, error) { return &Engine{opts: o}, nil }

// Name returns the engine's name and the revision of its fact types.
func (e *Engine) Name() string { return "cel/1" }

// Compile checks c against the fact types.
func (e *Engine) Compile(c policy.Condition) (policy.Program, error) {
	return nil, errors.New("cel: not compiled")
}
