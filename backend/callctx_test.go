package backend_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/backend"
)

// TestPromptContext holds: the context that a prompt handler gets ends as any
// other does, for who asks it and for who waits, and so does what is derived from it.
func TestPromptContext(t *testing.T) {
	type key struct{}
	for _, tt := range []struct {
		name string
		end  func(cancel context.CancelFunc, s *backend.Server)
		err  error
	}{
		{"its time is over", func(context.CancelFunc, *backend.Server) {
			time.Sleep(time.Second)
			synctest.Wait() // for timers of the same moment
		}, context.DeadlineExceeded},
		{"the message's context ends", func(cancel context.CancelFunc, _ *backend.Server) { cancel() }, context.Canceled},
		{"the server gives up", func(_ context.CancelFunc, s *backend.Server) {
			over, cancel := context.WithCancel(context.Background())
			cancel()
			go func() { _ = s.Shutdown(over) }() // waits for this very call
			synctest.Wait()
		}, context.Canceled},
	} {
		for _, waits := range []bool{false, true} {
			t.Run(tt.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					parent, cancel := context.WithCancel(context.WithValue(t.Context(), key{}, "here"))
					defer cancel()
					var after context.Context
					var s *backend.Server
					s = newServer(t, func(ctx context.Context, r *backend.Request) ([]ahp.Effect, error) {
						after = ctx
						if d, ok := ctx.Deadline(); !ok || !d.Equal(r.Deadline) || ctx.Value(key{}) != "here" || ctx.Err() != nil {
							t.Errorf("deadline %v, %v; error %v", d, ok, ctx.Err())
						}
						derived := context.Background()
						if waits {
							var stop context.CancelFunc
							derived, stop = context.WithTimeout(ctx, time.Hour)
							defer stop()
							if ctx.Value(key{}) != "here" || ctx.Err() != nil {
								t.Errorf("value %v, error %v", ctx.Value(key{}), ctx.Err())
							}
						}
						tt.end(cancel, s)
						if !errors.Is(ctx.Err(), tt.err) {
							t.Errorf("%v, expected %v", ctx.Err(), tt.err)
						}
						<-ctx.Done()
						if waits {
							<-derived.Done()
							if !errors.Is(derived.Err(), tt.err) {
								t.Errorf("derived: %v, expected %v", derived.Err(), tt.err)
							}
						}
						return nil, nil
					}, backend.Options{Prompt: true, Timeout: time.Second})
					if b, err := s.Local(parent, []byte(request("r", "ls"))); err == nil && describe(t, b) == "allow" {
						t.Error("a late answer counts")
					}
					if after.Err() == nil {
						t.Error("the context outlives its call")
					}
				})
			})
		}
	}
	t.Run("the call returns", func(t *testing.T) {
		var after context.Context
		s := newServer(t, func(ctx context.Context, _ *backend.Request) ([]ahp.Effect, error) {
			after = ctx
			return nil, nil
		}, backend.Options{Prompt: true})
		if got := say(t, s, request("r", "ls")); got != "allow" {
			t.Fatal(got)
		}
		if after.Err() != context.Canceled {
			t.Errorf("afterwards: %v", after.Err())
		}
		<-after.Done()
		if derived, cancel := context.WithCancel(after); derived.Err() == nil {
			cancel()
			t.Error("what is derived from it afterwards goes on")
		} else {
			cancel()
		}
	})
}
