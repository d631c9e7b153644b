package backend_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/wire01"
	"github.com/holdpoint/holdpoint/backend"
)

func speaksBoth(edit ...func(*backend.Options)) backend.Options {
	return draftOptions(append([]func(*backend.Options){func(o *backend.Options) {
		o.Versions = []ahp.Version{ahp.Version01, ahp.VersionDraft}
	}}, edit...)...)
}

// TestRevisionsMixedInOneStream holds that a server of both answers each line in the
// line's own revision, with an event of the same id in both.
func TestRevisionsMixedInOneStream(t *testing.T) {
	h := func(_ context.Context, r *backend.Request) ([]ahp.Effect, error) {
		return []ahp.Effect{&ahp.Deny{Reason: string(r.Version)}}, nil
	}
	for _, prompt := range []bool{false, true} {
		var in strings.Builder
		var want []string
		for range 40 {
			id := fmt.Sprint("e", rand.IntN(4))
			switch rand.IntN(5) {
			case 0, 1:
				in.WriteString(request(id, "ls") + "\n")
				want = append(want, `[{"type":"deny","reason":"0.1"}]`)
			case 2, 3:
				in.WriteString(draftCall(id, denyCaps) + "\n")
				want = append(want, `[{"type":"deny","reason":"draft"}]`)
			default:
				in.WriteString(strings.Replace(draftCall(id, denyCaps), `"draft"`, `"0.2"`, 1) + "\n")
				want = append(want, "-32001")
			}
		}
		slices.Sort(want)
		if got := gists(t, newServer(t, h, speaksBoth(func(o *backend.Options) { o.Prompt = prompt })), in.String()); !slices.Equal(got, want) {
			t.Errorf("prompt %v: got %v\nwant %v\nfor %s", prompt, got, want, in.String())
		}
	}
}

// TestHostileDraftMessages holds the code that each gets, whatever else it holds.
func TestHostileDraftMessages(t *testing.T) {
	asked := func(_ context.Context, r *backend.Request) ([]ahp.Effect, error) {
		t.Errorf("asked about %.200s", r.EventText)
		return nil, nil
	}
	deep := strings.Repeat(`{"a":`, 200) + "1" + strings.Repeat("}", 200)
	wide := strings.Repeat(`1,`, 200_000) + "1"
	ok := draftCall("a", denyCaps)
	in := func(input string) string { return strings.Replace(ok, `{"cmd":"ls"}`, input, 1) }
	tests := []struct{ name, frame, want string }{
		{"deep", in(deep), "-32600"},
		{"wide", in(`{"a":[` + wide + `]}`), "-32600"},
		{"huge", in(`{"cmd":"` + strings.Repeat("x", 5<<20) + `"}`), "-32600"},
		{"huge, without an end", ok[:len(ok)-1] + strings.Repeat(" ", 5<<20), "-32600"},
		{"a name twice", in(`{"a":1,"a":1}`), "-32700"},
		{"a name twice, one escaped", in(`{"a":1,"\u0061":1}`), "-32700"},
		{"the version twice", strings.Replace(ok, `"protocolVersion":"draft"`, `"protocolVersion":"0.1","protocolVersion":"draft"`, 1), "-32700"},
		{"params twice", strings.Replace(ok, `"params":`, `"params":{"protocolVersion":"0.1"},"params":`, 1), "-32700"},
		{"half a surrogate", in(`{"a":"\ud800"}`), "-32700"},
		{"a state of the wrong sort", draftRequest("a", draftEvent("a", ahp.ToolBefore, toolPart), denyCaps, `,"state":"allow"`), "-32602"},
		{"a state with another permission", draftRequest("a", draftEvent("a", ahp.ToolBefore, toolPart), denyCaps, `,"state":{"permission":"root","candidate":null}`), "-32602"},
		{"a state without a candidate", draftRequest("a", draftEvent("a", ahp.ToolBefore, toolPart), denyCaps, `,"state":{"permission":"none"}`), "-32602"},
		{"an answer", `{"jsonrpc":"2.0","id":"a","result":{"protocolVersion":"draft","effects":[]}}`, "-32600"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, o := range []backend.Options{draftOptions(), speaksBoth(), speaksBoth(func(o *backend.Options) { o.Prompt = true })} {
				if got := told(t, newServer(t, asked, o), tt.frame); got != tt.want {
					t.Errorf("%v: got %s, want %s", o.Versions, got, tt.want)
				}
			}
		})
	}
}

