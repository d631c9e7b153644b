package harness_test

import (
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/harness"
	"github.com/holdpoint/holdpoint/internal/badbackend/badtest"
	"github.com/holdpoint/holdpoint/settle"
)

// classOf shows one class of failure with faults of the matrix, under both policies.
func classOf(cells map[string][]string) func(t *testing.T) {
	return func(t *testing.T) {
		schema, err := jsonschema.NewCompiler().Compile(filepath.Join("..", "docs", "schemas", "settlement-record.schema.json"))
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range draftMatrix() {
			for _, carrier := range cells[r.fault] {
				for _, policy := range []ahp.FailurePolicy{ahp.FailOpen, ahp.FailClosed} {
					t.Run(r.fault+"/"+carrier+"/"+string(policy), func(t *testing.T) {
						t.Parallel()
						runDraftCell(t, r, carrier, policy, schema)
					})
				}
			}
		}
	}
}

// answering serves HTTP with one answer for each request, made by f.
func answering(t *testing.T, f func(w http.ResponseWriter, id string)) *httptest.Server {
	t.Helper()
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		b, _ := io.ReadAll(r.Body)
		var m message
		_ = json.Unmarshal(b, &m)
		if m.ID == nil {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		f(w, *m.ID)
	}))
	t.Cleanup(srv.Close)
	return srv
}

