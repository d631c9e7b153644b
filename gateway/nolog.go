package gateway

import (
	"context"
	"iter"

	"github.com/holdpoint/holdpoint/audit"
)

// noLog is the log of a process that keeps none: whatever would be written there
// is lost, and says so.
type noLog struct{}

var _ audit.Log = noLog{}

func (noLog) Append(context.Context, audit.Entry) (audit.ID, error) { return 0, audit.ErrClosed }
func (noLog) Retain(context.Context, audit.Policy) (audit.Pruned, error) {
	return audit.Pruned{}, audit.ErrClosed
}
func (noLog) Query(context.Context, audit.Filter) iter.Seq2[audit.Record, error]  { return none }
func (noLog) Follow(context.Context, audit.Filter) iter.Seq2[audit.Record, error] { return none }
func (noLog) Checkpoint(context.Context) (audit.Checkpoint, error) {
	return audit.Checkpoint{}, audit.ErrClosed
}

func (noLog) Verify(context.Context, audit.Trust) (audit.Report, error) {
	return audit.Report{}, audit.ErrClosed
}
func (noLog) Stat(context.Context) (audit.Stat, error) { return audit.Stat{}, audit.ErrClosed }
func (noLog) Verifier() string                         { return "" }
func (noLog) Close() error                             { return nil }

func none(yield func(audit.Record, error) bool) { yield(audit.Record{}, audit.ErrClosed) }
