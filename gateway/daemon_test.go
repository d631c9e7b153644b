package gateway_test

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/audit"
	"github.com/holdpoint/holdpoint/audit/sqlite"
	"github.com/holdpoint/holdpoint/gateway"
	"github.com/holdpoint/holdpoint/harness"
	"github.com/holdpoint/holdpoint/hookwire"
	"github.com/holdpoint/holdpoint/internal/schematest"
)

func TestASecondDaemonNamesTheFirst(t *testing.T) {
	r := start(t, options(t))
	o := options(t)
	o.Socket = r.opts.Socket
	_, err := gateway.Open(t.Context(), o)
	var running *gateway.RunningError
	if !errors.As(err, &running) || running.PID != os.Getpid() || !strings.Contains(err.Error(), fmt.Sprint(os.Getpid())) {
		t.Errorf("got %v, want a RunningError with process %d", err, os.Getpid())
	}
	if got := hook(t, o.Socket, hookwire.AgentClaudeCode, "PreToolUse", bash("ls")); !got.empty() {
		t.Errorf("the first daemon does not serve any more: %+v", got)
	}
}

func TestAStaleSocketIsReplacedAndAnythingElseIsNot(t *testing.T) {
	o := options(t)
	ln, err := net.Listen("unix", o.Socket)
	if err != nil {
		t.Fatal(err)
	}
	ln.(*net.UnixListener).SetUnlinkOnClose(false) // as a killed daemon leaves it
	ln.Close()
	if _, err := os.Lstat(o.Socket); err != nil {
		t.Fatal(err)
	}
	r := start(t, o)
	if got := hook(t, o.Socket, hookwire.AgentClaudeCode, "PreToolUse", bash("ls")); !got.empty() {
		t.Errorf("got %+v", got)
	}
	r.end()
	if _, err := os.Lstat(o.Socket); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("after a stop the socket is still there: %v", err)
	}

	for name, make := range map[string]func(path string) error{
		"a file":   func(p string) error { return os.WriteFile(p, []byte("keep"), 0o600) },
		"a link":   func(p string) error { return os.Symlink("/etc/hosts", p) },
		"a folder": func(p string) error { return os.Mkdir(p, 0o700) },
	} {
		o := options(t)
		if err := make(o.Socket); err != nil {
			t.Fatal(err)
		}
		if g, err := gateway.Open(t.Context(), o); err == nil {
			t.Errorf("%s was replaced", name)
			g.Close()
		}
		if _, err := os.Lstat(o.Socket); err != nil {
			t.Errorf("%s is gone: %v", name, err)
		}
	}
}

func TestASocketFolderThatOthersCanEnterIsRefused(t *testing.T) {
	o := options(t)
	dir := filepath.Dir(o.Socket)
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	if g, err := gateway.Open(t.Context(), o); err == nil {
		g.Close()
		t.Error("mode 0755 was accepted")
	}
	link := filepath.Join(shortDir(t), "l")
	if err := os.Symlink(shortDir(t), link); err != nil {
		t.Fatal(err)
	}
	o = options(t)
	o.Socket = filepath.Join(link, "hook.sock")
	if g, err := gateway.Open(t.Context(), o); err == nil {
		g.Close()
		t.Error("a link was accepted")
	}
}

