package gateway_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/audit"
	"github.com/holdpoint/holdpoint/gateway"
	"github.com/holdpoint/holdpoint/hookwire"
	"github.com/holdpoint/holdpoint/internal/corpus"
	"github.com/holdpoint/holdpoint/internal/schematest"
	"github.com/holdpoint/holdpoint/settle"
)

// Every recorded payload goes through the real client and a running gateway.
func TestRecordedPayloadsThroughTheRealPath(t *testing.T) {
	for _, a := range []struct{ agent, folder string }{{hookwire.AgentClaudeCode, "native/claude"}, {hookwire.AgentCodex, "native/codex"}} {
		t.Run(a.agent, func(t *testing.T) {
			files, err := filepath.Glob(filepath.Join(corpus.Dir(t, a.folder), "*.*.json"))
			if err != nil {
				t.Fatal(err)
			}
			more, err := filepath.Glob(filepath.Join(corpus.Dir(t, a.folder), "[A-Z]*.json"))
			if err != nil {
				t.Fatal(err)
			}
			seen := map[string]bool{}
			r := start(t, options(t))
			decided := 0
			for _, f := range append(files, more...) {
				if seen[f] {
					continue
				}
				seen[f] = true
				name := filepath.Base(f)
				event, _, _ := strings.Cut(name, ".")
				payload, err := os.ReadFile(f)
				if err != nil {
					t.Fatal(err)
				}
				for _, arg := range []string{event, ""} { // with and without the event on the command line
					got := hook(t, r.opts.Socket, a.agent, arg, payload)
					wantDeny := event == "PreToolUse" && strings.Contains(name, "force-push")
					if event == "PreToolUse" {
						decided++
					}
					switch {
					case wantDeny && !got.denied():
						t.Errorf("%s %q: %+v, want a denial", name, arg, got)
					case !wantDeny && !got.empty():
						t.Errorf("%s %q: %+v, want nothing and exit code 0", name, arg, got)
					}
				}
			}
			if len(seen) < 14 {
				t.Errorf("only %d payloads", len(seen))
			}
			sets := r.settlements()
			if len(sets) != decided {
				t.Errorf("%d settlements for %d decided events", len(sets), decided)
			}
			for _, s := range sets {
				if s.PolicyDigest != r.Decider().Digest() || s.Operation == "" || s.RootSource == "" || s.Adapter != a.agent || s.Client == "" {
					t.Errorf("record is incomplete: digest %q operation %q roots %q adapter %q client %q",
						s.PolicyDigest, s.Operation, s.RootSource, s.Adapter, s.Client)
				}
			}
			if _, err := os.Stat(hookwire.SpoolPath(r.opts.Socket)); err == nil {
				t.Error("the client decided alone at least once")
			}
			t.Logf("%d payloads, %d decisions", len(seen), decided)
		})
	}
}

func TestADenialSaysWhyAndARecordSaysWho(t *testing.T) {
	r := start(t, options(t))
	got := hook(t, r.opts.Socket, hookwire.AgentClaudeCode, "PreToolUse", bash("git push --force origin main"))
	if !got.denied() || got.stderr == "" {
		t.Fatalf("got %+v", got)
	}
	recs := r.records(audit.Settlement)
	if len(recs) != 1 {
		t.Fatalf("%d records", len(recs))
	}
	rec := recs[0]
	schematest.Validate(t, "settlement-record", rec.Data)
	s := r.settlements()[0]
	if s.Decision != settle.DecisionExplicit || s.By != gateway.PolicyID || len(s.Rules) == 0 || len(s.Hazards) == 0 {
		t.Errorf("record %+v", s)
	}
	if rec.Agent != hookwire.AgentClaudeCode || rec.Decision != "denied" || rec.Session != "s-1" || rec.Tool != "Bash" || len(rec.Rules) == 0 {
		t.Errorf("columns %+v", rec.Entry)
	}
	for _, where := range []string{string(rec.Data), r.log.String()} {
		if strings.Contains(where, "origin main") {
			t.Errorf("the payload is in %s", where)
		}
	}
	for _, want := range []string{
		`holdpoint_decisions_total{agent="claude-code",decision="denied"} 1`,
		`holdpoint_denials_total{agent="claude-code",kind="explicit"} 1`,
		`holdpoint_hook_events_total{agent="claude-code",handling="decided"} 1`,
		`holdpoint_decision_seconds_count{agent="claude-code"} 1`,
	} {
		if _, all := r.get("/metrics"); !strings.Contains(all, want) {
			t.Errorf("metrics lack %s", want)
		}
	}
}

