package backend_test

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/wire01"
	"github.com/holdpoint/holdpoint/backend"
)

// FuzzServeStdio holds: whatever comes in, each line that goes out is one valid
// answer, there are no more of them than lines that came in, and the handler saw
// each event that got effects.
func FuzzServeStdio(f *testing.F) {
	f.Add([]byte(request("a", "ls") + "\n" + request("b", "deny") + "\n"))
	f.Add([]byte(request("a", "panic") + "\n" + observation("b", "ls") + "\n" + request("a", "panic")))
	f.Add([]byte(request("a", "error") + "\n[]\n{}\nnull\n\n \n" + request("a", "ls") + "\r\n"))
	f.Add([]byte("\xff\xfe\n{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"x\"}\n"))
	f.Add([]byte(request("long", strings.Repeat("x", 3000)) + "\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		s := newServer(t, func(ctx context.Context, r *backend.Request) ([]ahp.Effect, error) {
			if r.Event.Type != ahp.ToolBefore || r.Event.Tool == nil || r.Event.ID == "" {
				t.Errorf("the handler sees %+v", r.Event)
			}
			return decide(ctx, r)
		}, backend.Options{Limits: wire01.Limits{MaxBytes: 2000}, Observe: func(context.Context, *backend.Request) {}})
		var out bytes.Buffer
		if err := s.ServeStdio(t.Context(), bytes.NewReader(in), &out); err != nil {
			t.Fatal(err)
		}
		if n := bytes.Count(out.Bytes(), []byte("\n")); n > bytes.Count(in, []byte("\n"))+1 {
			t.Errorf("%d answers to %q", n, in)
		}
		if b := out.Bytes(); len(b) > 0 && b[len(b)-1] != '\n' {
			t.Errorf("no end: %q", b)
		}
		for line := range bytes.Lines(out.Bytes()) {
			m, err := wire01.Decode(line, wire01.Limits{SingleLine: true})
			if err != nil || m.Kind != wire01.Response && m.Kind != wire01.ErrorResponse {
				t.Errorf("%v in %q", err, line)
			}
			if bytes.Contains(line, []byte("SECRET")) && !bytes.Contains(in, []byte("SECRET")) {
				t.Errorf("leaks: %s", line)
			}
		}
	})
}
