package agenthooks_test

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/agenthooks"
)

type streamRig struct {
	h        *agenthooks.Host
	s        *agenthooks.Session
	stream   *agenthooks.Stream
	released []string
	asked    []string // content and finish reason of each dispatched emission
}

// rig opens a stream whose interceptor answers by content.
func rig(t *testing.T, incremental bool, mode agenthooks.Mode, f func(content string) verdict) *streamRig {
	t.Helper()
	r := &streamRig{}
	r.h, r.s = opened(t, agenthooks.Options{Mode: mode, Interceptors: []agenthooks.Registration{at(agenthooks.PostModelCall, func(_ context.Context, c *ahContext) (verdict, error) {
		r.asked = append(r.asked, c.Text("target.content")+"|"+c.Text("target.finish_reason"))
		return f(c.Text("response.content")), nil
	})}})
	r.stream = r.s.Stream(agenthooks.StreamOptions{Model: "m", Incremental: incremental, Release: func(s string) error {
		r.released = append(r.released, s)
		return nil
	}})
	return r
}

func allowAll(string) verdict { return agenthooks.Allow() }

// reasons are the decision and reason of each record, oldest first.
func (r *streamRig) reasons(t *testing.T) (out []string) {
	for _, rec := range r.h.Records() {
		validate(t, "interception-record.schema.json", rec)
		out = append(out, strings.TrimSpace(string(rec.Verdict.Decision)+" "+rec.Verdict.Reason))
	}
	return out
}

func (r *streamRig) want(t *testing.T, asked, released, reasons string) {
	t.Helper()
	if got := strings.Join(r.asked, ", "); got != asked {
		t.Errorf("asked %q, want %q", got, asked)
	}
	if got := strings.Join(r.released, "/"); got != released {
		t.Errorf("released %q, want %q", got, released)
	}
	if got := strings.Join(r.reasons(t), ", "); got != reasons {
		t.Errorf("records %q, want %q", got, reasons)
	}
	if all := strings.Join(r.released, ""); r.stream.Released() != all {
		t.Errorf("Released() = %q, but %q has left", r.stream.Released(), all)
	}
}

