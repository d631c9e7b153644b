package main

import (
	"bytes"
	"context"
	"strings"
	"testing"

	"github.com/holdpoint/holdpoint/internal/schematest"
)

// Every --json output fits its schema.
func TestJSONOutputsFitTheirSchemas(t *testing.T) {
	tests := []struct {
		name, schema string
		args         []string
		stdin        string
		code         int
	}{
		{"version", "version", []string{"version", "--json"}, "", exitOK},
		{"nothing against it", "check", []string{"check", "--json", "-c", "ls"}, "", exitOK},
		{"denied", "check", []string{"check", "--json", "--cwd", "/home/dev/r", "--home", "/home/dev", "-c", "git push --force"}, "", exitDenied},
		{"flagged", "check", []string{"check", "--json", "--cwd", "/home/dev/r", "--home", "/home/dev", "-c", "git push --force-with-lease"}, "", exitOK},
		{"undecidable", "check", []string{"check", "--json", "--cwd", "/home/dev/r", "--home", "/home/dev", "-c", "eval \"$X\""}, "", -1},
		{"too deep", "check", []string{"check", "--json", "-c", strings.Repeat("$(", 4000) + strings.Repeat(")", 4000)}, "", -1},
		{"no operation", "check", []string{"check", "--json", "--agent", "codex"}, `{"session_id":"s","turn_id":"t","transcript_path":null,"cwd":"/r","hook_event_name":"Stop","model":"m","permission_mode":"default","stop_hook_active":false,"last_assistant_message":null}`, exitOK},
		{"conform", "conform", []string{"conform", "host", "--json"}, "", exitOK},
		{"batch", "check-batch", []string{"check", "--batch", "-"}, `{"id":"a","command":"git push --force","cwd":"/home/dev/r","workspaceRoots":["/home/dev/r"]}` + "\nnonsense\n" + `{"id":"b"}` + "\n", exitFailed},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out, errs strings.Builder
			code := run(context.Background(), tt.args, strings.NewReader(tt.stdin), &out, &errs)
			if tt.code >= 0 && code != tt.code {
				t.Errorf("exit code %d, want %d: %s", code, tt.code, errs.String())
			}
			docs := [][]byte{[]byte(out.String())}
			if tt.schema == "check-batch" {
				docs = bytes.Split(bytes.TrimSpace(docs[0]), []byte("\n"))
			}
			for _, doc := range docs {
				schematest.Validate(t, tt.schema, doc)
			}
		})
	}
}
