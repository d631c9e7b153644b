package harness_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/harness"
	"github.com/holdpoint/holdpoint/transport"
)

// A host is what embeds the harness: it asks its controls, then its user, and
// then runs the tool.
type host struct {
	*rig
	prompts int
	tool    func() error
}

// run does one tool call the way a host must.
func (h *host) run(t *testing.T) {
	t.Helper()
	s, err := settleOne(t, h.rig, toolBefore())
	if err != nil {
		t.Fatal(err)
	}
	if !s.Proceeds() {
		return
	}
	h.prompts++
	if err := h.tool(); err != nil {
		t.Fatal(err)
	}
}

func TestRulesOfAToolsLife(t *testing.T) {
	t.Run("V-LIFE-1", func(t *testing.T) {
		file := filepath.Join(t.TempDir(), "touched")
		var early atomic.Int32
		looks := func(ctx context.Context, frame []byte) ([]byte, error) {
			if _, err := os.Stat(file); err == nil {
				early.Add(1)
			}
			return (&respond{}).local(ctx, frame)
		}
		h := &host{rig: withLocal(t, ahp.FailClosed, long, looks), tool: func() error {
			return os.WriteFile(file, nil, 0o600)
		}}
		h.run(t)
		if n := early.Load(); n != 0 {
			t.Errorf("the tool had run at %d of the questions", n)
		}
		if _, err := os.Stat(file); err != nil {
			t.Errorf("the tool did not run: %v", err)
		}
	})

	t.Run("V-LIFE-2", func(t *testing.T) {
		for _, tt := range []struct {
			answer func(string) string
			want   int
		}{{denial, 0}, {none, 1}} {
			rs := &respond{result: tt.answer}
			h := &host{rig: withLocal(t, ahp.FailClosed, long, rs.local), tool: func() error { return nil }}
			h.run(t)
			if h.prompts != tt.want {
				t.Errorf("%d prompts, want %d", h.prompts, tt.want)
			}
		}
	})

	t.Run("V-LIFE-5", func(t *testing.T) {
		told := make(chan string, 8)
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			b, err := io.ReadAll(r.Body)
			if err != nil {
				t.Error(err)
			}
			told <- string(b)
			w.WriteHeader(http.StatusNoContent)
		}))
		defer srv.Close()
		b := intercept("net.acme.guard", &ahp.LocalTransport{}, long, ahp.FailClosed)
		r := open(t, local(map[string]*respond{"net.acme.guard": {result: denial}}), b,
			observe("net.acme.watch", &ahp.HTTPTransport{URL: srv.URL}, ahp.ToolBefore, ahp.ToolAfter, ahp.ToolError))
		h := &host{rig: r, tool: func() error { t.Error("the denied tool ran"); return nil }}
		h.run(t)
		if got := <-told; !strings.Contains(got, `"tool.before"`) {
			t.Errorf("told %s", got)
		}
		select {
		case got := <-told:
			t.Errorf("told of a call that was denied: %s", got)
		default:
		}
	})

	t.Run("V-LIFE-6", func(t *testing.T) {
		rs := &respond{}
		r := open(t, local(map[string]*respond{"net.acme.watch": rs}), observe("net.acme.watch", &ahp.LocalTransport{}, ahp.ToolAfter))
		ev := toolBefore()
		ev.Type = ahp.ToolAfter
		ev.Tool.Output = ahp.Raw(`"first lines …"`)
		ev.Extensions = ahp.Members{{Name: "dev.holdpoint.output", Value: ahp.Raw(`{"cut":true,"bytes":90210}`)}}
		ev.HasExtensions = true
		if _, err := settleOne(t, r, ev); err != nil {
			t.Fatal(err)
		}
		got := rs.seen()
		if len(got) != 1 || !strings.Contains(got[0], `"dev.holdpoint.output":{"cut":true,"bytes":90210}`) {
			t.Errorf("told %v", got)
		}
	})

	t.Run("V-RETRY-6", func(t *testing.T) {
		// This harness uses the leave not to retry a notification: what cannot be
		// delivered is counted, and no second id is made for it.
		var posts atomic.Int32
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			posts.Add(1)
			w.WriteHeader(http.StatusServiceUnavailable)
		}))
		defer srv.Close()
		r := open(t, nil, observe("net.acme.watch", &ahp.HTTPTransport{URL: srv.URL}, ahp.ToolBefore))
		if _, err := settleOne(t, r, toolBefore()); err != nil {
			t.Fatal(err)
		}
		if n, s := posts.Load(), r.Stats(); n != 1 || s.ObserveFailed != 1 || s.Observed != 0 {
			t.Errorf("%d posts, %+v", n, s)
		}
	})
}

// local serves backends in this process by id.
func local(by map[string]*respond) func(*harness.Options) {
	return func(o *harness.Options) {
		o.Local = map[string]transport.Local{}
		for id, r := range by {
			o.Local[id] = r.local
		}
	}
}