func TestOptionsAreRefusedWhole(t *testing.T) {
	tests := []struct {
		name string
		edit func(*gateway.Options)
		want string
	}{
		{"relative socket", func(o *gateway.Options) { o.Socket = "hook.sock" }, "absolute"},
		{"long socket", func(o *gateway.Options) { o.Socket = "/" + strings.Repeat("x", 100) }, "at most 100"},
		{"one socket for both", func(o *gateway.Options) { o.AHPSocket = o.Socket }, "it is the hook socket"},
		{"no timeout", func(o *gateway.Options) { o.PolicyTimeout = 0 }, "policy timeout"},
		{"no failure policy", func(o *gateway.Options) { o.FailurePolicy = "" }, "failure policy"},
		{"no audit", func(o *gateway.Options) { o.Audit = nil }, "audit: required"},
		{"no choice about audit failures", func(o *gateway.Options) { o.OnAuditFailure = "" }, "audit on failure"},
		{"negative drain", func(o *gateway.Options) { o.Drain = -1 }, "drain: the bound is negative"},
		{"negative bytes", func(o *gateway.Options) { o.KeepBytes = -1 }, "bytes to keep"},
		{"no choice about size", func(o *gateway.Options) { o.Oversize = "" }, "oversize"},
		{"a folder without a reload mode", func(o *gateway.Options) { o.Policy.Dir = "/x" }, "reload"},
		{"our own id", func(o *gateway.Options) { o.Hooks = []ahp.Backend{{ID: gateway.PolicyID}} }, gateway.PolicyID},
		{"no token", func(o *gateway.Options) { o.TCP = &gateway.TCP{Addr: "127.0.0.1:0"} }, "token is required"},
		{"short token", func(o *gateway.Options) { o.TCP = &gateway.TCP{Addr: "127.0.0.1:0", Token: "short"} }, "at least 16"},
		{"token with a space", func(o *gateway.Options) { o.TCP = &gateway.TCP{Addr: "127.0.0.1:0", Token: "0123456789 123456"} }, "space"},
		{"beyond loopback without TLS", func(o *gateway.Options) { o.TCP = &gateway.TCP{Addr: "0.0.0.0:0", Token: testToken} }, "TLS"},
		{"a name without TLS", func(o *gateway.Options) { o.TCP = &gateway.TCP{Addr: "myhost:0", Token: testToken} }, "TLS"},
		{"every address without TLS", func(o *gateway.Options) { o.TCP = &gateway.TCP{Addr: ":0", Token: testToken} }, "TLS"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			o := options(t)
			tt.edit(&o)
			g, err := gateway.Open(t.Context(), o)
			if err == nil {
				g.Close()
				t.Fatal("accepted")
			}
			if !strings.Contains(err.Error(), tt.want) {
				t.Errorf("error %q, want %q in it", err, tt.want)
			}
			if strings.Contains(err.Error(), testToken) {
				t.Error("the error holds the token")
			}
		})
	}
}

const testToken = "a-token-for-tests-0123456789"

func certificate(t *testing.T) (*tls.Config, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	tmpl := &x509.Certificate{
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"}, IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	leaf, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(leaf)
	return &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}, pool
}

const interceptForcePush = `{"jsonrpc":"2.0","id":"e-1","method":"hooks/intercept","params":{"protocolVersion":"0.1","event":{"id":"e-1","source":"urn:example:h","type":"tool.before","time":"2026-01-02T03:04:05Z","session":{"id":"s","cwd":"/home/dev/repo","workspaceRoots":["/home/dev/repo"]},"tool":{"callId":"c","name":"Bash","kind":"shell","input":{"command":"git push --force origin main"}}},"capabilities":{"effects":["deny"]}}}`

func TestTheTCPListenerIsGuarded(t *testing.T) {
	serverTLS, pool := certificate(t)
	for _, withTLS := range []bool{false, true} {
		t.Run(fmt.Sprintf("tls %v", withTLS), func(t *testing.T) {
			o := options(t)
			o.TCP = &gateway.TCP{Addr: "127.0.0.1:0", Token: testToken}
			scheme := "http"
			tr := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool}}
			if withTLS {
				o.TCP.TLS, scheme = serverTLS, "https"
			}
			r := start(t, o)
			c := &http.Client{Transport: tr, Timeout: 20 * time.Second}
			defer tr.CloseIdleConnections()
			base := scheme + "://" + r.TCPAddr().String()
			do := func(method, path, body string, edit func(*http.Request)) (int, string) {
				t.Helper()
				req, err := http.NewRequestWithContext(t.Context(), method, base+path, strings.NewReader(body))
				if err != nil {
					t.Fatal(err)
				}
				req.Header.Set("Authorization", "Bearer "+testToken)
				req.Header.Set("Content-Type", "application/json")
				if edit != nil {
					edit(req)
				}
				resp, err := c.Do(req)
				if err != nil {
					t.Fatal(err)
				}
				defer resp.Body.Close()
				b, err := io.ReadAll(resp.Body)
				if err != nil {
					t.Fatal(err)
				}
				return resp.StatusCode, string(b)
			}
			noToken := func(r *http.Request) { r.Header.Del("Authorization") }
			for _, path := range []string{"/ahp", "/metrics", "/healthz", "/readyz", "/"} {
				if status, body := do(http.MethodGet, path, "", noToken); status != http.StatusUnauthorized || strings.Contains(body, "holdpoint_") {
					t.Errorf("%s without a token: %d %s", path, status, body)
				}
			}
			if status, _ := do(http.MethodGet, "/metrics", "", nil); status != http.StatusOK {
				t.Errorf("metrics with the token: %d", status)
			}
			if status, _ := do(http.MethodGet, "/readyz", "", nil); status != http.StatusOK {
				t.Errorf("readyz with the token: %d", status)
			}
			if status, _ := do(http.MethodPost, "/ahp", interceptForcePush, func(r *http.Request) { r.Host = "evil.example" }); status != http.StatusMisdirectedRequest {
				t.Errorf("another host: %d", status)
			}
			if status, _ := do(http.MethodPost, "/ahp", interceptForcePush, func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") }); status != http.StatusForbidden {
				t.Errorf("another origin: %d", status)
			}
			if n := len(r.records(gateway.KindAnswer)); n != 0 {
				t.Errorf("%d answers recorded for refused requests", n)
			}
			status, body := do(http.MethodPost, "/ahp", interceptForcePush, nil)
			if status != http.StatusOK || !strings.Contains(body, `"deny"`) {
				t.Errorf("a force push: %d %s", status, body)
			}
			if status, _ := do(http.MethodGet, "/ahp", "", nil); status != http.StatusMethodNotAllowed {
				t.Errorf("GET: %d", status)
			}
			if n := len(r.records(gateway.KindAnswer)); n != 1 {
				t.Errorf("%d answers recorded, want 1", n)
			}
			if strings.Contains(r.log.String(), testToken) {
				t.Error("the token is in the log")
			}
			if withTLS {
				old := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MaxVersion: tls.VersionTLS11, MinVersion: tls.VersionTLS10}}
				defer old.CloseIdleConnections()
				if resp, err := (&http.Client{Transport: old}).Get(base + "/healthz"); err == nil {
					resp.Body.Close()
					t.Error("TLS 1.1 was accepted")
				}
			}
		})
	}
}

