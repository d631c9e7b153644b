package backend_test

import (
	"bytes"
	"context"
	"encoding/json"
	"maps"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/wiredraft"
	"github.com/holdpoint/holdpoint/backend"
	"github.com/holdpoint/holdpoint/internal/corpus"
)

// TestDraftFixtures posts every public message of the draft to a real server of both
// revisions: a valid request is answered with its own id, a valid observation is told
// and not answered, and of what is not valid the handler hears nothing.
func TestDraftFixtures(t *testing.T) {
	var asked, observed atomic.Int32
	s := newServer(t, func(_ context.Context, r *backend.Request) ([]ahp.Effect, error) {
		asked.Add(1)
		return nil, nil
	}, speaksBoth(func(o *backend.Options) {
		o.Manifest = manifest()
		for _, at := range interceptable() {
			o.Manifest.Events = append(o.Manifest.Events, listening(at))
		}
		o.Observe = func(context.Context, *backend.Request) { observed.Add(1) }
		o.MemoryEntries = 1
	}))
	srv := httptest.NewServer(s)
	defer srv.Close()
	ran := map[string]int{}
	for _, c := range corpus.DraftFixtures(t) {
		if c.Registration() {
			continue
		}
		t.Run(c.ID, func(t *testing.T) {
			frame := c.Data(t)
			if c.Binding == "stdio-jsonl" {
				frame, _, _ = bytes.Cut(frame, []byte("\n"))
			}
			var m struct {
				ID     json.RawMessage `json:"id"`
				Method string          `json:"method"`
			}
			whole := json.Unmarshal(frame, &m) == nil
			wasAsked, wasObserved := asked.Load(), observed.Load()
			status, got := draftPost(t, srv, post{body: string(frame)})
			told, seen := asked.Load()-wasAsked, observed.Load()-wasObserved
			kind := m.Method
			if !c.Valid() {
				kind = "not valid"
			}
			ran[kind]++
			ok := false
			switch kind {
			case "hooks/intercept":
				ok = status == 200 && got == "[]" && told <= 1 && seen == 0 // two fixtures may be equal
			case "hooks/observe":
				ok = status == 204 && got == "none" && told == 0 && seen == 1
			case "hooks/capabilities":
				ok = status == 200 && strings.HasPrefix(got, `{"events":[`) && told+seen == 0
			case "": // an answer is no question
				ok = status == 200 && got == "-32600" && told+seen == 0
			case "not valid":
				note := whole && m.Method != "" && m.ID == nil
				ok = told+seen == 0 && (note && status == 400 && got == "none" || !note && status == 200 && strings.HasPrefix(got, "-32"))
			}
			if !ok {
				t.Errorf("%d %s, asked %d, told %d: %s", status, got, told, seen, frame)
			}
		})
	}
	want := map[string]int{"hooks/intercept": 4, "hooks/observe": 54, "hooks/capabilities": 1, "": 22, "not valid": 60}
	if !maps.Equal(ran, want) {
		t.Errorf("%v were run, want %v", ran, want)
	}
}

// TestDraftFixturesOfAnswers has a handler return the effects of each public answer
// that is judged beside its request: what is right there is sent, and what is wrong is
// our -32004.
func TestDraftFixturesOfAnswers(t *testing.T) {
	ran := 0
	for _, c := range corpus.DraftFixtures(t) {
		if c.ContextualExpectedValid == nil {
			continue
		}
		t.Run(c.ID, func(t *testing.T) {
			answer, err := wiredraft.Decode(c.Data(t), wiredraft.Limits{})
			if err != nil {
				return // nothing that a handler could return
			}
			ran++
			got := told(t, newServer(t, returning(answer.Effects...), draftOptions()), string(c.Request(t)))
			if (got != "-32004") != *c.ContextualExpectedValid || *c.ContextualExpectedValid && !strings.HasPrefix(got, `[{"type":"modify"`) {
				t.Errorf("got %s, want valid=%v", got, *c.ContextualExpectedValid)
			}
		})
	}
	if ran < 9 {
		t.Errorf("%d answers were judged", ran)
	}
}