// TestIncremental is AH-12.1-4, the path on which all goes well.
//
// Rules: AH-12.1-7, AH-12.1a-2.
func TestIncremental(t *testing.T) {
	r := rig(t, true, "", allowAll)
	for _, c := range []string{"aa ", "bb "} {
		if err := r.stream.Chunk(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	e, err := r.stream.Finish(t.Context(), "cc", agenthooks.Response{FinishReason: "tool_calls", ToolCalls: []agenthooks.ToolCall{{ID: "1", Name: "n"}}})
	if err != nil {
		t.Fatal(err)
	}
	r.want(t, "aa |incremental, aa bb |incremental, aa bb cc|tool_calls", "aa /bb /cc", "allow, allow, allow")
	var resp agenthooks.Response
	if err := e.DecodeTarget(&resp); err != nil || string(resp.Content) != `"aa bb cc"` || len(resp.ToolCalls) != 1 {
		t.Errorf("%+v %v", resp, err)
	}
	if err := r.stream.Chunk(t.Context(), "x"); !errors.Is(err, agenthooks.ErrStreamEnded) {
		t.Error(err)
	}
	if _, err := r.stream.Finish(t.Context(), "", agenthooks.Response{}); !errors.Is(err, agenthooks.ErrStreamEnded) {
		t.Error(err)
	}
	if err := r.stream.Fail(t.Context(), ""); !errors.Is(err, agenthooks.ErrStreamEnded) {
		t.Error(err)
	}
}

// TestIncrementalDeny is the contract's worked example E, item 2.
func TestIncrementalDeny(t *testing.T) {
	r := rig(t, true, "", func(c string) verdict {
		if c == "aa bb " {
			return agenthooks.Deny("stop", "")
		}
		return agenthooks.Allow()
	})
	if err := r.stream.Chunk(t.Context(), "aa "); err != nil {
		t.Fatal(err)
	}
	var b *agenthooks.BlockedError
	if err := r.stream.Chunk(t.Context(), "bb "); !errors.As(err, &b) {
		t.Fatal(err)
	}
	if err := r.stream.Chunk(t.Context(), "cc"); !errors.Is(err, agenthooks.ErrStreamEnded) {
		t.Error(err)
	}
	r.want(t, "aa |incremental, aa bb |incremental", "aa ", "allow, deny stop")
}

// TestResidue is AH-12.1-5 and item 3: nobody is asked, both identities stand.
func TestResidue(t *testing.T) {
	for _, mode := range []agenthooks.Mode{agenthooks.Enforce, agenthooks.EvaluateOnly} {
		r := rig(t, true, mode, allowAll)
		if err := r.stream.Chunk(t.Context(), "aa "); err != nil {
			t.Fatal(err)
		}
		err := r.stream.Fail(t.Context(), "bb")
		var b *agenthooks.BlockedError
		if !errors.As(err, &b) || b.Reason() != agenthooks.ReasonStreamingUnsupported {
			t.Fatal(err)
		}
		rec := b.Record
		if rec.InputIdentity == nil || *rec.InputIdentity != *rec.EnforcedIdentity || len(rec.Verdicts) != 0 || rec.DecidedBy != nil || rec.Sequence != 2 {
			t.Errorf("%+v", rec)
		}
		r.want(t, "aa |incremental", "aa ", "allow, deny "+agenthooks.ReasonStreamingUnsupported)
	}
}

// TestSegmentTransform is AH-12.1-6.
func TestSegmentTransform(t *testing.T) {
	mask := func(c string) verdict {
		if strings.Contains(c, "secret") {
			return agenthooks.Rewrite("$target.content", strings.ReplaceAll(c, "secret", "[x]"))
		}
		return agenthooks.Allow()
	}
	r := rig(t, true, "", mask)
	for _, c := range []string{"aa ", "secret ", "bb "} {
		if err := r.stream.Chunk(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := r.stream.Finish(t.Context(), "secret", agenthooks.Response{FinishReason: "stop"}); err != nil {
		t.Fatal(err)
	}
	r.want(t, "aa |incremental, aa secret |incremental, aa [x] bb |incremental, aa [x] bb secret|stop", "aa /[x] /bb /[x]", "allow, transform, allow, transform")

	for _, v := range []verdict{agenthooks.Rewrite("$target.content", "other"), agenthooks.Rewrite("$target.content", nil), agenthooks.Rewrite("$target.content", "a")} {
		r = rig(t, true, "", func(c string) verdict {
			if c == "aa bb" {
				return v
			}
			return agenthooks.Allow()
		})
		if err := r.stream.Chunk(t.Context(), "aa "); err != nil {
			t.Fatal(err)
		}
		var b *agenthooks.BlockedError
		if err := r.stream.Chunk(t.Context(), "bb"); !errors.As(err, &b) || b.Reason() != agenthooks.ReasonStreamingUnsupported || b.Record.DecidedBy != nil {
			t.Fatal(err)
		}
		r.want(t, "aa |incremental, aa bb|incremental", "aa ", "allow, deny "+agenthooks.ReasonStreamingUnsupported)
	}
}

// TestCutCodePoint: a chunk may end within a character; nothing is asked about
// half of it.
func TestCutCodePoint(t *testing.T) {
	r := rig(t, true, "", allowAll)
	for _, c := range []string{"\xf0\x9f", "\x8c", "\x8d é"[:3], "\xa9"} { // 🌍 é
		if err := r.stream.Chunk(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	if err := r.stream.Chunk(t.Context(), ""); err != nil {
		t.Fatal(err)
	}
	if _, err := r.stream.Finish(t.Context(), "!", agenthooks.Response{FinishReason: "stop"}); err != nil {
		t.Fatal(err)
	}
	r.want(t, "🌍 |incremental, 🌍 é|incremental, 🌍 é|incremental, 🌍 é!|stop", "🌍 /é/!", "allow, allow, allow, allow")

	for _, incremental := range []bool{true, false} {
		r = rig(t, incremental, "", allowAll)
		if err := r.stream.Chunk(t.Context(), "a\xf0\x9f"); err != nil {
			t.Fatal(err)
		}
		_, err := r.stream.Finish(t.Context(), "", agenthooks.Response{FinishReason: "stop"})
		var b *agenthooks.BlockedError
		if !errors.As(err, &b) || b.Reason() != agenthooks.ReasonContextInvalid {
			t.Errorf("cut off at the end: %v", err)
		}
	}
	r = rig(t, true, "", allowAll)
	var b *agenthooks.BlockedError
	if err := r.stream.Chunk(t.Context(), "a\xffb"); !errors.As(err, &b) || b.Reason() != agenthooks.ReasonContextInvalid || r.stream.Released() != "" {
		t.Errorf("invalid text: %v", err)
	}
}

// TestEvaluateOnlyStream: text that no context can hold is a deny on the
// record and goes on all the same (AH-8-5).
func TestEvaluateOnlyStream(t *testing.T) {
	r := rig(t, true, agenthooks.EvaluateOnly, allowAll)
	if err := r.stream.Chunk(t.Context(), "a\xffb"); err != nil {
		t.Fatal(err)
	}
	e, err := r.stream.Finish(t.Context(), "c", agenthooks.Response{FinishReason: "stop"})
	if err != nil || !e.Proceeds || e.Context() != nil || e.Target() != nil {
		t.Fatalf("%+v, %v", e, err)
	}
	deny := "deny " + agenthooks.ReasonContextInvalid
	r.want(t, "", "a\xffb/c", deny+", "+deny)
}

// TestBuffered is AH-12.1-1 and AH-12.1a-1: one emission, no release.
func TestBuffered(t *testing.T) {
	r := rig(t, false, "", allowAll)
	for _, c := range []string{"aa ", "bb "} {
		if err := r.stream.Chunk(t.Context(), c); err != nil {
			t.Fatal(err)
		}
	}
	e, err := r.stream.Finish(t.Context(), "cc", agenthooks.Response{FinishReason: "stop"})
	if err != nil || !strings.Contains(string(e.Target()), "aa bb cc") {
		t.Fatal(err)
	}
	r.want(t, "aa bb cc|stop", "", "allow")

	r = rig(t, false, "", allowAll)
	if _, err := r.stream.Finish(t.Context(), "", agenthooks.Response{FinishReason: "tool_calls", ToolCalls: []agenthooks.ToolCall{{ID: "1", Name: "n"}}}); err != nil {
		t.Fatal(err)
	}
	r.want(t, "|tool_calls", "", "allow")
}

// TestBufferedFailure is AH-12.1-2: the response cannot be assembled.
func TestBufferedFailure(t *testing.T) {
	r := rig(t, false, "", allowAll)
	if err := r.stream.Chunk(t.Context(), "aa "); err != nil {
		t.Fatal(err)
	}
	var b *agenthooks.BlockedError
	if err := r.stream.Fail(t.Context(), "b\xff"); !errors.As(err, &b) || b.Record.InputIdentity == nil {
		t.Fatal(err)
	}
	r.want(t, "", "", "deny "+agenthooks.ReasonStreamingUnsupported)

	r = rig(t, false, "", allowAll)
	if err := r.stream.Chunk(t.Context(), strings.Repeat("x", 4<<20)); err != nil {
		t.Fatal(err)
	}
	if err := r.stream.Chunk(t.Context(), strings.Repeat("x", 4<<20)); !errors.As(err, &b) {
		t.Fatal(err)
	}
	r.want(t, "", "", "deny "+agenthooks.ReasonStreamingUnsupported)
}

// TestReleaseFails: the caller is gone, the stream ends.
func TestReleaseFails(t *testing.T) {
	r := rig(t, true, "", allowAll)
	gone := errors.New("gone")
	st := r.s.Stream(agenthooks.StreamOptions{Model: "m", Incremental: true, Release: func(string) error { return gone }})
	if err := st.Chunk(t.Context(), "aa"); !errors.Is(err, gone) {
		t.Error(err)
	}
	if err := st.Chunk(t.Context(), "aa"); !errors.Is(err, agenthooks.ErrStreamEnded) {
		t.Error(err)
	}
}

// TestStreamWithoutText releases nothing and uses the response's own content.
func TestStreamWithoutText(t *testing.T) {
	r := rig(t, true, "", allowAll)
	e, err := r.stream.Finish(t.Context(), "", agenthooks.Response{Content: jsontext.Value(`{"parts":[]}`), FinishReason: "stop"})
	if err != nil || !strings.Contains(string(e.Target()), `{"parts":[]}`) {
		t.Fatal(err)
	}
	r.want(t, "|stop", "", "allow")
}
