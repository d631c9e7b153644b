package harness_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/harness"
	"github.com/holdpoint/holdpoint/internal/badbackend/badtest"
	"github.com/holdpoint/holdpoint/internal/leak"
	"github.com/holdpoint/holdpoint/settle"
	"github.com/holdpoint/holdpoint/transport"
)

// A stage is one run of a call that is interrupted at its step number at; never with
// a negative one.
type stage struct {
	mu    sync.Mutex
	steps []string
	at    int
	end   func() // interrupts the call; returns when it has ended
}

func (s *stage) step(name string) {
	s.mu.Lock()
	s.steps = append(s.steps, name)
	hit := len(s.steps)-1 == s.at
	s.mu.Unlock()
	if hit {
		s.end()
		s.mu.Lock()
		s.steps = append(s.steps, "interrupted")
		s.mu.Unlock()
	}
}

// after returns the steps behind the interruption, and the one it came at.
func (s *stage) after() (at string, rest []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := slices.Index(s.steps, "interrupted")
	if i < 0 {
		return "", nil
	}
	return s.steps[s.at], slices.Clone(s.steps[i+1:])
}

// settledBy are the steps that come when the settlement is made.
func settledBy(step string) bool { return step == "deliver" || step == "delivered" }

// check is what holds wherever a call was interrupted.
func (s *stage) check(t *testing.T, got settle.Settlement, want settle.State) {
	t.Helper()
	at, rest := s.after()
	if at == "" {
		t.Errorf("step %d was not reached", s.at)
		return
	}
	if settledBy(at) {
		if got.State != want {
			t.Errorf("interrupted at %s: settled %s, want %s", at, got.State, want)
		}
	} else if got.State != settle.Interrupted || got.Proceeds() {
		t.Errorf("interrupted at %s: settled %s", at, got.State)
	}
	for _, name := range rest {
		// A carrier may still be handing over an answer; nothing of it is published.
		if name == "published" || name == "staged" && at != "sent" && at != "accept" && at != "staged" {
			t.Errorf("interrupted at %s, then %v", at, rest)
		}
	}
}

// TestInterruptAnywhere ends a call at each of its steps, in each way that there is:
// the caller leaves, the harness closes, the budget ends. Whatever the step, the
// outcome is no permission, nothing new is sent, and nothing is left.
func TestInterruptAnywhere(t *testing.T) {
	exe := badtest.Path(t)
	effects := list(mergeInput, notify)
	total := 0
	server := badtest.HTTP(t, "-revision", "draft")
	for _, carrier := range append(slices.Clone(carriers), "local") {
		for _, way := range []string{"cancel", "close"} {
			count := func(at int) int {
				there := goleak.IgnoreCurrent()
				s := runStage(t, server, carrier, way, effects, at)
				if err := leak.Find(there); err != nil {
					t.Errorf("%s, %s at step %d: %v", carrier, way, at, err)
				}
				return len(s.steps)
			}
			steps := count(-1)
			if steps < 20 {
				t.Errorf("%s: a whole call has %d steps", carrier, steps)
			}
			for at := range steps {
				total++
				count(at)
			}
		}
	}
	left := slices.DeleteFunc(processes(t, exe), func(p string) bool { return strings.Contains(p, " -http ") }) // ends with the test
	if len(left) > 0 {
		t.Errorf("processes left: %q", left)
	}
	t.Logf("%d interruptions", total)
}

