//go:build unix

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/holdpoint/holdpoint/audit"
	"github.com/holdpoint/holdpoint/audit/sqlite"
	"github.com/holdpoint/holdpoint/hookwire"
	"github.com/holdpoint/holdpoint/settle"
)

// The daemon is killed again and again while clients keep asking. Whatever it
// answered must be in its log, and the log must verify after each restart.
func TestKillUnderLoad(t *testing.T) {
	rounds := 50
	if testing.Short() {
		rounds = 4
	}
	dir, err := os.MkdirTemp("", "hp-kill-") //nolint:usetesting // its path is too long for a socket
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	socket, log := filepath.Join(dir, "run", "hook.sock"), filepath.Join(dir, "audit")

	var mu sync.Mutex
	answered := map[string]bool{}
	var held []string // checkpoints of former rounds
	asked := 0
	for round := range rounds {
		var stderr strings.Builder
		cmd := exec.Command(filepath.Join(programs, "holdpoint"), "serve", "--socket", socket, "--audit-dir", log,
			"--audit-sync", "always", "--policy-timeout", "10s", "--failure-policy", "fail-closed")
		cmd.Env = []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH")}
		cmd.Stderr = &stderr
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		dead := make(chan struct{})
		go func() { _ = cmd.Wait(); close(dead) }()
		kill := func() {
			_ = cmd.Process.Kill()
			<-dead
		}
		if !pollSocket(socket, dead) {
			kill()
			t.Fatalf("round %d: no daemon\n%s", round, stderr.String())
		}
		cp, err := verifyLog(t.Context(), log, held)
		if err != nil {
			kill()
			t.Fatalf("round %d: %v\n%s", round, err, stderr.String())
		}
		if cp != "" {
			held = append(held, cp)
			held = held[max(0, len(held)-5):]
		}

		var wg sync.WaitGroup
		enough := make(chan struct{})
		var once sync.Once
		got := 0
		target := 1 + rand.IntN(60)
		for c := range 8 {
			wg.Go(func() {
				for i := 0; ; i++ {
					id := fmt.Sprintf("call-%d-%d-%d", round, c, i)
					if !askOnce(socket, id) {
						return // it was killed
					}
					mu.Lock()
					answered[id] = true
					if got++; got >= target {
						once.Do(func() { close(enough) })
					}
					mu.Unlock()
				}
			})
		}
		select {
		case <-enough:
		case <-time.After(30 * time.Second):
			t.Errorf("round %d: the daemon does not answer", round)
		}
		kill()
		wg.Wait()
		asked += got
		if t.Failed() {
			t.FailNow()
		}
	}
	cp, err := verifyLog(t.Context(), log, held)
	if err != nil {
		t.Fatal(err)
	}
	if cp == "" {
		t.Error("no checkpoint was ever signed")
	}
	recorded, err := recordedCalls(t.Context(), log)
	if err != nil {
		t.Fatal(err)
	}
	missing := 0
	for id := range answered {
		if !recorded[id] {
			missing++
			if missing <= 5 {
				t.Errorf("%s was answered and is not in the log", id)
			}
		}
	}
	t.Logf("%d kills, %d answers, %d records, %d missing", rounds, len(answered), len(recorded), missing)
	if len(answered) < rounds {
		t.Errorf("only %d answers in %d rounds", len(answered), rounds)
	}
}

// pollSocket waits until somebody accepts on the socket.
func pollSocket(socket string, dead <-chan struct{}) bool {
	deadline := time.Now().Add(30 * time.Second)
	for time.Now().Before(deadline) {
		select {
		case <-dead:
			return false
		default:
		}
		if c, err := net.Dial("unix", socket); err == nil {
			c.Close()
			return true
		}
		time.Sleep(2 * time.Millisecond) // a poll
	}
	return false
}

// askOnce reports whether a whole answer came.
func askOnce(socket, id string) bool {
	c, err := net.Dial("unix", socket)
	if err != nil {
		return false
	}
	defer c.Close()
	payload, err := json.Marshal(map[string]any{
		"session_id": "s", "cwd": "/home/dev/repo", "hook_event_name": "PreToolUse", "tool_name": "Bash",
		"tool_input": map[string]any{"command": "git push --force"}, "tool_use_id": id, "transcript_path": "/x",
	})
	if err != nil {
		return false
	}
	frame, err := hookwire.AppendRequest(nil, &hookwire.Request{
		Header:  hookwire.Header{Agent: hookwire.AgentClaudeCode, Event: "PreToolUse", BudgetMs: 20_000},
		Payload: payload,
	})
	if err != nil {
		return false
	}
	if _, err := c.Write(frame); err != nil {
		return false
	}
	a, err := hookwire.ReadAnswer(c)
	return err == nil && a.Status == hookwire.StatusAnswer
}

// verifyLog verifies the log against the checkpoints that we hold, and returns its
// newest one, or "" while there is none.
func verifyLog(ctx context.Context, dir string, held []string) (string, error) {
	r, err := sqlite.OpenReadOnly(ctx, dir)
	if err != nil {
		return "", err
	}
	defer r.Close()
	report, err := r.Verify(ctx, audit.Trust{Checkpoints: held})
	if err != nil {
		return "", err
	}
	if !report.OK() {
		return "", fmt.Errorf("verification: %v", report.Problems)
	}
	cp, err := r.Checkpoint(ctx)
	if errors.Is(err, audit.ErrNoCheckpoint) {
		return "", nil
	}
	return cp.Note, err
}

func recordedCalls(ctx context.Context, dir string) (map[string]bool, error) {
	r, err := sqlite.OpenReadOnly(ctx, dir)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	calls := map[string]bool{}
	f := audit.Filter{Kinds: []audit.Kind{audit.Settlement}, Limit: 1000}
	for {
		n := 0
		for rec, err := range r.Query(ctx, f) {
			if err != nil {
				return nil, err
			}
			s, err := settle.ParseRecord(rec.Data)
			if err != nil {
				return nil, err
			}
			calls[s.CallID] = true
			f.From = rec.ID + 1
			n++
		}
		if n == 0 {
			return calls, nil
		}
	}
}
