package backend_test

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/backend"
)

// A prompt handler is called on the goroutine of the request; what is too late or
// panics is no answer all the same.
func TestPromptHandler(t *testing.T) { synctest.Test(t, promptHandler) }

func promptHandler(t *testing.T) {
	s := newServer(t, func(ctx context.Context, r *backend.Request) ([]ahp.Effect, error) {
		switch cmd := string(r.Event.Tool.Input); {
		case strings.Contains(cmd, "late"):
			<-ctx.Done()
			return nil, nil
		case strings.Contains(cmd, "panic"):
			panic("at the disco")
		case strings.Contains(cmd, "refuse"):
			return []ahp.Effect{&ahp.Deny{Reason: "no"}}, nil
		}
		return nil, nil
	}, backend.Options{Prompt: true, Timeout: time.Second})
	for _, tt := range []struct{ cmd, want string }{
		{"ls", "allow"},
		{"refuse", "no"},
		{"late", "-32003"},
		{"panic", "-32004"},
		{"ls again", "allow"},
	} {
		if got := say(t, s, request("id "+tt.cmd, tt.cmd)); !strings.Contains(got, tt.want) {
			t.Errorf("%s: %s, expected %s", tt.cmd, got, tt.want)
		}
	}
	if got := say(t, s, request("id late", "late")); !strings.Contains(got, "-32003") {
		t.Errorf("a late answer was remembered: %s", got)
	}
}
