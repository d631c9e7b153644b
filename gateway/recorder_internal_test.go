package gateway

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdpoint/holdpoint/audit"
	"github.com/holdpoint/holdpoint/harness"
)

// stuckLog takes nothing until the context ends.
type stuckLog struct{ audit.Log }

func (stuckLog) Append(ctx context.Context, _ audit.Entry) (audit.ID, error) {
	if err := ctx.Err(); err != nil {
		return 0, err
	}
	below, cancel := context.WithCancel(ctx) // as a store makes one
	defer cancel()
	<-below.Done()
	return 0, context.Cause(below)
}

// The time for an append is over whatever the caller's context does, and not before.
func TestAppendIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAuditor(stuckLog{}, harness.RecordDeny, slog.New(slog.DiscardHandler), newMetrics())
		ctx, cancel := context.WithCancel(t.Context())
		cancel()
		start := time.Now()
		err := a.append(ctx, audit.Entry{Kind: audit.Settlement, Version: 1})
		if !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v, expected the deadline's", err)
		}
		if took := time.Since(start); took != auditTimeout {
			t.Errorf("given up after %v, expected %v", took, auditTimeout)
		}
	})
}

func TestLateContext(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		type key struct{}
		parent := context.WithoutCancel(context.WithValue(t.Context(), key{}, "value"))
		c := &lateContext{Context: parent, deadline: time.Now().Add(time.Second)}
		defer c.end()
		if at, ok := c.Deadline(); !ok || at != c.deadline {
			t.Errorf("deadline %v, %v", at, ok)
		}
		if c.Value(key{}) != "value" {
			t.Error("the value of the parent is missing")
		}
		if err := c.Err(); err != nil {
			t.Errorf("ended at once: %v", err)
		}
		<-c.Done()
		if err := c.Err(); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("error %v after the deadline", err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		parent := context.WithoutCancel(t.Context())
		asked := &lateContext{Context: parent, deadline: time.Now().Add(time.Second)}
		<-asked.Done()
		late := time.Now().Add(time.Second)
		for _, c := range []*lateContext{asked, {Context: parent, deadline: asked.deadline}, {Context: parent, deadline: late}} {
			c.end()
			<-c.Done() // whoever kept it waits for nothing
		}
	})
	synctest.Test(t, func(t *testing.T) {
		c := &lateContext{Context: context.WithoutCancel(t.Context()), deadline: time.Now().Add(time.Second)}
		below, cancel := context.WithCancel(c) // as a store makes one, which still looks at ours
		defer cancel()
		c.end()
		<-below.Done()
		if err := below.Err(); !errors.Is(err, context.Canceled) {
			t.Errorf("ended with %v before the deadline", err)
		}
	})
}