var carrierRules = []draftRule{
	{"D-FC-1", classOf(map[string][]string{"hung": carriers})},
	{"D-FC-2", classOf(map[string][]string{"@refused": {"http"}, "closemid": {"http"}, "killed": {"persistent"}})},
	{"D-FC-3", classOf(map[string][]string{"@nocommand": {"persistent", "per_event"}, "exit": {"persistent", "per_event"}})},
	{"D-FC-4", classOf(map[string][]string{"@notoken": {"http"}, "status401": {"http"}})},
	{"D-FC-5", classOf(map[string][]string{"status500": {"http"}, "status202": {"http"}, "redirect": {"http"}})},
	{"D-FC-6", classOf(map[string][]string{"nonutf8": carriers, "batch": carriers, "resultanderror": carriers, "dupname": carriers})},
	{"D-FC-7", classOf(map[string][]string{"wrongid": {"http", "per_event"}})},
	{"D-FC-8", classOf(map[string][]string{"rpcerror": carriers})},
	{"D-FC-9", classOf(map[string][]string{"wrongversion": carriers, "badevent": carriers})},
	{"D-FC-10", classOf(map[string][]string{"missingeffects": carriers})},
	{"D-FC-11", classOf(map[string][]string{"effectfield": carriers, "unadvertised": carriers, "denyunknown": carriers, "goodthenbad": carriers})},
	{"D-FAIL-8", classOf(map[string][]string{"late": carriers})},
	{"D-FAIL-3", classOf(map[string][]string{"@notoken": {"http"}})},
	{"D-FAIL-4", classOf(map[string][]string{"rpcerror": {"http"}})}, // the cell looks for what the peer sent
	{"D-STAGE-7", classOf(map[string][]string{"twice": {"persistent"}})},
	{"D-IO-3", func(t *testing.T) {
		h := openDraft(t, nil, backendOf("net.acme.a", badtest.Stdio(t, ahp.Persistent, "-revision", "draft", "-fault", "stray"), asks(ahp.FailClosed, "*")))
		s, err := settleOne(t, h, draftTool())
		if !s.Proceeds() || err != nil || h.Stats().Strays != 1 {
			t.Errorf("%s, %v, %+v", s.State, err, h.Stats())
		}
		// A right denial behind a stray line counts (D-AMB-18).
		h = openDraft(t, nil, backendOf("net.acme.a", badtest.Stdio(t, ahp.Persistent, "-revision", "draft", "-fault", "stray", "-effect", "deny"), asks(ahp.FailOpen, "*")))
		if s, _ := settleOne(t, h, draftTool()); s.State != settle.Denied || s.Synthetic {
			t.Errorf("settled %s", s.State)
		}
	}},
	{"D-STAGE-9", func(t *testing.T) {
		// Two requests are open on HTTP (D-HTTP-9), and answered in the other order.
		first := make(chan struct{})
		srv := answering(t, func(w http.ResponseWriter, id string) {
			if id == "ev-first" {
				<-first
				_, _ = io.WriteString(w, draftAnswer(id, list(deny)))
				return
			}
			_, _ = io.WriteString(w, draftAnswer(id, list(notify)))
			close(first)
		})
		h := openDraft(t, nil, backendOf("net.acme.a", &ahp.HTTPTransport{URL: srv.URL}, asks(ahp.FailClosed, "*")))
		one, two := draftTool(), draftTool()
		one.ID, two.ID = "ev-first", "ev-second"
		done := make(chan settle.Settlement, 1)
		c := h.Begin(t.Context(), one)
		go func() { s, _ := c.Settle(); done <- s }()
		s, err := settleOne(t, h, two)
		if !s.Proceeds() || err != nil || len(s.Messages) != 1 {
			t.Errorf("the second: %s, %v", s.State, err)
		}
		if s := <-done; s.State != settle.Denied || len(s.Messages) != 0 {
			t.Errorf("the first: %s", s.State)
		}
	}},
	{"D-HTTP-2", classOf(map[string][]string{"status202": {"http"}, "status201": {"http"}, "status204": {"http"}})},
	{"D-HTTP-3", func(t *testing.T) {
		for fault, failed := range map[string]uint64{"none": 0, "observe200": 1} {
			h := openDraft(t, nil, backendOf("net.acme.a", badtest.HTTP(t, "-revision", "draft", "-fault", fault), watches("*")))
			if _, err := settleOne(t, h, draftTool()); err != nil || h.Stats().ObserveFailed != failed {
				t.Errorf("%s: %v, %+v", fault, err, h.Stats())
			}
		}
	}},
	{"D-HTTP-4", classOf(map[string][]string{"status401": {"http"}, "status404": {"http"}})},
	{"D-HTTP-5", func(t *testing.T) {
		var seen atomic.Int32
		target := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { seen.Add(1) }))
		defer target.Close()
		srv := answering(t, func(w http.ResponseWriter, _ string) {
			w.Header().Set("Location", target.URL)
			w.WriteHeader(http.StatusTemporaryRedirect)
		})
		b := backendOf("net.acme.a", &ahp.HTTPTransport{URL: srv.URL}, asks(ahp.FailOpen, "*"))
		b.Auth = &ahp.Bearer{TokenEnv: "TOKEN"}
		h := openDraft(t, func(o *harness.Options) {
			o.Transport.LookupEnv = func(string) (string, bool) { return "secret", true }
		}, b)
		if s, _ := settleOne(t, h, draftTool()); seen.Load() != 0 || !s.FailedOpen {
			t.Errorf("%s, the target saw %d requests", s.State, seen.Load())
		}
	}},
	{"D-HTTP-7", func(t *testing.T) {
		b := backendOf("net.acme.a", &ahp.HTTPTransport{URL: "http://guard.example/ahp"}, watches("*"))
		refused(t, draftOptions(harness.Discard), "plain http to a host that is not loopback", b)
	}},
	{"D-AUTH-1", func(t *testing.T) {
		// A certificate that nobody trusts ends it: no second try in plain text.
		var seen atomic.Int32
		srv := httptest.NewUnstartedServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { seen.Add(1) }))
		srv.Config.ErrorLog = log.New(io.Discard, "", 0)
		srv.StartTLS()
		defer srv.Close()
		h := openDraft(t, nil, backendOf("net.acme.a", &ahp.HTTPTransport{URL: srv.URL}, asks(ahp.FailClosed, "*")))
		if s, _ := settleOne(t, h, draftTool()); s.Class != ahp.FailConnection || seen.Load() != 0 {
			t.Errorf("class %s, %d requests", s.Class, seen.Load())
		}
	}},
	{"D-HTTP-8", func(t *testing.T) {
		var paths []string
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			paths = append(paths, r.Method+" "+r.RequestURI)
			b, _ := io.ReadAll(r.Body)
			var m message
			if json.Unmarshal(b, &m) == nil && m.ID != nil {
				w.Header().Set("Content-Type", "application/json")
				_, _ = io.WriteString(w, draftAnswer(*m.ID, "[]"))
				return
			}
			w.WriteHeader(http.StatusAccepted)
		}))
		defer srv.Close()
		h := openDraft(t, nil, backendOf("net.acme.a", &ahp.HTTPTransport{URL: srv.URL + "/a/b?c=d"}, asks(ahp.FailClosed, "*"), watches("*")))
		if _, err := settleOne(t, h, draftTool()); err != nil {
			t.Fatal(err)
		}
		if got := strings.Join(paths, ", "); got != "POST /a/b?c=d, POST /a/b?c=d" {
			t.Errorf("requests %s", got)
		}
	}},
	{"D-IO-2", func(t *testing.T) {
		// One open request for each process, whoever asks: the backend would not match.
		file := filepath.Join(t.TempDir(), "log")
		h := openDraft(t, nil, backendOf("net.acme.a", badtest.Stdio(t, ahp.Persistent, "-revision", "draft", "-log", file), asks(ahp.FailClosed, "*")))
		done := make(chan settle.Settlement, 8)
		for range cap(done) {
			c := h.Begin(t.Context(), draftTool())
			go func() { s, _ := c.Settle(); done <- s }()
		}
		for range cap(done) {
			if s := <-done; !s.Proceeds() {
				t.Errorf("settled %s by %s", s.State, s.Class)
			}
		}
		if n := strings.Count(strings.Join(logged(t, file), " "), `"hooks/intercept"`); n != cap(done) {
			t.Errorf("%d messages", n)
		}
	}},
	{"D-IO-5", func(t *testing.T) {
		// The status of a process that is told something changes nothing; it is reaped.
		tr := badtest.Stdio(t, ahp.PerEvent, "-revision", "draft", "-fault", "exitafter")
		h := openDraft(t, nil, backendOf("net.acme.a", tr, watches("*")))
		if s, err := settleOne(t, h, draftTool()); !s.Proceeds() || err != nil {
			t.Errorf("%s, %v", s.State, err)
		}
		closeNow(t, h.Harness)
	}},
	{"D-SHUT-2", func(t *testing.T) {
		mine := "mark-" + harness.NewID()
		args := []string{"-revision", "draft", "-log", filepath.Join(t.TempDir(), mine)}
		h := openDraft(t, nil,
			backendOf("net.acme.a", badtest.Stdio(t, ahp.Persistent, args...), asks(ahp.FailClosed, "*")),
			backendOf("net.acme.b", badtest.Stdio(t, ahp.PerEvent, args...), asks(ahp.FailClosed, "*")))
		if _, err := settleOne(t, h, draftTool()); err != nil {
			t.Fatal(err)
		}
		if len(processes(t, mine)) == 0 {
			t.Error("the persistent process is not there")
		}
		closeNow(t, h.Harness)
		if left := processes(t, mine); len(left) != 0 {
			t.Errorf("left: %q", left)
		}
	}},
	{"D-IO-7", func(t *testing.T) {
		b := backendOf("net.acme.a", &ahp.StdioTransport{Command: "x", Lifecycle: ahp.PerEvent}, watches("*"))
		b.Auth = &ahp.Bearer{TokenEnv: "X"}
		refused(t, draftOptions(harness.Discard), "/authentication: allowed with http only", b)
	}},
	{"AHP-CORE-004", classOf(map[string][]string{"reset": {"http"}})},
	{"D-SEC-1", func(t *testing.T) {
		// An answer of the right shape from the wrong call is no answer.
		srv := answering(t, func(w http.ResponseWriter, _ string) {
			_, _ = io.WriteString(w, draftAnswer("another", `[{"type":"allow"}]`))
		})
		h := openDraft(t, nil, backendOf("net.acme.a", &ahp.HTTPTransport{URL: srv.URL}, asks(ahp.FailClosed, "*")))
		if s, _ := settleOne(t, h, draftTool()); s.Class != ahp.FailIDMismatch || s.State != settle.Denied {
			t.Errorf("%s, %s", s.State, s.Class)
		}
	}},
}
