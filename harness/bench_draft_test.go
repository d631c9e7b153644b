package harness_test

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/harness"
	"github.com/holdpoint/holdpoint/internal/badbackend/badtest"
	"github.com/holdpoint/holdpoint/transport"
)

// kilobyteDraft is the event of kilobyte, with what draft needs beside it.
func kilobyteDraft() *ahp.Event {
	ev := kilobyte()
	ev.Tool.Origin, ev.Tool.Path = ahp.OriginNative, "native"
	return ev
}

// quickSays answers with effects by the place of the id.
func quickSays(effects string) transport.Local {
	tail := []byte(`,"result":{"protocolVersion":"draft","effects":` + effects + `}}`)
	return func(_ context.Context, frame []byte) ([]byte, error) {
		i := bytes.Index(frame, []byte(`"id":`)) + len(`"id":`)
		id := frame[i : i+1+bytes.IndexByte(frame[i+1:], '"')+1]
		dst := make([]byte, 0, 64+len(tail))
		dst = append(dst, `{"jsonrpc":"2.0","id":`...)
		dst = append(dst, id...)
		return append(dst, tail...), nil
	}
}

func benchDraft(b *testing.B, m *ahp.Manifest, backends ...ahp.Backend) *harness.Harness {
	b.Helper()
	local := map[string]transport.Local{}
	for i := range backends {
		local[backends[i].ID] = quickSays("[]")
	}
	h, err := harness.New(&ahp.Registration{Version: ahp.VersionDraft, Hooks: backends}, harness.Options{
		Source: "urn:example:bench", Manifest: m, Recorder: harness.Discard, Local: local, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = h.Close(context.Background()) })
	return h
}

func draftDecisions(b *testing.B, h *harness.Harness, ev *ahp.Event) {
	b.Helper()
	ctx := context.Background()
	for range 50 {
		if s, err := h.Begin(ctx, ev).Settle(); !s.Proceeds() || err != nil {
			b.Fatal(s, err)
		}
	}
	b.ReportAllocs()
	for b.Loop() {
		if s, err := h.Begin(ctx, ev).Settle(); !s.Proceeds() || err != nil {
			b.Fatal(s, err)
		}
	}
}

// denyOnlyManifest offers at tool.before what revision 0.1 offers.
func denyOnlyManifest() *ahp.Manifest {
	m := fullManifest()
	c := ahp.DenyOnly()
	m.Event(ahp.ToolBefore).Capabilities = &c
	return m
}

func interceptors(n int, tr ahp.Transport) []ahp.Backend {
	var all []ahp.Backend
	for i := range n {
		all = append(all, backendOf(fmt.Sprintf("net.acme.i%d", i), tr, asks(ahp.FailClosed, ahp.ToolBefore)))
	}
	return all
}

// BenchmarkDraft is an interception of revision draft beside the same one of revision
// 0.1 (BenchmarkLocal/bare, BenchmarkPersistent/decision), with the same offer and with
// the full one, for one and four interceptors, and for an input of 100 KB.
func BenchmarkDraft(b *testing.B) {
	big := kilobyteDraft()
	big.Tool.Input = ahp.Raw(`{"cmd":"` + strings.Repeat("echo hello ", 100<<10/11) + `"}`)
	old := toolBefore()
	old.Tool.Input = big.Tool.Input
	b.Run("local01", func(b *testing.B) {
		decisions(b, benchHarness(b, harness.Discard, quickLocal, &ahp.LocalTransport{}))
	})
	b.Run("local", func(b *testing.B) {
		draftDecisions(b, benchDraft(b, denyOnlyManifest(), interceptors(1, &ahp.LocalTransport{})...), kilobyteDraft())
	})
	b.Run("local/full", func(b *testing.B) {
		draftDecisions(b, benchDraft(b, fullManifest(), interceptors(1, &ahp.LocalTransport{})...), kilobyteDraft())
	})
	b.Run("local/4", func(b *testing.B) {
		draftDecisions(b, benchDraft(b, denyOnlyManifest(), interceptors(4, &ahp.LocalTransport{})...), kilobyteDraft())
	})
	b.Run("local/100KB01", func(b *testing.B) {
		h := benchHarness(b, harness.Discard, quickLocal, &ahp.LocalTransport{})
		draftDecisions(b, h, old)
	})
	b.Run("local/100KB", func(b *testing.B) {
		draftDecisions(b, benchDraft(b, denyOnlyManifest(), interceptors(1, &ahp.LocalTransport{})...), big)
	})
	b.Run("local/100KB/4", func(b *testing.B) {
		draftDecisions(b, benchDraft(b, denyOnlyManifest(), interceptors(4, &ahp.LocalTransport{})...), big)
	})
	b.Run("persistent01", func(b *testing.B) {
		decisions(b, benchHarness(b, harness.Discard, nil, badtest.Stdio(b, ahp.Persistent, "-quick")))
	})
	b.Run("persistent", func(b *testing.B) {
		draftDecisions(b, benchDraft(b, denyOnlyManifest(), interceptors(1, badtest.Stdio(b, ahp.Persistent, "-quick", "-revision", "draft"))...), kilobyteDraft())
	})
}
