package harness_test

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"log/slog"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/wire01"
	"github.com/holdpoint/holdpoint/harness"
	"github.com/holdpoint/holdpoint/internal/badbackend/badtest"
	"github.com/holdpoint/holdpoint/settle"
	"github.com/holdpoint/holdpoint/transport"
)

// kilobyte is an event whose frame has about 1 KB.
func kilobyte() *ahp.Event {
	ev := toolBefore()
	ev.Tool.Input = ahp.Raw(`{"cmd":"` + strings.Repeat("echo hello ", 45) + `","timeoutSec":60}`)
	return ev
}

func benchHarness(b *testing.B, rec harness.Recorder, local transport.Local, tr ahp.Transport) *harness.Harness {
	b.Helper()
	h, err := harness.New(&ahp.Registration{Version: ahp.Version01, Hooks: []ahp.Backend{intercept(backendID, tr, long, ahp.FailClosed)}}, harness.Options{
		Source: "urn:example:bench", Capabilities: ahp.DenyOnly(), Recorder: rec,
		Local: map[string]transport.Local{backendID: local}, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = h.Close(context.Background()) })
	return h
}

func decisions(b *testing.B, h *harness.Harness) {
	ev := kilobyte()
	ctx := context.Background()
	for range 100 { // start the process, connect
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

// appender is a recorder that only encodes.
type appender struct{ buf []byte }

func (a *appender) Record(_ context.Context, r *settle.Record) error {
	a.buf = r.MarshalAppend(a.buf[:0])
	return nil
}

// quickLocal answers by the place of the id, as the bench backend does.
func quickLocal(_ context.Context, frame []byte) ([]byte, error) {
	i := bytes.Index(frame, []byte(`"id":`)) + len(`"id":`)
	id := frame[i : i+1+bytes.IndexByte(frame[i+1:], '"')+1]
	dst := make([]byte, 0, 128)
	dst = append(dst, `{"jsonrpc":"2.0","id":`...)
	dst = append(dst, id...)
	return append(dst, `,"result":{"protocolVersion":"0.1","effects":[]}}`...), nil
}

func BenchmarkLocal(b *testing.B) {
	b.Run("bare", func(b *testing.B) {
		decisions(b, benchHarness(b, harness.Discard, quickLocal, &ahp.LocalTransport{}))
	})
	b.Run("recorded", func(b *testing.B) {
		decisions(b, benchHarness(b, &appender{}, quickLocal, &ahp.LocalTransport{}))
	})
}

// BenchmarkPersistent is row 1 of the performance targets from our side: a
// decision over persistent stdio beside a bare pipe echo of the same frame.
func BenchmarkPersistent(b *testing.B) {
	b.Run("decision", func(b *testing.B) {
		decisions(b, benchHarness(b, harness.Discard, nil, badtest.Stdio(b, ahp.Persistent, "-quick")))
	})
	b.Run("recorded", func(b *testing.B) {
		decisions(b, benchHarness(b, &appender{}, nil, badtest.Stdio(b, ahp.Persistent, "-quick")))
	})
	b.Run("echo", func(b *testing.B) {
		cmd := exec.Command(badtest.Path(b), "-echo")
		inR, in, err := os.Pipe()
		if err != nil {
			b.Fatal(err)
		}
		out, outW, err := os.Pipe()
		if err != nil {
			b.Fatal(err)
		}
		cmd.Stdin, cmd.Stdout = inR, outW
		if err := cmd.Start(); err != nil {
			b.Fatal(err)
		}
		inR.Close()
		outW.Close()
		defer func() { in.Close(); _ = cmd.Wait(); out.Close() }()
		line := append(benchFrame(b), '\n')
		r := bufio.NewReaderSize(out, 64<<10)
		b.ReportAllocs()
		for b.Loop() {
			if _, err := in.Write(line); err != nil {
				b.Fatal(err)
			}
			if _, err := r.ReadSlice('\n'); err != nil {
				b.Fatal(err)
			}
		}
	})
}

// BenchmarkHTTP is row 2: a decision over HTTP beside a bare net/http echo.
func BenchmarkHTTP(b *testing.B) {
	b.Run("decision", func(b *testing.B) {
		decisions(b, benchHarness(b, harness.Discard, nil, badtest.HTTP(b, "-quick")))
	})
	b.Run("recorded", func(b *testing.B) {
		decisions(b, benchHarness(b, &appender{}, nil, badtest.HTTP(b, "-quick")))
	})
	b.Run("echo", func(b *testing.B) {
		url := badtest.HTTP(b, "-echo").URL
		frame := benchFrame(b)
		client := &http.Client{Transport: &http.Transport{}}
		defer client.CloseIdleConnections()
		b.ReportAllocs()
		for b.Loop() {
			resp, err := client.Post(url, "application/json", bytes.NewReader(frame))
			if err != nil {
				b.Fatal(err)
			}
			if n, err := io.Copy(io.Discard, resp.Body); err != nil || n != int64(len(frame)) {
				b.Fatal(n, err)
			}
			resp.Body.Close()
		}
	})
}

func benchFrame(b *testing.B) []byte {
	ev := kilobyte()
	ev.ID, ev.Source, ev.Time = harness.NewID(), "urn:example:bench", "2027-02-03T04:05:06.789Z"
	frame, err := wire01.AppendIntercept(nil, ev, ahp.DenyOnly(), nil)
	if err != nil {
		b.Fatal(err)
	}
	if len(frame) < 900 || len(frame) > 1100 {
		b.Fatalf("the frame has %d bytes", len(frame))
	}
	return frame
}