func TestMalformedPayloadsAreRefusedWhateverThePolicy(t *testing.T) {
	o := options(t)
	o.FailurePolicy = ahp.FailOpen
	r := start(t, o)
	tests := []struct {
		name, event, payload string
		deny                 bool
		fault                string // told to the agent when denied, and in the log; empty when there is none
	}{
		{"not JSON", "PreToolUse", "git push", true, "byte 0: not the JSON"},
		{"cut off", "PreToolUse", `{"hook_event_name":"PreToolUse","session_id":"s","cwd":"/r","tool_name":"Bash","tool_in`, true, "byte 78: not the JSON"},
		{"empty", "PreToolUse", "", true, "byte 0: not the JSON"},
		{"duplicate member", "PreToolUse", `{"hook_event_name":"PreToolUse","session_id":"s","session_id":"t","cwd":"/r","tool_name":"Bash","tool_use_id":"x","tool_input":{"command":"ls"}}`, true, "byte 48: not the JSON"},
		{"input is a string", "PreToolUse", `{"hook_event_name":"PreToolUse","session_id":"s","cwd":"/r","tool_name":"Bash","tool_use_id":"x","tool_input":"ls"}`, true, "/tool_input: found a string, expected an object"},
		{"no id of the call", "PreToolUse", `{"hook_event_name":"PreToolUse","session_id":"s","cwd":"/r","tool_name":"Bash","tool_input":{"command":"ls"}}`, true, "/tool_use_id: found nothing, expected a string"},
		{"names another event", "PreToolUse", `{"hook_event_name":"Stop","session_id":"s","cwd":"/r"}`, false, ""},
		{"a stop that is not JSON", "Stop", "x", false, "byte 0: not the JSON"},
		{"an end of a subagent that is not JSON", "SubagentStop", "x", false, "byte 0: not the JSON"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			ans, err := ask(t, o.Socket, hookwire.AgentClaudeCode, tt.event, []byte(tt.payload))
			if err != nil {
				t.Fatal(err)
			}
			got := told{string(ans.Stdout), string(ans.Stderr), int(ans.ExitCode)}
			if ans.Status != hookwire.StatusAnswer || got.denied() != tt.deny || !tt.deny && !got.empty() {
				t.Errorf("status %d, %+v; denied must be %v", ans.Status, got, tt.deny)
			}
			if strings.Contains(got.stdout+got.stderr, "git push") {
				t.Error("the answer quotes the payload")
			}
			if tt.deny && !strings.Contains(got.stderr, tt.fault) {
				t.Errorf("stderr %q does not say %q", got.stderr, tt.fault)
			}
			if log := r.log.String(); tt.fault != "" && !strings.Contains(log, `"problem":"`+tt.fault) {
				t.Errorf("the log does not say %q: %s", tt.fault, log)
			}
		})
	}
	for _, s := range r.settlements() {
		if s.Class != ahp.FailEvent || s.Decision != settle.DecisionSynthetic {
			t.Errorf("record %+v", s)
		}
	}
	if n := len(r.settlements()); n != 6 {
		t.Errorf("%d records, want 6", n)
	}
}

func TestOversizedPayloads(t *testing.T) {
	padding := strings.Repeat("x", 64<<10)
	payloads := map[string][]byte{
		"PreToolUse": bash("true " + padding),
		"Stop":       []byte(`{"session_id":"s-1","cwd":"/home/dev/repo","hook_event_name":"Stop","last_assistant_message":"` + padding + `"}`),
	}
	for _, mode := range []gateway.Oversize{gateway.OversizeRefuse, gateway.OversizePolicy} {
		for _, event := range []string{"PreToolUse", "Stop"} {
			t.Run(string(mode)+" "+event, func(t *testing.T) {
				o := options(t)
				o.Oversize, o.MaxPayloadBytes = mode, 16<<10
				r := start(t, o)
				// fail-open at the client: only what is refused whatever the policy is refused.
				got := hookWith(t, "fail-open", o.Socket, hookwire.AgentClaudeCode, event, payloads[event])
				if want := mode == gateway.OversizeRefuse && event == "PreToolUse"; got.denied() != want || !want && got.exit != 0 {
					t.Errorf("got %+v, want denied: %v", got, want)
				}
				want := 0
				if mode == gateway.OversizeRefuse && event == "PreToolUse" {
					want = 1
				}
				// Where the client's policy decides, its own line is the only record.
				if spool, err := os.ReadFile(hookwire.SpoolPath(o.Socket)); err != nil || len(spool) != hookwire.SpoolLineBytes {
					t.Errorf("spool of %d bytes, error %v", len(spool), err)
				}
				sets := r.settlements()
				if len(sets) != want || want == 1 && sets[0].Class != ahp.FailEvent {
					t.Errorf("records %+v, want %d", sets, want)
				}
			})
		}
	}
}

