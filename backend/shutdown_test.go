package backend_test

import (
	"context"
	"testing"

	"github.com/holdpoint/holdpoint/backend"
)

// A server with nothing under way is shut down, whatever became of the context:
// after a signal the caller's has ended already.
func TestShutdownOfAnIdleServer(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for range 100 {
		if err := newServer(t, decide, backend.Options{}).Shutdown(ctx); err != nil {
			t.Fatal(err)
		}
	}
}
