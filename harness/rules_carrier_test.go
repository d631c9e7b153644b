package harness_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"io"
	"log"
	"math/big"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/harness"
	"github.com/holdpoint/holdpoint/internal/badbackend/badtest"
	"github.com/holdpoint/holdpoint/settle"
	"github.com/holdpoint/holdpoint/transport"
)

func recordSchema(t *testing.T) *jsonschema.Schema {
	t.Helper()
	s, err := jsonschema.NewCompiler().Compile(filepath.Join("..", "docs", "schemas", "settlement-record.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// settles checks one call over a transport.
func settles(t *testing.T, tr ahp.Transport, policy ahp.FailurePolicy, proceed bool, class ahp.FailureClass) {
	t.Helper()
	r := open(t, nil, intercept(backendID, tr, long, policy))
	s, _ := settleOne(t, r, toolBefore())
	if got := r.rec.one(t).Hops[0].Class; s.Proceeds() != proceed || got != class {
		t.Errorf("%s: proceeds %v, class %q; want %v, %q", policy, s.Proceeds(), got, proceed, class)
	}
}

var stdioRules = []rule{
	{"V-ROLE-3", func(t *testing.T) {
		// A line that nobody asked for, before the question: the answer counts.
		r := open(t, nil, intercept(backendID, stdio(t, ahp.Persistent, "-fault", "unasked", "-effect", "deny"), long, ahp.FailClosed))
		// The first question starts the process, so the line may come before or
		// after it; for the second one it is surely over.
		_, _ = settleOne(t, r, toolBefore())
		if s, _ := settleOne(t, r, toolBefore()); s.Proceeds() || s.Synthetic {
			t.Errorf("%+v", s)
		}
	}},
	{"AHP-STDIO-001", func(t *testing.T) {
		log := t.TempDir() + "/log"
		ev := toolBefore()
		ev.Tool.Input = ahp.Raw("{\n  \"cmd\":\r\n \"a\\nb\"\n}")
		r := open(t, nil, intercept(backendID, stdio(t, ahp.Persistent, "-log", log), long, ahp.FailClosed))
		if s, err := settleOne(t, r, ev); !s.Proceeds() || err != nil {
			t.Fatalf("%+v, %v", s, err)
		}
		if lines := logged(t, log); len(lines) != 2 || lines[1] != "" || !strings.Contains(lines[0], `"a\nb"`) {
			t.Errorf("%q", lines) // one line of message, and the log's own line end
		}
		settles(t, stdio(t, ahp.Persistent, "-fault", "banner"), ahp.FailClosed, false, malformed)
	}},
	{"V-IO-1", func(t *testing.T) {
		settles(t, stdio(t, ahp.Persistent, "-fault", "pretty"), ahp.FailClosed, false, malformed)
		settles(t, stdio(t, ahp.PerEvent, "-fault", "pretty"), ahp.FailClosed, false, malformed)
	}},
	{"V-IO-2", func(t *testing.T) {
		settles(t, stdio(t, ahp.Persistent, "-fault", "banner"), ahp.FailOpen, true, malformed)
		settles(t, stdio(t, ahp.PerEvent, "-fault", "banner"), ahp.FailOpen, true, malformed)
	}},
	{"V-IO-3", func(t *testing.T) {
		settles(t, stdio(t, ahp.Persistent, "-fault", "stderrflood"), ahp.FailClosed, true, "")
		settles(t, stdio(t, ahp.PerEvent, "-fault", "stderrflood"), ahp.FailClosed, true, "")
	}},
	{"V-IO-4", func(t *testing.T) {
		touched := filepath.Join(t.TempDir(), "x")
		r := open(t, nil, intercept(backendID, stdio(t, ahp.PerEvent, "-fault", "argv", "$(touch "+touched+")", "; touch "+touched, "*"), long, ahp.FailClosed))
		s, _ := settleOne(t, r, toolBefore())
		if !strings.Contains(r.rec.one(t).Reason, "$(touch "+touched+") ; touch "+touched+" *") {
			t.Errorf("arguments: %q", s.Reason)
		}
		if _, err := os.Stat(touched); err == nil {
			t.Error("a shell ran")
		}
	}},
	{"V-IO-5", func(t *testing.T) {
		t.Setenv("UNRELATED_SECRET", "x1")
		t.Setenv("WANTED_SETTING", "x2")
		t.Setenv("LANG", "C")
		r := open(t, func(o *harness.Options) { o.Transport.Env = []string{"WANTED_SETTING"} },
			intercept(backendID, stdio(t, ahp.PerEvent, "-fault", "env"), long, ahp.FailClosed))
		_, _ = settleOne(t, r, toolBefore())
		env := r.rec.one(t).Reason
		if strings.Contains(env, "UNRELATED_SECRET") || !strings.Contains(env, "WANTED_SETTING=x2") || !strings.Contains(env, "PATH=") || !strings.Contains(env, "LANG=C") {
			t.Errorf("environment %q", env)
		}
	}},
	{"V-IO-6", func(t *testing.T) {
		t.Setenv("GUARD_TOKEN", "s3cr3t-token")
		log := t.TempDir() + "/log"
		tr := badtest.HTTP(t, "-log", log)
		b := intercept(backendID, tr, long, ahp.FailClosed)
		b.Auth = &ahp.Bearer{TokenEnv: "GUARD_TOKEN"}
		if s, err := settleOne(t, open(t, nil, b), toolBefore()); !s.Proceeds() || err != nil {
			t.Fatalf("%+v, %v", s, err)
		}
		line := logged(t, log)[0]
		if _, body, ok := strings.Cut(line, `{"jsonrpc"`); !ok || strings.Contains(body, "s3cr3t-token") {
			t.Errorf("sent %s", line)
		}
	}},
	{"V-IO-7", func(t *testing.T) {
		log := t.TempDir() + "/log"
		r := open(t, nil, intercept(backendID, stdio(t, ahp.Persistent, "-log", log, "-fault", "exitafter"), long, ahp.FailClosed))
		for range 20 {
			if s, err := settleOne(t, r, toolBefore()); !s.Proceeds() || err != nil {
				t.Fatalf("%+v, %v", s, err)
			}
		}
		if runtime.GOOS == "linux" {
			if n := len(processes(t, log)); n != 1 {
				t.Errorf("%d processes, want 1", n)
			}
		}
	}},
	{"V-IO-8", oneOutstanding},
	{"V-AMB-3", oneOutstanding},
	{"V-IO-9", func(t *testing.T) {
		// Three bad answers in a row end the process; the next question gets a new
		// one.
		log := filepath.Join(t.TempDir(), "log")
		r := open(t, nil, intercept(backendID, stdio(t, ahp.Persistent, "-fault", "garbage", "-log", log), long, ahp.FailOpen))
		var running []string
		for i := range 4 {
			if _, err := settleOne(t, r, toolBefore()); err != nil {
				t.Fatal(err)
			}
			now := processes(t, log)
			switch i {
			case 0:
				running = now
			case 1:
				if !slices.Equal(now, running) {
					t.Errorf("after two bad answers: %q, then %q", running, now)
				}
			case 3:
				if len(now) == 0 || slices.Equal(now, running) {
					t.Errorf("after four bad answers still %q", now)
				}
			}
		}
		for _, rec := range r.rec.all() {
			if rec.Hops[0].Class != malformed {
				t.Errorf("class %s", rec.Hops[0].Class)
			}
		}
		// One that floods is ended although nobody asks it anything.
		settles(t, stdio(t, ahp.Persistent, "-fault", "stdoutflood"), ahp.FailOpen, true, malformed)
	}},
	{"V-IO-10", func(t *testing.T) {
		log := t.TempDir() + "/log"
		r := open(t, nil, intercept(backendID, stdio(t, ahp.PerEvent, "-log", log), long, ahp.FailClosed))
		for range 3 {
			// It ends only at EOF, so an answer shows that EOF came.
			if s, err := settleOne(t, r, toolBefore()); !s.Proceeds() || err != nil {
				t.Fatalf("%+v, %v", s, err)
			}
		}
		if n := len(logged(t, log)); n != 6 {
			t.Errorf("%d lines logged, want 6", n)
		}
		if runtime.GOOS == "linux" && len(processes(t, log)) > 0 {
			t.Error("a process is left")
		}
	}},
	{"V-IO-11", func(t *testing.T) {
		exit := func(effect string, code string) *ahp.StdioTransport {
			return stdio(t, ahp.PerEvent, "-fault", "exitafter", "-effect", effect, "-exit", code)
		}
		settles(t, exit("deny", "0"), ahp.FailOpen, false, "")
		settles(t, exit("none", "0"), ahp.FailClosed, true, "")
		settles(t, exit("none", "1"), ahp.FailClosed, false, process)
		settles(t, exit("none", "1"), ahp.FailOpen, true, process)
		settles(t, exit("deny", "2"), ahp.FailOpen, true, process)
		settles(t, exit("deny", "2"), ahp.FailClosed, false, process)
		settles(t, stdio(t, ahp.PerEvent, "-fault", "empty"), ahp.FailClosed, false, malformed)
	}},
	{"V-IO-12", func(t *testing.T) {
		for _, l := range []ahp.Lifecycle{ahp.PerEvent, ahp.Persistent} {
			r := open(t, nil, observe(backendID, stdio(t, l, "-fault", "exitafter"), ahp.SessionStart))
			ev := &ahp.Event{Type: ahp.SessionStart, Session: ahp.Session{ID: "s-1"}}
			if s, err := settleOne(t, r, ev); !s.Proceeds() || err != nil {
				t.Errorf("%s: %+v, %v", l, s, err)
			}
		}
	}},
	{"V-AMB-4", func(t *testing.T) {
		// The first question is given up when the process has it; its answer, a
		// denial, comes while the second one is open, and is dropped. Also with ids
		// too short to stand out.
		for _, ids := range [][2]string{{}, {"deny", "effects"}} {
			log := filepath.Join(t.TempDir(), "log")
			r := open(t, nil, intercept(backendID, stdio(t, ahp.Persistent, "-fault", "lateonce", "-log", log), long, ahp.FailOpen))
			first, second := toolBefore(), toolBefore()
			first.ID, second.ID = ids[0], ids[1]
			ctx, giveUp := context.WithCancel(t.Context())
			c := r.Begin(ctx, first)
			done := make(chan settle.Settlement, 1)
			go func() { s, _ := c.Settle(); done <- s }()
			started(t, log)
			giveUp()
			if s := <-done; s.Proceeds() || s.Class != ahp.FailShutdown {
				t.Errorf("the first of %q: %+v", ids, s)
			}
			if s, _ := settleOne(t, r, second); !s.Proceeds() || s.FailedOpen {
				t.Errorf("the second of %q: %+v", ids, s)
			}
		}
		// An id that was never issued is no late answer.
		settles(t, stdio(t, ahp.Persistent, "-fault", "wrongid"), ahp.FailClosed, false, ahp.FailIDMismatch)
		// A second answer to an earlier question does not count for the open one.
		for _, fault := range []string{"twice", "again"} {
			r := open(t, nil, intercept(backendID, stdio(t, ahp.Persistent, "-fault", fault), long, ahp.FailClosed))
			for range 5 {
				if s, _ := settleOne(t, r, toolBefore()); !s.Proceeds() {
					t.Errorf("%s: %+v", fault, s)
				}
			}
		}
	}},
	{"V-AMB-9", func(t *testing.T) {
		settles(t, stdio(t, ahp.PerEvent, "-fault", "nolf", "-effect", "deny"), ahp.FailOpen, false, "")
		r := open(t, nil, intercept(backendID, stdio(t, ahp.Persistent, "-fault", "nolf"), short, ahp.FailClosed))
		if s, _ := settleOne(t, r, toolBefore()); s.Class != deadline {
			t.Errorf("%+v", s)
		}
	}},
	{"V-AMB-10", func(t *testing.T) {
		settles(t, stdio(t, ahp.PerEvent, "-fault", "crlf"), ahp.FailClosed, true, "")
		settles(t, stdio(t, ahp.Persistent, "-fault", "crlf"), ahp.FailClosed, true, "")
	}},
	{"V-AMB-11", func(t *testing.T) {
		settles(t, stdio(t, ahp.PerEvent, "-fault", "extra"), ahp.FailClosed, false, malformed)
		settles(t, stdio(t, ahp.PerEvent, "-fault", "twice", "-effect", "deny"), ahp.FailOpen, true, malformed)
	}},
}

// oneOutstanding asks one process from many goroutines. It takes its time over each
// question, and refuses one that meanwhile gets company.
func oneOutstanding(t *testing.T) {
	r := open(t, nil, intercept(backendID, stdio(t, ahp.Persistent, "-fault", "single", "-delay", "5ms"), long, ahp.FailClosed))
	done := make(chan bool, 16)
	for range cap(done) {
		go func() {
			s, err := r.Begin(t.Context(), toolBefore()).Settle()
			done <- s.Proceeds() && err == nil
		}()
	}
	for range cap(done) {
		if !<-done {
			t.Error("a question failed, or two were open at once")
		}
	}
}

// server is an HTTP backend in the test's own process, for what needs a look at
// the request or a certificate.
func server(t *testing.T, useTLS bool, h http.HandlerFunc) *httptest.Server {
	t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	if useTLS {
		s.StartTLS()
	} else {
		s.Start()
	}
	t.Cleanup(s.Close)
	return s
}

// echoNone answers a request with no effects.
func echoNone(w http.ResponseWriter, r *http.Request) {
	var b bytes.Buffer
	_, _ = b.ReadFrom(r.Body)
	id, _ := frameID(b.Bytes())
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write([]byte(none(id)))
}

// selfSigned makes a certificate for one name that is its own root.
func selfSigned(t *testing.T, name string) (tls.Certificate, *x509.Certificate) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{name},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, leaf
}

var httpRules = []rule{
	{"AHP-HTTP-001", func(t *testing.T) {
		log := t.TempDir() + "/log"
		settles(t, badtest.HTTP(t, "-log", log), ahp.FailClosed, true, "")
		lines := logged(t, log)
		if len(lines) != 1 || !strings.Contains(lines[0], "POST /hook") {
			t.Errorf("%q", lines)
		}
		settles(t, badtest.HTTP(t, "-fault", "batch"), ahp.FailClosed, false, malformed)
	}},
	{"V-HTTP-1", func(t *testing.T) {
		log := t.TempDir() + "/log"
		settles(t, badtest.HTTP(t, "-fault", "charset", "-log", log), ahp.FailClosed, true, "")
		if line := logged(t, log)[0]; !strings.Contains(line, "Content-Type:[application/json]") {
			t.Error(line)
		}
		settles(t, badtest.HTTP(t, "-fault", "textplain"), ahp.FailClosed, false, malformed)
		settles(t, badtest.HTTP(t, "-fault", "nomediatype"), ahp.FailClosed, false, malformed)
	}},
	{"V-HTTP-2", func(t *testing.T) {
		for _, f := range []string{"status201", "status202", "status204"} {
			settles(t, badtest.HTTP(t, "-fault", f, "-effect", "deny"), ahp.FailOpen, true, status)
		}
	}},
	{"V-HTTP-3", func(t *testing.T) {
		for _, code := range []int{202, 204} {
			s := server(t, false, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(code) })
			r := open(t, nil, observe(backendID, &ahp.HTTPTransport{URL: s.URL}, ahp.SessionStart))
			_, _ = settleOne(t, r, &ahp.Event{Type: ahp.SessionStart, Session: ahp.Session{ID: "s-1"}})
			if st := r.Stats(); st.Observed != 1 || st.ObserveFailed != 0 {
				t.Errorf("%d: %+v", code, st)
			}
		}
	}},
	{"V-HTTP-4", func(t *testing.T) {
		for _, f := range []string{"status404", "status500"} {
			settles(t, badtest.HTTP(t, "-fault", f), ahp.FailClosed, false, status)
		}
	}},
	{"V-HTTP-5", func(t *testing.T) {
		log := t.TempDir() + "/log"
		settles(t, badtest.HTTP(t, "-fault", "redirect", "-log", log), ahp.FailOpen, true, status)
		if lines := logged(t, log); len(lines) != 1 {
			t.Errorf("the redirect was followed: %q", lines)
		}
	}},
	{"V-HTTP-6", func(t *testing.T) {
		// Only POST is ever sent, and a stream is no answer.
		var methods []string
		s := server(t, false, func(w http.ResponseWriter, r *http.Request) {
			methods = append(methods, r.Method)
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write([]byte("data: {}\n\n"))
		})
		settles(t, &ahp.HTTPTransport{URL: s.URL}, ahp.FailClosed, false, malformed)
		if !slices.Equal(methods, []string{"POST"}) {
			t.Errorf("sent %q", methods)
		}
	}},
	{"V-AMB-6", func(t *testing.T) {
		// A good answer under a status other than 200 is a failure all the same.
		settles(t, badtest.HTTP(t, "-fault", "status500", "-effect", "deny"), ahp.FailOpen, true, status)
		settles(t, badtest.HTTP(t, "-fault", "rpcerror"), ahp.FailClosed, false, ahp.FailRPCError)
	}},
	{"V-AMB-5", func(t *testing.T) {
		r := open(t, nil, observe(backendID, badtest.HTTP(t, "-fault", "observe200"), ahp.SessionStart))
		s, err := settleOne(t, r, &ahp.Event{Type: ahp.SessionStart, Session: ahp.Session{ID: "s-1"}})
		if !s.Proceeds() || err != nil || r.Stats().ObserveFailed != 1 {
			t.Errorf("%+v, %v, %+v", s, err, r.Stats())
		}
	}},
	{"V-TLS-1", func(t *testing.T) {
		for _, u := range []string{"http://example.org/", "http://10.0.0.1/", "http://[2001:db8::1]/", "http://localhost.example.org", "ftp://127.0.0.1/", "//127.0.0.1/"} {
			refusedRegistration(t, "url", intercept(backendID, &ahp.HTTPTransport{URL: u}, long, ahp.FailOpen))
		}
		open(t, nil, intercept(backendID, &ahp.HTTPTransport{URL: "https://example.org/hook"}, long, ahp.FailOpen))
	}},
	{"V-TLS-2", func(t *testing.T) {
		for _, u := range []string{"http://127.0.0.1/", "http://localhost:8080/x", "http://[::1]:1/", "http://127.9.9.9/"} {
			open(t, nil, intercept(backendID, &ahp.HTTPTransport{URL: u}, long, ahp.FailOpen))
		}
	}},
	{"V-TLS-3", func(t *testing.T) {
		s := server(t, true, echoNone)
		settles(t, &ahp.HTTPTransport{URL: s.URL}, ahp.FailClosed, false, connection)
		pool := x509.NewCertPool()
		pool.AddCert(s.Certificate())
		r := open(t, func(o *harness.Options) { o.Transport.RootCAs = pool }, intercept(backendID, &ahp.HTTPTransport{URL: s.URL}, long, ahp.FailClosed))
		if got, _ := settleOne(t, r, toolBefore()); !got.Proceeds() {
			t.Errorf("with its own root: %+v", got)
		}
		// A certificate for another name, which is the peer's to choose: refused,
		// and the name goes nowhere.
		other := httptest.NewUnstartedServer(http.HandlerFunc(echoNone))
		other.Config.ErrorLog = log.New(io.Discard, "", 0)
		cert, leaf := selfSigned(t, "MARKER.example.org")
		other.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
		other.StartTLS()
		t.Cleanup(other.Close)
		pool.AddCert(leaf)
		r = open(t, func(o *harness.Options) { o.Transport.RootCAs = pool }, intercept(backendID, &ahp.HTTPTransport{URL: strings.Replace(other.URL, "127.0.0.1", "localhost", 1)}, long, ahp.FailClosed))
		if got, _ := settleOne(t, r, toolBefore()); got.Proceeds() || got.Class != connection {
			t.Errorf("another name: %+v", got)
		}
		if strings.Contains(r.log.String(), "MARKER") {
			t.Errorf("the certificate is in the log: %s", r.log.String())
		}
		// Nothing below TLS 1.2.
		old := httptest.NewUnstartedServer(http.HandlerFunc(echoNone))
		old.Config.ErrorLog = log.New(io.Discard, "", 0)
		old.TLS = &tls.Config{MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}
		old.StartTLS()
		t.Cleanup(old.Close)
		pool.AddCert(old.Certificate())
		r = open(t, func(o *harness.Options) { o.Transport.RootCAs = pool }, intercept(backendID, &ahp.HTTPTransport{URL: old.URL}, long, ahp.FailClosed))
		if got, _ := settleOne(t, r, toolBefore()); got.Proceeds() || got.Class != connection {
			t.Errorf("TLS 1.1: %+v", got)
		}
	}},
	{"V-AUTH-1", func(t *testing.T) {
		var got []string
		s := server(t, false, func(w http.ResponseWriter, r *http.Request) {
			got = append(got, r.Header.Get("Authorization"))
			echoNone(w, r)
		})
		token := "first"
		b := intercept(backendID, &ahp.HTTPTransport{URL: s.URL}, long, ahp.FailClosed)
		b.Auth = &ahp.Bearer{TokenEnv: "GUARD_TOKEN"}
		r := open(t, func(o *harness.Options) {
			o.Transport.LookupEnv = func(string) (string, bool) { return token, true }
		}, b)
		_, _ = settleOne(t, r, toolBefore())
		token = "second" // rotated between two messages
		_, _ = settleOne(t, r, toolBefore())
		if !slices.Equal(got, []string{"Bearer first", "Bearer second"}) {
			t.Errorf("%q", got)
		}
	}},
	{"V-AUTH-2", func(t *testing.T) {
		const token = "s3cr3t-token"
		b := intercept(backendID, badtest.HTTP(t, "-fault", "status401"), long, ahp.FailClosed)
		b.Auth = &ahp.Bearer{TokenEnv: "GUARD_TOKEN"}
		r := open(t, func(o *harness.Options) {
			o.Transport.LookupEnv = func(string) (string, bool) { return token, true }
		}, b)
		s, _ := settleOne(t, r, toolBefore())
		rec := r.rec.one(t)
		if all := s.Reason + string(rec.MarshalAppend(nil)) + r.log.String(); strings.Contains(all, token) {
			t.Errorf("the token is in %s", all)
		}
	}},
	{"V-AMB-14", func(t *testing.T) {
		asked := false
		s := server(t, false, func(w http.ResponseWriter, r *http.Request) { asked = true; echoNone(w, r) })
		for _, token := range []string{"", "with\nline", "with space"} {
			b := intercept(backendID, &ahp.HTTPTransport{URL: s.URL}, long, ahp.FailClosed)
			b.Auth = &ahp.Bearer{TokenEnv: "GUARD_TOKEN"}
			r := open(t, func(o *harness.Options) {
				o.Transport.LookupEnv = func(string) (string, bool) { return token, token != "" }
			}, b)
			got, _ := settleOne(t, r, toolBefore())
			if got.Proceeds() || got.Class != ahp.FailCredential || asked {
				t.Errorf("%q: %+v, sent %v", token, got, asked)
			}
			if token == "" && !strings.Contains(r.log.String(), "GUARD_TOKEN") {
				t.Error("the missing variable is not reported at load")
			}
		}
	}},
}

// refusedRegistration checks that New refuses backends with a message that holds
// want and names the place.
func refusedRegistration(t *testing.T, want string, backends ...ahp.Backend) {
	t.Helper()
	_, err := harness.New(&ahp.Registration{Version: ahp.Version01, Hooks: backends}, options(harness.Discard))
	if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "/hooks") {
		t.Errorf("error %v, want one about %q", err, want)
	}
}