// TestOneIdInManyFormsIsBounded holds that a peer who sends one event id with ever
// other params neither fills the memory nor makes each message dearer than the last,
// and that nobody gets the answer to another's request.
func TestOneIdInManyFormsIsBounded(t *testing.T) {
	var calls atomic.Int32
	s := newServer(t, func(_ context.Context, r *backend.Request) ([]ahp.Effect, error) {
		calls.Add(1)
		return []ahp.Effect{&ahp.Deny{Reason: string(r.Event.Tool.Input)}}, nil
	}, draftOptions())
	form := func(i int) string { return strings.Replace(draftCall("a", denyCaps), `"ls"`, fmt.Sprint(i), 1) }
	want := func(i int) string { return fmt.Sprintf(`[{"type":"deny","reason":"{\"cmd\":%d}"}]`, i) }
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 500 {
				if i := i*4 + w; told(t, s, form(i)) != want(i) {
					t.Errorf("form %d got another's answer", i)
				}
			}
		})
	}
	wg.Wait()
	if n := calls.Load(); n != 2000 {
		t.Errorf("asked %d times", n)
	}
	// The first ones to come are remembered, not all.
	before := calls.Load()
	for i := range 2000 {
		if got := told(t, s, form(i)); got != want(i) {
			t.Fatalf("form %d: %s", i, got)
		}
	}
	if again := calls.Load() - before; again < 2000-16 || again >= 2000 {
		t.Errorf("asked %d times again", again)
	}
}

// TestNumbersAreNotRounded holds that requests whose numbers differ only beyond what a
// double tells are not one, and that another spelling of one request is.
func TestNumbersAreNotRounded(t *testing.T) {
	for _, version := range []ahp.Version{ahp.Version01, ahp.VersionDraft} {
		s := newServer(t, func(_ context.Context, r *backend.Request) ([]ahp.Effect, error) {
			return []ahp.Effect{&ahp.Deny{Reason: string(r.Event.Tool.Input)}}, nil
		}, speaksBoth())
		ask := func(number string) string {
			frame := draftCall("a", denyCaps)
			if version == ahp.Version01 {
				frame = request("a", "ls")
			}
			return told(t, s, strings.Replace(frame, `"ls"`, number, 1))
		}
		first := ask("0.1")
		if got := ask("0.1000000000000000055"); got == first {
			t.Errorf("%s: another's answer: %s", version, got)
		}
		if got := ask("1e-1"); version == ahp.VersionDraft && got != first {
			t.Errorf("%s: asked again: %s", version, got)
		}
	}
}

// TestDraftMemoryHoldsABound holds the bytes that remembered answers keep.
func TestDraftMemoryHoldsABound(t *testing.T) {
	const most = 1 << 20
	s := newServer(t, returning(&ahp.Deny{Reason: strings.Repeat("r", 1000)}), draftOptions(func(o *backend.Options) { o.MemoryBytes = most }))
	var was, is runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&was)
	for i := range 10_000 {
		told(t, s, draftCall(fmt.Sprint("e", i), denyCaps))
	}
	runtime.GC()
	runtime.ReadMemStats(&is)
	if held := int64(is.HeapAlloc) - int64(was.HeapAlloc); held > 3*most {
		t.Errorf("%d bytes are held, the bound is %d", held, most)
	}
	runtime.KeepAlive(s)
}