func TestFrameVersions(t *testing.T) {
	r := start(t, options(t))
	for version, want := range map[string]hookwire.Status{
		`"version":1,`: hookwire.StatusAnswer,
		``:             hookwire.StatusAnswer, // the form before the member existed
		`"version":2,`: hookwire.StatusAnswer,
		`"version":3,`: hookwire.StatusVersion,
	} {
		head := `{` + version + `"client":"t","agent":"claude-code","event":"PreToolUse","budgetMs":9000,"cwd":"/home/dev/repo"}`
		payload := bash("git push --force")
		frame := append(binary.BigEndian.AppendUint32([]byte("HPH1"), uint32(len(head))), head...)
		frame = append(binary.BigEndian.AppendUint32(frame, uint32(len(payload))), payload...)
		ans := exchange(t, r.opts.Socket, frame)
		if ans.Status != want || want == hookwire.StatusAnswer && ans.ExitCode != 2 {
			t.Errorf("header %q: status %d exit %d, want status %d", version, ans.Status, ans.ExitCode, want)
		}
	}
	for name, frame := range map[string]struct {
		bytes string
		want  hookwire.Status
	}{
		"another layout": {"HPH2\x00\x00\x00\x00", hookwire.StatusVersion},
		"HTTP":           {"GET / HTTP/1.1\r\n\r\n", hookwire.StatusMalformed},
		"huge header":    {"HPH1\xff\xff\xff\xff", hookwire.StatusMalformed},
		"unknown agent":  {"HPH1\x00\x00\x00\x1d" + `{"version":1,"agent":"other"}` + "\x00\x00\x00\x02{}", hookwire.StatusMalformed},
	} {
		if ans := exchange(t, r.opts.Socket, []byte(frame.bytes)); ans.Status != frame.want {
			t.Errorf("%s: status %d, want %d", name, ans.Status, frame.want)
		}
	}
	if n := len(r.settlements()); n != 3 {
		t.Errorf("%d settlements, want 3", n)
	}
}

func exchange(t *testing.T, socket string, frame []byte) *hookwire.Answer {
	t.Helper()
	c, err := net.Dial("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if _, err := c.Write(frame); err != nil {
		t.Fatal(err)
	}
	ans, err := hookwire.ReadAnswer(c)
	if err != nil {
		t.Fatal(err)
	}
	return ans
}

func TestSlowAndSilentPeersHoldNobodyUp(t *testing.T) {
	silent := func(socket string) (peers []net.Conn) {
		for _, begin := range []string{"", "H", "HPH1\x00\x00\x0f\xff{", "HPH1\x00\x00\x00\x02{}\x00\x10\x00\x00abc"} {
			c, err := net.Dial("unix", socket)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { c.Close() })
			if _, err := io.WriteString(c, begin); err != nil {
				t.Fatal(err)
			}
			peers = append(peers, c)
		}
		return peers
	}

	o := options(t)
	o.FrameTimeout = time.Minute // while they have the time
	o.MaxConnections = 4
	r := start(t, o)
	peers := silent(o.Socket)
	r.until("all slots are taken", func() bool { return strings.Contains(r.metric("holdpoint_hook_connections"), " 4") })
	ans, err := ask(t, o.Socket, hookwire.AgentClaudeCode, "PreToolUse", bash("ls"))
	if err == nil && ans.Status != hookwire.StatusBusy {
		t.Errorf("with all slots taken: status %d, want busy", ans.Status)
	}
	for _, c := range peers {
		c.Close()
	}
	r.until("the silent ones are gone", func() bool { return strings.Contains(r.metric("holdpoint_hook_connections"), " 0") })
	if ans, err := ask(t, o.Socket, hookwire.AgentClaudeCode, "PreToolUse", bash("git push --force")); err != nil || ans.ExitCode != 2 {
		t.Errorf("afterwards: %+v, %v", ans, err)
	}

	o = options(t)
	o.FrameTimeout = 300 * time.Millisecond // which ends
	r = start(t, o)
	for _, c := range silent(o.Socket) {
		if err := c.SetReadDeadline(time.Now().Add(time.Minute)); err != nil {
			t.Fatal(err)
		}
		if _, err := io.Copy(io.Discard, c); errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error("a silent peer is never sent away")
		}
	}
	r.until("their slots are free", func() bool { return strings.Contains(r.metric("holdpoint_hook_connections"), " 0") })
}

