package gateway_test

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"testing"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/audit"
	"github.com/holdpoint/holdpoint/audit/sqlite"
	"github.com/holdpoint/holdpoint/gateway"
	"github.com/holdpoint/holdpoint/hookwire"
)

// BenchmarkHook is one decision over the hook socket, connection included, by how
// its record is kept, and by the revision of the chain.
func BenchmarkHook(b *testing.B) {
	for _, bm := range []struct {
		sync     audit.Sync
		revision ahp.Version
	}{{"memory", ahp.VersionDraft}, {"memory", ahp.Version01}, {audit.Batch, ahp.VersionDraft}, {audit.Always, ahp.VersionDraft}} {
		sync := bm.sync
		b.Run(string(sync)+"/"+string(bm.revision), func(b *testing.B) {
			dir, err := os.MkdirTemp("", "hp-") //nolint:usetesting // its path is too long for a socket
			if err != nil {
				b.Fatal(err)
			}
			defer os.RemoveAll(dir)
			var log audit.Log
			if sync == "memory" {
				log, err = audit.NewMemory(0)
			} else {
				log, err = sqlite.Open(b.Context(), sqlite.Options{Dir: filepath.Join(dir, "audit"), Sync: sync})
			}
			if err != nil {
				b.Fatal(err)
			}
			defer log.Close()
			o := gateway.Options{
				Socket: filepath.Join(dir, "run", "hook.sock"), Policy: gateway.PolicySource{Home: "/home/dev", Disk: true},
				PolicyTimeout: 10e9, FailurePolicy: ahp.FailClosed, Audit: log, OnAuditFailure: "deny", Oversize: gateway.OversizeRefuse,
				Revision: bm.revision,
			}
			g, err := gateway.Open(b.Context(), o)
			if err != nil {
				b.Fatal(err)
			}
			ctx, stop := context.WithCancel(context.Background())
			done := make(chan error, 1)
			go func() { done <- g.Run(ctx) }()
			defer func() { stop(); <-done }()
			payload, err := json.Marshal(map[string]any{
				"session_id": "s", "cwd": "/home/dev/repo", "hook_event_name": "PreToolUse", "tool_name": "Bash", "transcript_path": "/x",
				"tool_input": map[string]any{"command": "go test ./... && git status"}, "tool_use_id": "t",
			})
			if err != nil {
				b.Fatal(err)
			}
			frame, err := hookwire.AppendRequest(nil, &hookwire.Request{
				Header: hookwire.Header{Agent: hookwire.AgentClaudeCode, Event: "PreToolUse", BudgetMs: 20_000}, Payload: payload,
			})
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				c, err := net.Dial("unix", o.Socket)
				if err != nil {
					b.Fatal(err)
				}
				if _, err := c.Write(frame); err != nil {
					b.Fatal(err)
				}
				if a, err := hookwire.ReadAnswer(c); err != nil || a.Status != hookwire.StatusAnswer {
					b.Fatal(a, err)
				}
				c.Close()
			}
		})
	}
}