func runStage(t *testing.T, server ahp.Transport, carrier, way, effects string, at int) *stage {
	t.Helper()
	s := &stage{at: at}
	first, last, watch := says(effects), says("[]"), &peer{}
	middle := backendOf("net.acme.middle", &ahp.LocalTransport{}, asks(ahp.FailOpen, "*"), watches("*"))
	switch carrier {
	case "http":
		middle.Transport = server
	case "persistent":
		middle.Transport = badtest.Stdio(t, ahp.Persistent, "-revision", "draft")
	case "per_event":
		middle.Transport = badtest.Stdio(t, ahp.PerEvent, "-revision", "draft")
	}
	rec := &memory{}
	o := draftOptions(rec)
	o.Local = map[string]transport.Local{
		"net.acme.first": first.local, "net.acme.middle": says("[]").local, "net.acme.last": last.local, "net.acme.watch": watch.local,
	}
	h, err := harness.New(&ahp.Registration{Version: ahp.VersionDraft, Hooks: []ahp.Backend{
		backendOf("net.acme.first", &ahp.LocalTransport{}, asks(ahp.FailOpen, "*")), middle,
		backendOf("net.acme.last", &ahp.LocalTransport{}, asks(ahp.FailOpen, "*")),
		backendOf("net.acme.watch", &ahp.LocalTransport{}, watches("*")),
	}}, o)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var closing sync.WaitGroup
	s.end = cancel
	if way == "close" {
		s.end = func() {
			closing.Go(func() { closeNow(t, h) })
			<-harness.Closing(h)
		}
	}
	harness.SetStep(h, s.step)
	c := h.Begin(ctx, draftTool())
	got, _ := c.Settle()
	_ = c.Wait(ctx)
	asked, told := len(last.asked()), len(watch.told())
	cancel()
	closing.Wait()
	closeNow(t, h)
	name := fmt.Sprintf("%s, %s at step %d", carrier, way, at)
	if at < 0 {
		if !got.Proceeds() || asked != 1 || told != 1 {
			t.Errorf("%s: settled %s, asked %d, told %d", name, got.State, asked, told)
		}
		return s
	}
	s.check(t, got, settle.Proceed)
	if step, _ := s.after(); !settledBy(step) && told != 0 {
		t.Errorf("%s (%s): %d notifications", name, step, told)
	}
	// A function that was called when the end came may still be noting what it got.
	if step, _ := s.after(); !settledBy(step) && (len(last.asked()) != asked || len(watch.told()) != told) {
		t.Errorf("%s: messages after the call had returned", name)
	}
	if all := rec.all(); len(all) != 1 || all[0].Outcome != got.State {
		t.Errorf("%s: records %+v, settled %s", name, all, got.State)
	}
	// Accepted changes stay, the rest is not there (D-INT-4, D-INT-2).
	changed := strings.Contains(string(got.Event.Tool.Input), "plan")
	if changed != (len(got.Messages) == 1) {
		t.Errorf("%s: half of a response was taken: %s, %q", name, got.Event.Tool.Input, got.Messages)
	}
	return s
}

// The budget ends at each step of a call: in a bubble, where time is ours.
func TestBudgetEndsAnywhere(t *testing.T) {
	steps := 0
	for at := -1; at < max(steps, 1); at++ {
		synctest.Test(t, func(t *testing.T) {
			var k cast
			k.add("net.acme.first", says(list(mergeInput, notify)), asks(ahp.FailOpen, "*"))
			k.add("net.acme.last", says("[]"), asks(ahp.FailOpen, "*"))
			watch := k.add("net.acme.watch", &peer{}, watches("*"))
			h, rec := quick(t, &k, func(o *harness.Options) { o.Budget = time.Second })
			s := &stage{at: at, end: func() { time.Sleep(2 * time.Second) }}
			harness.SetStep(h, s.step)
			c := h.Begin(t.Context(), draftTool())
			got, _ := c.Settle()
			_ = c.Wait(t.Context())
			closeNow(t, h)
			if at < 0 {
				steps = len(s.steps)
				return
			}
			s.check(t, got, settle.Proceed)
			step, _ := s.after()
			if !settledBy(step) && (len(watch.told()) != 0 || rec.one(t).Class != ahp.FailDeadline) {
				t.Errorf("at %s: told %d, class %s", step, len(watch.told()), rec.one(t).Class)
			}
		})
	}
	if steps < 15 {
		t.Errorf("a whole call has %d steps", steps)
	}
}