// TestAFailedDraftRequestIsTriedAgain holds that a failure is no answer to remember,
// for who waits for it and for who comes later; answers age and go.
func TestAFailedDraftRequestIsTriedAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var calls atomic.Int32
		s := newServer(t, func(context.Context, *backend.Request) ([]ahp.Effect, error) {
			n := calls.Add(1)
			time.Sleep(time.Second)
			if n == 1 {
				return nil, errors.New("broken")
			}
			return []ahp.Effect{&ahp.Deny{Reason: fmt.Sprint(n)}}, nil
		}, draftOptions(func(o *backend.Options) { o.MemoryTTL = time.Minute }))
		got := make([]string, 3)
		var wg sync.WaitGroup
		for i := range got {
			wg.Go(func() {
				time.Sleep(time.Duration(i) * time.Millisecond)
				got[i] = told(t, s, draftCall("a", denyCaps))
			})
		}
		wg.Wait()
		const second = `[{"type":"deny","reason":"2"}]`
		if want := []string{"-32004", second, second}; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
		time.Sleep(59 * time.Second)
		if got := told(t, s, draftCall("a", denyCaps)); got != second {
			t.Errorf("got %s", got)
		}
		time.Sleep(2 * time.Second)
		if got := told(t, s, draftCall("a", denyCaps)); got != `[{"type":"deny","reason":"3"}]` {
			t.Errorf("after its time: %s", got)
		}
	})
}

// TestAPromptHandlersMemoryIsItsOwn holds that what one message left behind is never
// seen by the next, which is read into the same memory.
func TestAPromptHandlersMemoryIsItsOwn(t *testing.T) {
	var mu sync.Mutex
	var wrong []string
	s := newServer(t, func(_ context.Context, r *backend.Request) ([]ahp.Effect, error) {
		ext, has := r.Extensions.Lookup("com.example.id")
		full := strings.HasPrefix(r.Event.ID, "full")
		ok := has == full && r.HasExtensions == full && (r.State != nil) == full && (r.Event.Turn != nil) == full &&
			r.Capabilities.Allows(ahp.EffectModify) == full && bytes.Contains(r.EventText, []byte(`"`+r.Event.ID+`"`))
		if full {
			ok = ok && string(ext) == `"`+r.Event.ID+`"` && r.Event.Turn.ID == r.Event.ID && string(r.Event.Tool.Input) == `{"id":"`+r.Event.ID+`"}`
		}
		if !ok {
			mu.Lock()
			defer mu.Unlock()
			wrong = append(wrong, fmt.Sprintf("%s: %s %+v", r.Event.ID, r.EventText, r))
		}
		return []ahp.Effect{&ahp.Deny{Reason: r.Event.ID}}, nil
	}, speaksBoth(func(o *backend.Options) { o.Prompt, o.Limits = true, wire01.Limits{MaxBytes: 4000} }))
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range 200 {
				full, bare := fmt.Sprint("full-", w, "-", i), fmt.Sprint("bare-", w, "-", i)
				rich := draftRequest(full, draftEvent(full, ahp.ToolBefore, `"turn":{"id":"`+full+`"},"call":{"id":"c"},"path":"p","tool":{"name":"n","origin":"native","input":{"id":"`+full+`"}}`),
					allCaps, `,"state":{"permission":"ask","candidate":null},"extensions":{"com.example.id":"`+full+`"}`)
				for id, frame := range map[string]string{full: rich, bare: draftCall(bare, denyCaps)} {
					if got := told(t, s, frame); got != `[{"type":"deny","reason":"`+id+`"}]` {
						t.Errorf("%s: %s", id, got)
					}
				}
				told(t, s, rich[:len(rich)/2]) // a fault in between
			}
		})
	}
	wg.Wait()
	if len(wrong) > 0 {
		t.Errorf("%d times: %s", len(wrong), wrong[0])
	}
}