func TestTheAHPSocketAnswersAnyHarness(t *testing.T) {
	r := start(t, options(t))
	post := func(body string) (int, string) {
		t.Helper()
		resp, err := r.unixClient().Post("http://holdpoint/ahp", "application/json", strings.NewReader(body))
		if err != nil {
			t.Fatal(err)
		}
		defer resp.Body.Close()
		b, err := io.ReadAll(resp.Body)
		if err != nil {
			t.Fatal(err)
		}
		return resp.StatusCode, string(b)
	}
	if status, body := post(interceptForcePush); status != 200 || !strings.Contains(body, `"deny"`) || !strings.Contains(body, `"id":"e-1"`) {
		t.Errorf("%d %s", status, body)
	}
	if status, body := post(strings.ReplaceAll(strings.ReplaceAll(interceptForcePush, "git push --force origin main", "ls"), "e-1", "e-2")); status != 200 || !strings.Contains(body, `"effects":[]`) {
		t.Errorf("%d %s", status, body)
	}
	if status, body := post(strings.ReplaceAll(interceptForcePush, `"protocolVersion":"0.1"`, `"protocolVersion":"9.9"`)); status != 200 || !strings.Contains(body, "-32001") {
		t.Errorf("%d %s", status, body)
	}
	recs := r.records(gateway.KindAnswer)
	if len(recs) != 2 || recs[0].Decision != "denied" || recs[1].Decision != "proceed" {
		t.Errorf("answers recorded: %+v", recs)
	}
	if got := r.settlements(); len(got) != 0 {
		t.Errorf("the asking harness settles, not we: %+v", got)
	}
	if status, body := r.get("/healthz"); status != 200 || !strings.Contains(body, `"ok"`) {
		t.Errorf("healthz: %d %s", status, body)
	}
}

// While clients keep asking, a stop loses no answer that was given: who got one
// finds its record, and everybody else got none.
func TestAStopUnderLoadLosesNothing(t *testing.T) {
	o := options(t)
	o.MaxConnections = 64
	r := start(t, o)
	payload := bash("git push --force")
	var answered, wrong atomic.Int64
	var wg sync.WaitGroup
	halt := make(chan struct{})
	stopClients := sync.OnceFunc(func() { close(halt); wg.Wait() })
	defer stopClients()
	for range 16 {
		wg.Go(func() {
			for {
				select {
				case <-halt:
					return
				default:
				}
				ans, err := ask(t, o.Socket, hookwire.AgentClaudeCode, "PreToolUse", payload)
				switch {
				case err != nil:
				case ans.Status == hookwire.StatusBusy:
				case ans.Status != hookwire.StatusAnswer || ans.ExitCode != 2:
					wrong.Add(1)
				default:
					answered.Add(1)
				}
			}
		})
	}
	r.until("some are answered", func() bool { return answered.Load()+wrong.Load() > 200 })
	r.end()
	stopClients()
	if n := wrong.Load(); n > 0 {
		t.Errorf("%d answers that are no denial", n)
	}
	if n := int64(len(r.settlements())); n < answered.Load() {
		t.Errorf("%d answers, %d records", answered.Load(), n)
	}
	if stops := r.records(audit.Stop); len(stops) != 1 {
		t.Errorf("%d stop entries", len(stops))
	}
}

