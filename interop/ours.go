package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/backend"
)

// A carrier is one way to reach a backend.
type carrier string

// The carriers that both sides have.
const (
	overHTTP   carrier = "HTTP"
	persistent carrier = "stdio, persistent"
	perEvent   carrier = "stdio, per event"
)

func carriers() []carrier { return []carrier{overHTTP, persistent, perEvent} }

// A record is one message that a backend was given.
type record struct {
	Method ahp.Method      `json:"method"`
	ID     string          `json:"id"` // of the event
	Event  json.RawMessage `json:"event"`
}

// recorder writes down what our backend is given, one record a line.
type recorder struct {
	mu  sync.Mutex
	out io.Writer
	err error
}

func (r *recorder) add(m ahp.Method, q *backend.Request) {
	line, err := json.Marshal(record{Method: m, ID: q.Event.ID, Event: json.RawMessage(q.EventText)})
	r.mu.Lock()
	defer r.mu.Unlock()
	if err == nil {
		_, err = r.out.Write(append(line, '\n'))
	}
	r.err = errors.Join(r.err, err)
}

// handle answers by the event's id.
func (r *recorder) handle(ctx context.Context, q *backend.Request) ([]ahp.Effect, error) {
	r.add(ahp.MethodIntercept, q)
	return scenarioHandler(ctx, q)
}

func (r *recorder) observe(_ context.Context, q *backend.Request) { r.add(ahp.MethodObserve, q) }

// runBackend is this program as a stdio backend. With one set it ends after one line:
// the package's per-event transport keeps the child's stdin open and waits for its
// end, where the contract has the harness close it (D-IO-4).
func runBackend(ctx context.Context, log string, one bool) error {
	f, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	r := &recorder{out: f}
	s, err := backend.New(backend.HandlerFunc(r.handle), backend.Options{
		Versions: []ahp.Version{ahp.Version01, ahp.VersionDraft}, Observe: r.observe,
	})
	if err != nil {
		return err
	}
	if one {
		var line []byte
		if line, err = bufio.NewReader(os.Stdin).ReadBytes('\n'); err == nil {
			err = s.ServeStdio(ctx, bytes.NewReader(line), os.Stdout)
		}
	} else {
		err = backend.StdioMain(ctx, s)
	}
	return errors.Join(err, r.err, f.Close())
}

// A step is one event that the other side's harness dispatches.
type step struct {
	Event    ahp.EventType   `json:"event"`
	ID       string          `json:"id"`
	Input    json.RawMessage `json:"input"`
	Original any             `json:"original,omitempty"` // the request that an elicitation's result answers
}

// askOurs has the package's harness dispatch every scenario of every event to our
// backend, and checks what it makes of the answers and what the backend was given.
func (k *kitRun) askOurs(ctx context.Context, over carrier) error {
	log := filepath.Join(k.dir, fmt.Sprintf("ours-%d.jsonl", slices.Index(carriers(), over)))
	transport, stop, err := k.serveOurs(ctx, over, log)
	if err != nil {
		return err
	}
	defer stop()
	all, err := samples()
	if err != nil {
		return err
	}
	var steps []step
	for _, t := range ahp.DraftEvents() {
		for _, s := range scenarios(t) {
			st := step{Event: t, ID: s.id(), Input: all.payload(t)}
			if t == ahp.ElicitationResult {
				st.Original = all.request(ahp.ElicitationRequest)
			}
			steps = append(steps, st)
		}
	}
	// A request behind everything: the messages before it have been read when it is
	// answered.
	last := step{Event: ahp.ToolBefore, ID: scenario{ahp.ToolBefore, none}.id() + "/last", Input: all.payload(ahp.ToolBefore)}
	steps = append(steps, last)
	var intercepted []ahp.EventType
	for _, t := range ahp.DraftEvents() {
		if t.Interceptable(ahp.VersionDraft) {
			intercepted = append(intercepted, t)
		}
	}
	body := map[string]string{"default": "body"}
	job := map[string]any{
		"source": source, "steps": steps,
		"registration": map[string]any{
			"protocolVersion": ahp.VersionDraft,
			"hooks": []any{map[string]any{
				"id": "dev.holdpoint.interop", "transport": transport,
				"subscriptions": []any{
					map[string]any{"events": intercepted, "mode": "intercept", "timeoutMs": 30000, "failurePolicy": "fail-closed", "content": body},
					map[string]any{"events": []string{"*"}, "mode": "observe", "content": body},
				},
			}},
		},
	}
	outcomes, err := k.client(ctx, job)
	if err != nil {
		return err
	}
	for _, st := range steps {
		if st.ID == last.ID {
			continue
		}
		k.result(clientToOurs, over, scenarioOf(st.ID), judge(outcomes[st.ID], scenarioOf(st.ID)))
	}
	return k.told(clientToOurs, over, log)
}

