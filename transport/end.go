package transport

import (
	"context"
	"errors"
	"sync"

	"github.com/holdpoint/holdpoint/ahp"
)

// ended is the failure of a question whose context has ended: its own deadline,
// or the caller's wish.
func ended(ctx context.Context) *ahp.Failure {
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return &ahp.Failure{Class: ahp.FailDeadline}
	}
	return &ahp.Failure{Class: ahp.FailShutdown, Err: errGivenUp}
}

// late is the failure of an answer that is there, but came too late (V-FC-11).
func late(ctx context.Context) *ahp.Failure {
	f := ended(ctx)
	if f.Class == ahp.FailDeadline {
		f.Class = ahp.FailLate
	}
	return f
}

var errGivenUp = errors.New("the caller gave up")

// waitGroup waits for wg, at most until ctx ends.
func waitGroup(ctx context.Context, wg *sync.WaitGroup, late string) error {
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	default:
	}
	select {
	case <-done:
		return nil
	case <-ctx.Done():
		return errors.New(late)
	}
}