func TestAFullAuditLogDeniesOrProceedsAndRecovers(t *testing.T) {
	for _, then := range []harness.RecordFailure{harness.RecordDeny, harness.RecordProceed} {
		t.Run(string(then), func(t *testing.T) {
			store, err := sqlite.Open(t.Context(), sqlite.Options{Dir: filepath.Join(t.TempDir(), "audit"), Sync: audit.Always, MaxBytes: 160 << 10})
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close()
			o := options(t)
			o.Audit, o.OnAuditFailure = store, then
			r := start(t, o)
			say := func() *hookwire.Answer {
				t.Helper()
				ans, err := ask(t, o.Socket, hookwire.AgentClaudeCode, "PreToolUse", bash("ls"))
				if err != nil {
					t.Fatal(err)
				}
				return ans
			}
			var ans *hookwire.Answer
			for i := 0; !r.Ready().AuditBroken; i++ {
				if i > 5000 {
					t.Fatal("the log never gets full")
				}
				ans = say()
			}
			wantExit := uint8(2)
			if then == harness.RecordProceed {
				wantExit = 0
			}
			lost := int64(1) // the one that showed it
			for range 3 {
				lost++
				if ans.ExitCode != wantExit {
					t.Errorf("while full: exit code %d, want %d", ans.ExitCode, wantExit)
				}
				ans = say()
			}
			if !strings.Contains(r.log.String(), "audit log cannot be written") {
				t.Error("the log does not say so")
			}
			if !strings.Contains(r.metric("holdpoint_audit_unwritten"), " 1") {
				t.Error("the metric does not say so")
			}
			status, body := r.get("/readyz")
			if want := 503; then == harness.RecordDeny && status != want || !strings.Contains(body, `"auditBroken":true`) {
				t.Errorf("readyz: %d %s", status, body)
			}
			if bytes.Contains(ans.Stdout, []byte("disk")) || bytes.Contains(ans.Stderr, []byte("full")) {
				t.Error("the agent is told of the disk")
			}
			if _, err := store.Retain(t.Context(), audit.Policy{Before: time.Now()}); err != nil {
				t.Fatal(err)
			}
			if ans := say(); ans.ExitCode != 0 {
				t.Errorf("with room again: exit code %d", ans.ExitCode)
			}
			if r.Ready().AuditBroken || !strings.Contains(r.log.String(), "audit log can be written again") {
				t.Error("the recovery is not told")
			}
			told := r.records(gateway.KindUnrecorded)
			if len(told) != 1 {
				t.Fatalf("%d entries tell of what went unrecorded, want 1", len(told))
			}
			schematest.Validate(t, "unrecorded-record", told[0].Data)
			var u struct {
				Decisions, Denied int64
				OnFailure         harness.RecordFailure
			}
			if err := json.Unmarshal(told[0].Data, &u); err != nil {
				t.Fatal(err)
			}
			denied := lost
			if then == harness.RecordProceed {
				denied = 0
			}
			if u.Decisions != lost || u.Denied != denied || u.OnFailure != then {
				t.Errorf("told of %+v, want %d decisions, %d denied", u, lost, denied)
			}
		})
	}
}

func TestAFullLogIsPrunedWhereThatIsAllowed(t *testing.T) {
	const limit = 256 << 10
	store, err := sqlite.Open(t.Context(), sqlite.Options{Dir: filepath.Join(t.TempDir(), "audit"), Sync: audit.Batch, MaxBytes: limit})
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close()
	o := options(t)
	o.Audit, o.KeepBytes = store, limit*6/10
	r := start(t, o)
	r.until("the log was pruned and the gateway goes on", func() bool {
		for range 20 {
			if _, err := ask(t, o.Socket, hookwire.AgentClaudeCode, "PreToolUse", bash("ls")); err != nil {
				t.Fatal(err)
			}
		}
		return strings.Contains(r.log.String(), "audit log pruned") && !r.Ready().AuditBroken
	})
	if st, err := store.Stat(context.Background()); err != nil || st.Kept == 0 {
		t.Errorf("stat %+v, %v", st, err)
	}
}