func TestAPeerThatDoesNotReadHoldsNobodyUp(t *testing.T) {
	r := start(t, options(t))
	c, err := net.Dial("unix", r.opts.Socket)
	if err != nil {
		t.Fatal(err)
	}
	frame, err := hookwire.AppendRequest(nil, &hookwire.Request{Header: hookwire.Header{Agent: hookwire.AgentClaudeCode, BudgetMs: 9000}, Payload: bash("ls")})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Write(frame); err != nil {
		t.Fatal(err)
	}
	c.Close()
	r.until("its decision is recorded all the same", func() bool { return len(r.settlements()) == 1 })
}

func TestTheSpoolIsIngested(t *testing.T) {
	o := options(t)
	if err := os.MkdirAll(filepath.Dir(o.Socket), 0o700); err != nil {
		t.Fatal(err)
	}
	at := time.Now().UTC().Truncate(time.Microsecond)
	for i, outcome := range []hookwire.Outcome{hookwire.OutcomeRefused, hookwire.OutcomeOpened, hookwire.OutcomePassed} {
		f := hookwire.Fallback{
			Time: at.Add(time.Duration(i)), Agent: hookwire.AgentCodex, Event: "PreToolUse", Cause: hookwire.CauseConnectFailed,
			Policy: "fail-open", Outcome: outcome, PID: 100 + i,
		}
		if err := hookwire.AppendSpool(hookwire.SpoolPath(o.Socket), &f); err != nil {
			t.Fatal(err)
		}
	}
	r := start(t, o)
	recs := r.records(audit.Fallback)
	if len(recs) != 3 {
		t.Fatalf("%d entries, want 3", len(recs))
	}
	for _, rec := range append(r.records(audit.Start), recs...) {
		schematest.Validate(t, map[audit.Kind]string{audit.Start: "life-record", audit.Fallback: "fallback-record"}[rec.Kind], rec.Data)
	}
	for i, want := range []string{"refused", "opened", "passed"} {
		if recs[i].Decision != want || recs[i].Agent != hookwire.AgentCodex || !recs[i].Time.Equal(at) {
			t.Errorf("entry %d: %+v", i, recs[i].Entry)
		}
	}
	if _, err := os.Stat(hookwire.SpoolPath(o.Socket)); !os.IsNotExist(err) {
		t.Errorf("the spool is still there: %v", err)
	}
	for _, want := range []string{
		`holdpoint_fallbacks_total{agent="codex",decision="opened"} 1`, `holdpoint_failed_open_total{agent="codex"} 1`,
	} {
		if _, all := r.get("/metrics"); !strings.Contains(all, want) {
			t.Errorf("metrics lack %s", want)
		}
	}
}

// A client that finds no daemon decides alone, and the daemon that comes later
// knows of it.
func TestAClientsOwnDecisionIsRecordedLater(t *testing.T) {
	o := options(t)
	dir := filepath.Dir(o.Socket)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if got := hook(t, o.Socket, hookwire.AgentClaudeCode, "PreToolUse", bash("ls")); !got.denied() {
		t.Fatalf("without a daemon: %+v", got)
	}
	r := start(t, o)
	recs := r.records(audit.Fallback)
	if len(recs) != 1 || recs[0].Decision != "refused" || !bytes.Contains(recs[0].Data, []byte(hookwire.CauseSocketMissing)) {
		t.Errorf("entries %+v", recs)
	}
}
