package harness_test

import (
	"cmp"
	"context"
	"net"
	"path/filepath"
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

// What a cell of the matrix expects beside a failure class.
const (
	void = ""       // the fault does not exist on this carrier
	good = "answer" // not a failure: the answer counts
)

// A row is one fault, with the class that it has on each carrier.
type row struct {
	fault                     string
	http, persistent, oneShot ahp.FailureClass
	timeout                   time.Duration // that passes where the class is deadline; zero means short
	args                      []string
}

const (
	deadline   = ahp.FailDeadline
	connection = ahp.FailConnection
	process    = ahp.FailProcess
	status     = ahp.FailHTTPStatus
	malformed  = ahp.FailMalformed
	effect     = ahp.FailInvalidEffect
	missing    = ahp.FailMissingField
)

var matrix = []row{
	{fault: "none", http: good, persistent: good, oneShot: good},
	// Whole messages that are wrong.
	{fault: "garbage", http: malformed, persistent: malformed, oneShot: malformed},
	{fault: "nonutf8", http: malformed, persistent: malformed, oneShot: malformed},
	{fault: "half", http: malformed, persistent: malformed, oneShot: malformed},
	{fault: "wrongid", http: ahp.FailIDMismatch, persistent: ahp.FailIDMismatch, oneShot: ahp.FailIDMismatch},
	{fault: "nullid", http: ahp.FailIDMismatch, persistent: ahp.FailIDMismatch, oneShot: ahp.FailIDMismatch},
	{fault: "jsonrpc1", http: malformed, persistent: malformed, oneShot: malformed},
	{fault: "batch", http: malformed, persistent: malformed, oneShot: malformed},
	{fault: "resultanderror", http: malformed, persistent: malformed, oneShot: malformed},
	{fault: "neither", http: malformed, persistent: malformed, oneShot: malformed},
	{fault: "dupname", http: malformed, persistent: malformed, oneShot: malformed},
	{fault: "trailing", http: malformed, persistent: malformed, oneShot: malformed},
	{fault: "rpcerror", http: ahp.FailRPCError, persistent: ahp.FailRPCError, oneShot: ahp.FailRPCError},
	{fault: "badversion", http: ahp.FailUnsupported, persistent: ahp.FailUnsupported, oneShot: ahp.FailUnsupported},
	{fault: "badevent", http: ahp.FailUnsupported, persistent: ahp.FailUnsupported, oneShot: ahp.FailUnsupported},
	{fault: "wrongversion", http: ahp.FailUnsupported, persistent: ahp.FailUnsupported, oneShot: ahp.FailUnsupported},
	{fault: "missingversion", http: missing, persistent: missing, oneShot: missing},
	{fault: "missingeffects", http: missing, persistent: missing, oneShot: missing},
	{fault: "nulleffects", http: effect, persistent: effect, oneShot: effect},
	{fault: "effectsobject", http: effect, persistent: effect, oneShot: effect},
	{fault: "ask", http: effect, persistent: effect, oneShot: effect},
	{fault: "allow", http: effect, persistent: effect, oneShot: effect},
	{fault: "unlisted", http: effect, persistent: effect, oneShot: effect},
	{fault: "twodenies", http: effect, persistent: effect, oneShot: effect},
	{fault: "noreason", http: effect, persistent: effect, oneShot: effect},
	{fault: "emptyreason", http: effect, persistent: effect, oneShot: effect},
	{fault: "badcode", http: effect, persistent: effect, oneShot: effect},
	{fault: "huge", http: malformed, persistent: malformed, oneShot: malformed, args: []string{"-size", "1000000"}},
	{fault: "padded", http: malformed, persistent: malformed, oneShot: malformed, args: []string{"-size", "262144"}},
	{fault: "deep", http: malformed, persistent: malformed, oneShot: malformed},
	{fault: "empty", http: malformed, persistent: malformed, oneShot: malformed},
	// Time.
	{fault: "hung", http: deadline, persistent: deadline, oneShot: deadline},
	{fault: "slow", http: good, persistent: good, oneShot: good, args: []string{"-delay", "50ms"}},
	{fault: "late", http: deadline, persistent: deadline, oneShot: deadline, args: []string{"-delay", "1m"}},
	{fault: "trickle", http: deadline, persistent: deadline, oneShot: deadline, args: []string{"-delay", "1s"}},
	{fault: "endless", http: malformed, persistent: malformed, oneShot: malformed},
	// Processes.
	{fault: "exit", http: connection, persistent: process, oneShot: process},
	{fault: "exitafter", http: void, persistent: good, oneShot: process},
	{fault: "exitidle", http: void, persistent: good, oneShot: process},
	{fault: "killed", http: void, persistent: connection, oneShot: process},
	{fault: "banner", http: void, persistent: malformed, oneShot: malformed},
	{fault: "extra", http: void, persistent: good, oneShot: malformed},
	{fault: "twice", http: void, persistent: good, oneShot: malformed},
	{fault: "pretty", http: void, persistent: malformed, oneShot: malformed},
	{fault: "nolf", http: void, persistent: deadline, oneShot: good, timeout: 2 * time.Second},
	{fault: "crlf", http: void, persistent: good, oneShot: good},
	{fault: "blank", http: void, persistent: malformed, oneShot: malformed},
	{fault: "noread", http: void, persistent: deadline, oneShot: deadline},
	{fault: "closestdout", http: void, persistent: connection, oneShot: deadline, timeout: 2 * time.Second},
	{fault: "stderrflood", http: void, persistent: good, oneShot: good},
	{fault: "stdoutflood", http: void, persistent: malformed, oneShot: malformed},
	{fault: "ignoreterm", http: void, persistent: good, oneShot: deadline, timeout: 2 * time.Second},
	{fault: "grandchild", http: void, persistent: good, oneShot: good},
	{fault: "daemon", http: void, persistent: good, oneShot: good},
	// HTTP.
	{fault: "status500", http: status},
	{fault: "status404", http: status},
	{fault: "status401", http: status},
	{fault: "status413", http: ahp.FailEvent},
	{fault: "status201", http: status},
	{fault: "status202", http: status},
	{fault: "status204", http: status},
	{fault: "redirect", http: status},
	{fault: "textplain", http: malformed},
	{fault: "nomediatype", http: malformed},
	{fault: "charset", http: good},
	{fault: "closemid", http: connection},
	{fault: "reset", http: connection},
	{fault: "rawgarbage", http: malformed},
	{fault: "badlength", http: malformed},
	{fault: "hugeheader", http: malformed},
	{fault: "gzip", http: malformed},
	{fault: "slowheader", http: deadline, args: []string{"-delay", "1m"}},
	{fault: "hungaccept", http: deadline},
	{fault: "chunkedtrickle", http: deadline, args: []string{"-delay", "1s"}},
	// Not of the backend's making.
	{fault: "@refused", http: connection},
	{fault: "@nocommand", persistent: process, oneShot: process},
	{fault: "@notoken", http: ahp.FailCredential},
	{fault: "@padded", http: ahp.FailEvent, persistent: ahp.FailEvent, oneShot: ahp.FailEvent},
	{fault: "@unsayable", http: ahp.FailEvent, persistent: ahp.FailEvent, oneShot: ahp.FailEvent},
}

// elsewhere lists the faults that have tests of their own, because one question
// does not show them.
var elsewhere = map[string]string{
	"lateonce": "TestRules/V-AMB-4",
	"unasked":  "TestRules/V-ROLE-3",
	"again":    "TestRules/V-AMB-4",
	"stray":    "TestStrayAnswers in transport",
	"single":   "TestRules/V-IO-8",

	"effectfield":  "TestDraftFaultMatrix",
	"unadvertised": "TestDraftFaultMatrix",
	"badvalue":     "TestDraftFaultMatrix",
	"denyunknown":  "TestDraftFaultMatrix",
	"goodthenbad":  "TestDraftFaultMatrix",
	"badcontinue":  "TestDraftFaultMatrix",
	"bye":          "TestEndingIsPolite",
	"byeterm":      "TestEndingIsPolite",
	"observehang":  "TestRules/V-COMP-3",
	"observe200":   "TestRules/V-AMB-5",
	"env":          "TestRules/V-IO-5",
	"argv":         "TestRules/V-IO-4",
	"cwd":          "TestRules/V-REG-5",
}

// voidClasses lists, for each carrier, the classes that no fault of a backend
// can cause there, with the reason.
var voidClasses = map[string]map[ahp.FailureClass]string{
	"http": {
		ahp.FailProcess:  "a server's process is not ours to see; its end is a lost connection",
		ahp.FailAuth:     "a refused credential is a status in revision 0.1 (V-AMB-15)",
		ahp.FailContent:  "revision 0.1 selects no content",
		ahp.FailLate:     "an answer after the deadline is dropped unread, which is deadline_exceeded; see TestRules/V-FC-11",
		ahp.FailShutdown: "the harness's own doing; see TestCloseDuringCall",
		ahp.FailInternal: "the harness's own doing; see TestNoWayOutWithoutRecord",
	},
	"persistent": {
		ahp.FailHTTPStatus: "there is no status",
		ahp.FailCredential: "authentication is forbidden with stdio",
		ahp.FailAuth:       "authentication is forbidden with stdio",
		ahp.FailContent:    "as with http",
		ahp.FailLate:       "as with http",
		ahp.FailShutdown:   "as with http",
		ahp.FailInternal:   "as with http",
	},
	"per_event": {
		ahp.FailHTTPStatus: "there is no status",
		ahp.FailConnection: "there is no connection beside the process",
		ahp.FailCredential: "authentication is forbidden with stdio",
		ahp.FailAuth:       "authentication is forbidden with stdio",
		ahp.FailContent:    "as with http",
		ahp.FailLate:       "as with http",
		ahp.FailShutdown:   "as with http",
		ahp.FailInternal:   "as with http",
	},
}

var carriers = []string{"http", "persistent", "per_event"}

// bounds returns the timeout of a cell, which no slow machine may pass by accident,
// and the grace of its processes: one that ends by itself gets the time to.
func (r row) bounds(carrier string, o *harness.Options) (timeout time.Duration) {
	switch r.class(carrier) {
	case deadline:
		return cmp.Or(r.timeout, short)
	case process:
		o.Transport.Grace = long
	}
	return long
}

func (r row) class(carrier string) ahp.FailureClass {
	switch carrier {
	case "http":
		return r.http
	case "persistent":
		return r.persistent
	}
	return r.oneShot
}

// The matrix covers what it says: every fault that the backend knows, and every
// class on every carrier or a reason why not.
func TestMatrixIsComplete(t *testing.T) {
	for _, f := range badtest.Faults(t) {
		if !slices.ContainsFunc(matrix, func(r row) bool { return r.fault == f }) && elsewhere[f] == "" {
			t.Errorf("fault %s is in no row", f)
		}
	}
	for _, carrier := range carriers {
		for _, class := range ahp.FailureClasses() {
			has := slices.ContainsFunc(matrix, func(r row) bool { return r.class(carrier) == class })
			if has == (voidClasses[carrier][class] != "") {
				t.Errorf("%s/%s: in a row: %v, void: %v", carrier, class, has, !has)
			}
		}
	}
}

func TestFaultMatrix(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile(filepath.Join("..", "docs", "schemas", "settlement-record.schema.json"))
	if err != nil {
		t.Fatal(err)
	}
	exe := badtest.Path(t)
	cells := 0
	t.Run("cells", func(t *testing.T) {
		for _, r := range matrix {
			for _, carrier := range carriers {
				if r.class(carrier) == void {
					continue
				}
				for _, policy := range []ahp.FailurePolicy{ahp.FailOpen, ahp.FailClosed} {
					cells++
					t.Run(r.fault+"/"+carrier+"/"+string(policy), func(t *testing.T) {
						t.Parallel()
						runCell(t, r, carrier, policy, schema)
					})
				}
			}
		}
	})
	if cells < 250 {
		t.Errorf("%d cells ran, want at least 250", cells)
	}
	if left := remaining(t, exe); len(left) > 0 {
		t.Errorf("processes left: %q", left)
	}
}

// nobody is an address at which nobody listens, and nobody will: its port is taken,
// by a connection that leads elsewhere.
func nobody(t *testing.T) string {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { ln.Close() })
	here := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)}}
	c, err := here.DialContext(t.Context(), "tcp", ln.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c.LocalAddr().String()
}