var registrationRules = []rule{
	{"AHP-REG-001", func(t *testing.T) {
		refusedRegistration(t, "empty")
		_, err := harness.New(&ahp.Registration{Hooks: []ahp.Backend{intercept(backendID, stdio(t, ahp.PerEvent), long, ahp.FailOpen)}}, options(harness.Discard))
		if err == nil || !strings.Contains(err.Error(), "protocolVersion") {
			t.Errorf("error %v", err)
		}
	}},
	{"V-REG-1", func(t *testing.T) {
		good := intercept("net.acme.good", stdio(t, ahp.PerEvent), long, ahp.FailOpen)
		bad := intercept("net.acme.bad", stdio(t, ahp.PerEvent), 0, "maybe")
		worse := ahp.Backend{ID: "nodots"}
		_, err := harness.New(&ahp.Registration{Version: ahp.Version01, Hooks: []ahp.Backend{good, bad, worse}}, options(harness.Discard))
		for _, want := range []string{"/hooks/1", "net.acme.bad", "timeoutMs", "failurePolicy", "/hooks/2", "reverse-DNS", "/transport", "/subscriptions"} {
			if err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%q is not in: %v", want, err)
			}
		}
		if err != nil && strings.Contains(err.Error(), "net.acme.good") {
			t.Errorf("the good one is blamed: %v", err)
		}
	}},
	{"V-REG-2", func(t *testing.T) {
		b := observe(backendID, stdio(t, ahp.PerEvent), "tool.*")
		refusedRegistration(t, "tool.*", b)
		rs := &respond{}
		r := open(t, func(o *harness.Options) { o.Local = map[string]transport.Local{backendID: rs.local} },
			observe(backendID, &ahp.LocalTransport{}, ahp.ToolAfter))
		if _, err := settleOne(t, r, toolBefore()); err != nil || len(rs.seen()) > 0 {
			t.Errorf("%v, sent %v", err, rs.seen())
		}
	}},
	{"V-REG-3", func(t *testing.T) {
		const secret = "s3cr3t"
		b := intercept(backendID, &ahp.HTTPTransport{URL: "https://user:" + secret + "@example.org/"}, long, ahp.FailOpen)
		_, err := harness.New(&ahp.Registration{Version: ahp.Version01, Hooks: []ahp.Backend{b}}, options(harness.Discard))
		if err == nil || strings.Contains(err.Error(), secret) {
			t.Errorf("error %v", err)
		}
		b = intercept(backendID, &ahp.HTTPTransport{URL: "https://example.org/"}, long, ahp.FailOpen)
		b.Auth = &ahp.Bearer{TokenEnv: "not a name: s3cr3t"}
		refusedRegistration(t, "tokenEnv", b)
		b = intercept(backendID, stdio(t, ahp.PerEvent), long, ahp.FailOpen)
		b.Auth = &ahp.Bearer{TokenEnv: "TOKEN"}
		refusedRegistration(t, "authentication", b)
	}},
	{"V-REG-5", func(t *testing.T) {
		// The working directory of the document is the child's.
		dir, err := filepath.EvalSymlinks(t.TempDir())
		if err != nil {
			t.Fatal(err)
		}
		tr := stdio(t, ahp.PerEvent, "-fault", "cwd")
		tr.CWD = dir
		r := open(t, nil, intercept(backendID, tr, long, ahp.FailClosed))
		if s, _ := settleOne(t, r, toolBefore()); s.Reason != settle.OneLine(dir) {
			t.Errorf("cwd %q, want %q", s.Reason, dir)
		}
	}},
	{"V-AMB-19", func(t *testing.T) {
		refusedRegistration(t, "already", intercept(backendID, stdio(t, ahp.PerEvent), long, ahp.FailOpen),
			observe(backendID, stdio(t, ahp.PerEvent), ahp.ToolAfter))
	}},
}
