package transport_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/internal/badbackend/badtest"
	"github.com/holdpoint/holdpoint/transport"
)

// A well-formed answer with another id is dropped on a persistent process of
// revision draft, and the right answer behind it counts (D-IO-3, D-AMB-18). In
// revision 0.1 it is the answer, and a mismatch.
func TestStrayAnswers(t *testing.T) {
	for _, revision := range []ahp.Version{ahp.Version01, ahp.VersionDraft} {
		var strays atomic.Int32
		c := carry(t, badtest.Stdio(t, ahp.Persistent, "-fault", "stray"), func(o *transport.Options) {
			o.Revision = revision
			o.Stray = func() { strays.Add(1) }
		})
		answer, f := ask(within(t, 20*time.Second), c, "q-1")
		if f != nil {
			t.Fatal(f)
		}
		id, _ := transport.AnswerID([]byte(answer))
		if draft := revision == ahp.VersionDraft; (id == "q-1") != draft || (strays.Load() == 1) != draft {
			t.Errorf("%s: the answer has id %q, %d strays", revision, id, strays.Load())
		}
	}
}

// A token comes from the host at each message, nothing is sent without one, and
// there is one Authorization header (D-AUTH-4, D-AUTH-5).
func TestSecret(t *testing.T) {
	var got atomic.Pointer[[]string]
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h := r.Header.Values("Authorization")
		got.Store(&h)
		w.WriteHeader(http.StatusUnauthorized)
	}))
	defer srv.Close()
	tests := []struct {
		name   string
		secret func(context.Context, string) (string, error)
		class  ahp.FailureClass
		sent   string
	}{
		{"good", func(_ context.Context, ref string) (string, error) { return "t-" + ref, nil }, ahp.FailAuth, "Bearer t-vault/a"},
		{"none", nil, ahp.FailCredential, ""},
		{"empty", func(context.Context, string) (string, error) { return "", nil }, ahp.FailCredential, ""},
		{"error", func(context.Context, string) (string, error) { return "t", errors.New("sealed") }, ahp.FailCredential, ""},
		{"panic", func(context.Context, string) (string, error) { panic("sealed") }, ahp.FailCredential, ""},
		{"header", func(context.Context, string) (string, error) { return "a\r\nX: b", nil }, ahp.FailCredential, ""},
		{"hangs", func(ctx context.Context, _ string) (string, error) { <-ctx.Done(); return "", ctx.Err() }, ahp.FailDeadline, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got.Store(nil)
			c, err := transport.New(&ahp.Backend{
				ID: "net.acme.b", Transport: &ahp.HTTPTransport{URL: srv.URL}, Auth: &ahp.Bearer{TokenRef: "vault/a"},
			}, transport.Options{Secret: tt.secret, Revision: ahp.VersionDraft})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close(t.Context())
			d := 20 * time.Second
			if tt.class == ahp.FailDeadline {
				d = 100 * time.Millisecond
			}
			_, f := ask(within(t, d), c, "q-1")
			if f == nil || f.Class != tt.class {
				t.Errorf("failure %v, want %s", f, tt.class)
			}
			h := got.Load()
			if tt.sent == "" && h != nil || tt.sent != "" && (h == nil || len(*h) != 1 || (*h)[0] != tt.sent) {
				t.Errorf("the server got %v, want %q", h, tt.sent)
			}
		})
	}
}

// The caller's own round tripper is used, its exchanges end with Close, and it
// itself is not closed (D-SHUT-3).
func TestRoundTripperStaysTheCallers(t *testing.T) {
	under := make(chan struct{})
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body) // or the server does not see that the client has left
		if r.URL.Path == "/hang" {
			close(under)
			<-r.Context().Done()
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"jsonrpc":"2.0","id":"q"}`))
	}))
	defer srv.Close()
	mine := &http.Transport{}
	defer mine.CloseIdleConnections()
	c := carry(t, &ahp.HTTPTransport{URL: srv.URL + "/hang"}, func(o *transport.Options) { o.RoundTripper = mine })
	failed := make(chan *ahp.Failure, 1)
	go func() {
		_, f := ask(within(t, 20*time.Second), c, "q")
		failed <- f
	}()
	<-under
	if err := c.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if f := <-failed; f == nil || f.Class != ahp.FailShutdown {
		t.Errorf("failure %v, want %s", f, ahp.FailShutdown)
	}
	again := carry(t, &ahp.HTTPTransport{URL: srv.URL}, func(o *transport.Options) { o.RoundTripper = mine })
	if _, f := ask(within(t, 20*time.Second), again, "q"); f != nil {
		t.Errorf("the round tripper cannot be used any more: %v", f)
	}
}