// target returns the transport of a cell, and what else the cell needs.
func (r row) target(t *testing.T, carrier string, b *ahp.Backend, o *harness.Options, ev *ahp.Event) {
	args := append([]string{"-fault", r.fault}, r.args...)
	switch r.fault {
	case "@refused":
		b.Transport = &ahp.HTTPTransport{URL: "http://" + nobody(t)}
		return
	case "@nocommand":
		l := ahp.Persistent
		if carrier == "per_event" {
			l = ahp.PerEvent
		}
		b.Transport = &ahp.StdioTransport{Command: "/nonexistent/" + badtest.Marker, Lifecycle: l}
		return
	case "@notoken":
		b.Auth = &ahp.Bearer{TokenEnv: "HOLDPOINT_TEST_UNSET"}
		o.Transport.LookupEnv = func(string) (string, bool) { return "", false }
		args = nil
	case "@padded":
		o.MaxEventBytes = 64 << 10
		ev.Tool.Input = ahp.Raw(`{"cmd":"` + strings.Repeat("x", 64<<10) + `"}`)
		args = nil
	case "@unsayable":
		ev.Tool.Kind = "quantum"
		args = nil
	}
	switch carrier {
	case "http":
		b.Transport = badtest.HTTP(t, args...)
	case "persistent":
		b.Transport = badtest.Stdio(t, ahp.Persistent, args...)
	default:
		b.Transport = badtest.Stdio(t, ahp.PerEvent, args...)
	}
}

