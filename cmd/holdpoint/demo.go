package main

import (
	"bufio"
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/audit"
	"github.com/holdpoint/holdpoint/audit/sqlite"
	"github.com/holdpoint/holdpoint/gateway"
	"github.com/holdpoint/holdpoint/harness"
	"github.com/holdpoint/holdpoint/hookwire"
	"github.com/holdpoint/holdpoint/policy"
	"github.com/holdpoint/holdpoint/settle"
)

// demoSession holds the payloads of one invented session in the form in which
// Claude Code hands them to its hooks, one a line.
//
//go:embed demo/session.jsonl
var demoSession []byte

const (
	demoHome    = "/home/dev"
	demoProject = "/home/dev/shop"
	demoBudget  = 10 * time.Second
)

// demo starts a gateway in a temporary folder, plays the session through its hook
// socket as the hook client would, and shows what the agent was told and why.
func (a *app) demo(ctx context.Context, stay bool) (err error) {
	dir, err := os.MkdirTemp("", "holdpoint-")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	socket := filepath.Join(dir, "run", hookwire.SocketName)
	store, err := sqlite.Open(ctx, sqlite.Options{Dir: filepath.Join(dir, "audit"), Sync: audit.Always})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	g, err := gateway.Open(ctx, gateway.Options{
		Socket:         socket,
		Policy:         gateway.PolicySource{Home: demoHome},
		PolicyTimeout:  5 * time.Second,
		FailurePolicy:  ahp.FailClosed,
		Audit:          store,
		OnAuditFailure: harness.RecordDeny,
		Oversize:       gateway.OversizeRefuse,
		Version:        version(),
		Logger:         slog.New(slog.NewTextHandler(a.err, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	if err != nil {
		return err
	}
	run, stop := context.WithCancel(ctx)
	ended := make(chan error, 1)
	go func() { ended <- g.Run(run) }() // waited for below, whatever comes
	defer func() {
		stop()
		err = errors.Join(err, <-ended)
	}()
	steps, err := playSession(ctx, socket)
	if err != nil {
		return err
	}
	if err := a.showDemo(ctx, g.Decider().Set(), store, steps); err != nil {
		return err
	}
	a.showPlugIn(socket, stay)
	if stay {
		waitDone(ctx)
	}
	return nil
}

// A demoStep is one payload and what the agent was told.
type demoStep struct {
	payload demoPayload
	raw     []byte
	answer  *hookwire.Answer
	took    time.Duration
}

// A demoPayload is the part of a payload that the table shows.
type demoPayload struct {
	Event string `json:"hook_event_name"`
	Tool  string `json:"tool_name"`
	Call  string `json:"tool_use_id"`
	Input struct {
		Command string `json:"command"`
		Path    string `json:"file_path"`
		Pattern string `json:"pattern"`
	} `json:"tool_input"`
}

func (p *demoPayload) what() string {
	switch {
	case p.Input.Command != "":
		return p.Input.Command
	case p.Input.Pattern != "":
		return p.Input.Pattern
	}
	if rel, err := filepath.Rel(demoProject, p.Input.Path); err == nil && filepath.IsLocal(rel) {
		return rel
	}
	return p.Input.Path
}

func playSession(ctx context.Context, socket string) ([]demoStep, error) {
	var steps []demoStep
	lines := bufio.NewScanner(bytes.NewReader(demoSession))
	for lines.Scan() {
		s := demoStep{raw: slices.Clone(lines.Bytes())}
		if err := json.Unmarshal(s.raw, &s.payload); err != nil {
			return nil, fmt.Errorf("demo session: %w", err)
		}
		began := time.Now()
		var err error
		if s.answer, err = askGateway(ctx, socket, s.payload.Event, s.raw); err != nil {
			return nil, fmt.Errorf("demo session, %s: %w", s.payload.Event, err)
		}
		s.took = time.Since(began)
		steps = append(steps, s)
	}
	return steps, lines.Err()
}

// askGateway sends one payload over the hook socket and returns the answer, as
// the hook client does.
func askGateway(ctx context.Context, socket, event string, payload []byte) (*hookwire.Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, demoBudget)
	defer cancel()
	c, err := new(net.Dialer).DialContext(ctx, "unix", socket)
	if err != nil {
		return nil, err
	}
	defer c.Close()
	deadline, _ := ctx.Deadline()
	if err := c.SetDeadline(deadline); err != nil {
		return nil, err
	}
	frame, err := hookwire.AppendRequest(nil, &hookwire.Request{
		Header: hookwire.Header{
			Client: "demo", Agent: hookwire.AgentClaudeCode, Event: event, BudgetMs: demoBudget.Milliseconds(),
			CWD: demoProject, Env: map[string]string{"CLAUDE_PROJECT_DIR": demoProject}, ParentPID: os.Getpid(),
		},
		Payload: payload,
	})
	if err != nil {
		return nil, err
	}
	if _, err := c.Write(frame); err != nil {
		return nil, err
	}
	ans, err := hookwire.ReadAnswer(c)
	if err != nil {
		return nil, err
	}
	if ans.Status != hookwire.StatusAnswer {
		return nil, fmt.Errorf("the gateway gave no answer, but status %d", ans.Status)
	}
	return ans, nil
}

// denialReason is the reason in the answer that Claude Code gets, and whether it
// is a denial at all.
func denialReason(ans *hookwire.Answer) (string, bool) {
	var out struct {
		Specific struct {
			Decision string `json:"permissionDecision"`
			Reason   string `json:"permissionDecisionReason"`
		} `json:"hookSpecificOutput"`
	}
	if len(ans.Stdout) == 0 || json.Unmarshal(ans.Stdout, &out) != nil {
		return "", false
	}
	return out.Specific.Reason, out.Specific.Decision == "deny" && ans.ExitCode == 2
}

func (a *app) showDemo(ctx context.Context, set *policy.Set, store audit.Log, steps []demoStep) error {
	records, err := settlements(ctx, store)
	if err != nil {
		return err
	}
	flagReason := map[string]string{}
	for _, r := range set.Rules() {
		flagReason[r.Name] = r.Reason
	}
	w := a.out
	fmt.Fprintf(w, "%s\n", a.paint(bold, "A coding agent's session, decided before each tool runs"))
	fmt.Fprintf(w, "%s\n\n", a.paint(dim, fmt.Sprintf("%d rules of the default pack; every payload went over a unix socket into the gateway and back.", len(set.Rules()))))

	var proceed, denied, flagged int
	var slowest time.Duration
	example := -1
	for i := range steps {
		s := &steps[i]
		slowest = max(slowest, s.took)
		if s.payload.Event != "PreToolUse" {
			continue
		}
		rec, ok := records[s.payload.Call]
		if !ok {
			return fmt.Errorf("the audit log has no record of call %s", s.payload.Call)
		}
		reason, deny := denialReason(s.answer)
		if deny != (rec.Outcome != settle.Proceed) {
			return fmt.Errorf("call %s: the agent was told otherwise than the record says", s.payload.Call)
		}
		verdict, why := a.paint(green, "proceeds"), ""
		switch {
		case deny:
			denied++
			verdict, why = a.paint(red, "DENIED  "), reason
			if example < 0 {
				example = i
			}
		case len(rec.Rules) > 0:
			flagged++
			proceed++
			verdict, why = a.paint(yellow, "flagged "), flagReason[rec.Rules[0]]
		default:
			proceed++
		}
		fmt.Fprintf(w, "  %s  %-5s %s\n", verdict, s.payload.Tool, a.paint(bold, cut(printable(s.payload.what()), 78)))
		if why == "" {
			continue
		}
		if len(rec.Rules) > 0 {
			fmt.Fprintf(w, "            %s\n", a.paint(dim, printable(rec.Rules[0])))
		}
		for _, line := range wrap(printable(why), textWidth-12) {
			fmt.Fprintf(w, "            %s\n", line)
		}
	}
	fmt.Fprintf(w, "\n%d tool calls: %d went on (%d of them flagged), %d denied. Slowest answer %s, its record on disk first.\n",
		proceed+denied, proceed, flagged, denied, slowest.Round(10*time.Microsecond))
	if example >= 0 {
		fmt.Fprintf(w, "\nWhat the agent gets for a denial: exit code %d, and on stdout\n  %s\n", steps[example].answer.ExitCode,
			a.paint(dim, printable(strings.TrimSpace(string(steps[example].answer.Stdout)))))
	}
	return a.showVerification(ctx, w, store)
}

// showVerification verifies the log against a checkpoint of it.
func (a *app) showVerification(ctx context.Context, w io.Writer, store audit.Log) error {
	cp, err := store.Checkpoint(ctx)
	if err != nil {
		return err
	}
	report, err := store.Verify(ctx, audit.Trust{Checkpoints: []string{cp.Note}})
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "\n%s ", a.paint(bold, "Audit log"))
	if !report.OK() {
		fmt.Fprintln(w, a.paint(red, "is damaged"))
		return fmt.Errorf("verification found %d problems", len(report.Problems))
	}
	fmt.Fprintf(w, "%s: %d entries, none changed, lost or moved, up to the signed checkpoint\n  %s\n",
		a.paint(green, "verified"), report.Size, a.paint(dim, fmt.Sprintf("%s %d %s", cp.Origin, cp.Size, cp.Root)))
	return nil
}

// settlements returns the records of all settlements by their call.
func settlements(ctx context.Context, store audit.Log) (map[string]settle.Record, error) {
	byCall := map[string]settle.Record{}
	for rec, err := range store.Query(ctx, audit.Filter{Kinds: []audit.Kind{audit.Settlement}, Limit: audit.MaxLimit}) {
		if err != nil {
			return nil, err
		}
		r, err := settle.ParseRecord(rec.Data)
		if err != nil {
			return nil, err
		}
		byCall[r.CallID] = r
	}
	return byCall, nil
}

// showPlugIn says how to put the gateway behind an agent.
func (a *app) showPlugIn(socket string, stay bool) {
	client := "holdpoint-hook --failure-policy fail-closed"
	if stay {
		client += " --socket " + socket
	}
	w := a.out
	fmt.Fprintf(w, "\n%s\n", a.paint(bold, "Plug in your agent"))
	if stay {
		fmt.Fprintln(w, "  The gateway goes on serving until you stop it (Ctrl-C). For Claude Code, in ~/.claude/settings.json:")
	} else {
		fmt.Fprintln(w, "  go install ./cmd/holdpoint ./cmd/holdpoint-hook")
		fmt.Fprintln(w, "  holdpoint serve --policy-timeout 2s --failure-policy fail-closed")
		fmt.Fprintln(w, "  and for Claude Code, in ~/.claude/settings.json:")
	}
	fmt.Fprintf(w, "\n%s\n", claudeSettings(client))
}

// guard is what a hook's command line ends in where the event can be refused: it
// refuses when the client did not run, and passes the client's own refusals on. The
// documentation has the same text. quote is the quote for its reason: ' , or " inside
// a text in single quotes.
func guard(quote string) string {
	return ` || { [ $? -eq 2 ] || echo ` + quote + guardReason + quote + ` >&2; exit 2; }`
}

const guardReason = "The policy hook did not run, so this operation was refused."

// claudeSettings is the hook configuration for Claude Code in guarded form: a
// client that is missing or dies refuses as well.
func claudeSettings(client string) string {
	command := client + " claude-code PreToolUse" + guard("'")
	type handler struct {
		Type    string `json:"type"`
		Command string `json:"command"`
		Timeout int    `json:"timeout"`
		OnFail  string `json:"onFailure"`
	}
	type group struct {
		Matcher string    `json:"matcher"`
		Hooks   []handler `json:"hooks"`
	}
	v := map[string]map[string][]group{"hooks": {"PreToolUse": {{Matcher: "*", Hooks: []handler{{"command", command, 10, "block"}}}}}}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("  ", "  ")
	if err := enc.Encode(v); err != nil {
		return err.Error()
	}
	return "  " + strings.TrimRight(b.String(), "\n")
}