// judge says in what an answer of the package's harness is not the right one.
func judge(line json.RawMessage, s scenario) error {
	var o struct {
		outcome
		Error       string            `json:"error"`
		Diagnostics []json.RawMessage `json:"diagnostics"`
	}
	switch err := json.Unmarshal(line, &o); {
	case err != nil:
		return fmt.Errorf("no outcome: %w", err)
	case o.Error != "":
		return errors.New(o.Error)
	case len(o.Diagnostics) > 0:
		return fmt.Errorf("diagnostics %s", o.Diagnostics)
	}
	return s.check(&o.outcome)
}

// told checks that the backend was told of every event, with effective content, and
// asked about every one that can be intercepted.
func (k *kitRun) told(way direction, over carrier, log string) error {
	f, err := os.Open(log)
	if err != nil {
		return err
	}
	defer f.Close()
	type seen struct {
		method ahp.Method
		s      scenario
	}
	got := map[seen]int{}
	sc := bufio.NewScanner(f)
	sc.Buffer(nil, 16<<20)
	for sc.Scan() {
		var r record
		if err := json.Unmarshal(sc.Bytes(), &r); err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(log), err)
		}
		s := scenarioOf(r.ID)
		got[seen{r.Method, s}]++
		if r.Method == ahp.MethodObserve && s.event.In(ahp.VersionDraft) && differs(way, s) == "" {
			if err := s.effective(r.Event); err != nil {
				k.fault(way, over, s, fmt.Errorf("observed: %w", err))
			}
		}
	}
	for _, t := range ahp.DraftEvents() {
		for _, s := range scenariosOver(way, over, t) {
			if n := got[seen{ahp.MethodObserve, s}]; n != 1 {
				k.fault(way, over, s, fmt.Errorf("observed %d times", n))
			}
			if n := got[seen{ahp.MethodIntercept, s}]; t.Interceptable(ahp.VersionDraft) && n != 1 {
				k.fault(way, over, s, fmt.Errorf("asked %d times", n))
			}
		}
	}
	return sc.Err()
}

// serveOurs starts our backend, or says how it is started, as a registration's
// transport.
func (k *kitRun) serveOurs(ctx context.Context, over carrier, log string) (transport map[string]any, stop func(), err error) {
	if over != overHTTP {
		life, args := ahp.Persistent, []string{"-as-backend", log}
		if over == perEvent {
			life, args = ahp.PerEvent, append(args, "-one")
		}
		return map[string]any{"type": "stdio", "command": k.self, "args": args, "lifecycle": life}, func() {}, nil
	}
	f, err := os.OpenFile(log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, nil, err
	}
	r := &recorder{out: f}
	url, end, err := listen(ctx, r.handle, backend.Options{Observe: r.observe})
	if err != nil {
		return nil, nil, err
	}
	stop = func() {
		end()
		_ = f.Close()
	}
	return map[string]any{"type": "http", "url": url}, stop, nil
}

// clientTime bounds one run of the package's harness, which waits for observations
// without a bound of its own.
const clientTime = 3 * time.Minute

// client runs the package's harness over a job and returns its outcomes by event id.
func (k *kitRun) client(ctx context.Context, job any, env ...string) (map[string]json.RawMessage, error) {
	in, err := json.Marshal(job)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, clientTime)
	defer cancel()
	cmd := exec.CommandContext(ctx, k.python, filepath.Join(k.scripts, "ahp_client.py"))
	cmd.Env = append(os.Environ(), env...)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(in), k.stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("ahp_client.py: %w", err)
	}
	outcomes := map[string]json.RawMessage{}
	for line := range bytes.Lines(out) {
		var o struct {
			ID            string `json:"id"`
			Configuration any    `json:"configuration"`
		}
		if err := json.Unmarshal(line, &o); err != nil {
			return nil, fmt.Errorf("ahp_client.py: %w", err)
		}
		if o.Configuration != nil {
			o.ID = "configuration"
		}
		outcomes[o.ID] = bytes.Clone(line)
	}
	return outcomes, nil
}