func runCell(t *testing.T, r row, carrier string, policy ahp.FailurePolicy, schema *jsonschema.Schema) {
	var opts harness.Options
	timeout := r.bounds(carrier, &opts)
	next := &respond{}
	ev := toolBefore()
	bad := intercept("net.acme.bad", nil, timeout, policy)
	later := intercept("net.acme.later", &ahp.LocalTransport{}, long, ahp.FailClosed)
	o := func(o *harness.Options) {
		o.Local = map[string]transport.Local{"net.acme.later": next.local}
		r.target(t, carrier, &bad, o, ev)
	}
	o(&opts) // before the registration is read
	h := open(t, func(dst *harness.Options) {
		dst.Local = opts.Local
		dst.MaxEventBytes = opts.MaxEventBytes
		dst.Transport.LookupEnv = opts.Transport.LookupEnv
		dst.Transport.Grace = cmp.Or(opts.Transport.Grace, dst.Transport.Grace)
	}, bad, later)

	s, err := settleOne(t, h, ev)
	class := r.class(carrier)
	rec := h.rec.one(t)
	hop := rec.Hops[0]
	proceed := class == good || policy == ahp.FailOpen && class != ahp.FailEvent
	if s.Proceeds() != proceed {
		t.Errorf("proceeds: %v, want %v", s.Proceeds(), proceed)
	}
	if (rec.Outcome == settle.Proceed) != proceed {
		t.Errorf("recorded outcome %q", rec.Outcome)
	}
	asked := len(next.seen()) > 0
	if asked != proceed {
		t.Errorf("the next interceptor was asked: %v, want %v", asked, proceed)
	}
	if class == good {
		if hop.Answer != settle.AnswerNone || hop.Class != "" || hop.Policy != "" {
			t.Errorf("hop %+v, want a good answer", hop)
		}
		return
	}
	wantPolicy, wantAttempts := policy, 1
	switch class {
	case ahp.FailEvent:
		wantPolicy = ""
		if r.fault != "status413" {
			wantAttempts = 0 // nothing was sent
		}
	case ahp.FailConnection:
		wantAttempts = 2
	}
	if hop.Answer != settle.AnswerFailure || hop.Class != class || hop.Policy != wantPolicy {
		t.Errorf("hop: %s %s by %q, want failure %s by %q", hop.Answer, hop.Class, hop.Policy, class, wantPolicy)
	}
	if hop.Attempts != wantAttempts {
		t.Errorf("%d attempts, want %d", hop.Attempts, wantAttempts)
	}
	if hop.TookNs <= 0 || rec.ElapsedNs < hop.TookNs {
		t.Errorf("hop took %d of %d ns", hop.TookNs, rec.ElapsedNs)
	}
	if rec.FailedOpen != proceed {
		t.Errorf("failed open: %v", rec.FailedOpen)
	}
	if !proceed {
		if rec.Decision != settle.DecisionSynthetic || rec.Class != class || rec.By != "net.acme.bad" {
			t.Errorf("decision %s (%s) by %s, want synthetic (%s)", rec.Decision, rec.Class, rec.By, class)
		}
		if s.Reason != ahp.GenericDenial || !s.Synthetic {
			t.Errorf("reason %q", s.Reason)
		}
	}
	if unsayable := r.fault == "@padded" || r.fault == "@unsayable"; (err != nil) != unsayable {
		t.Errorf("error %v", err)
	}
	line := string(rec.MarshalAppend(nil))
	v, err := jsonschema.UnmarshalJSON(strings.NewReader(line))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(v); err != nil {
		t.Error(err)
	}
	closed, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := h.Close(closed); err != nil {
		t.Errorf("close: %v", err)
	}
	for where, text := range map[string]string{"reason": s.Reason, "record": line, "log": h.log.String()} {
		if strings.Contains(text, badtest.Marker) || strings.Contains(text, "MARKER") {
			t.Errorf("what the backend sent is in the %s: %s", where, text)
		}
	}
	if !strings.Contains(h.log.String(), string(class)) {
		t.Errorf("the failure is not in the log: %s", h.log.String())
	}
}
