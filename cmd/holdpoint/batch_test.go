package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
)

// A long batch keeps its order, and a line beyond the limit is passed over.
func TestBatchKeepsOrderAndPassesOverLongLines(t *testing.T) {
	var in strings.Builder
	const n = 2000
	for i := range n {
		if i == 1000 {
			in.WriteString(`{"id":"long","command":"` + strings.Repeat("x", maxBatchLineBytes) + "\"}\n")
		}
		fmt.Fprintf(&in, `{"id":"%d","command":"echo %d","cwd":"/home/dev/r","workspaceRoots":["/home/dev/r"]}`+"\n", i, i)
	}
	var out, errs strings.Builder
	if code := run(t.Context(), []string{"check", "--batch", "-"}, strings.NewReader(in.String()), &out, &errs); code != exitFailed {
		t.Errorf("exit code %d, want %d", code, exitFailed)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != n+1 {
		t.Fatalf("%d lines, want %d", len(lines), n+1)
	}
	if !strings.HasPrefix(lines[1000], `{"line":1001,"error":"longer than`) {
		t.Errorf("the long line is answered with %s", lines[1000])
	}
	for i := range n {
		at := i
		if i >= 1000 {
			at++
		}
		if want := fmt.Sprintf(`{"id":"%d",`, i); !strings.HasPrefix(lines[at], want) {
			t.Fatalf("line %d is %s, want %s", at, lines[at], want)
		}
	}
}

// Output that cannot be written ends the batch.
func TestBatchEndsWithItsReader(t *testing.T) {
	line := `{"id":"a","command":"ls"}` + "\n"
	var errs strings.Builder
	code := run(t.Context(), []string{"check", "--batch", "-"}, io.MultiReader(strings.NewReader(strings.Repeat(line, 5000)), endless{line}), brokenPipe{}, &errs)
	if code != exitFailed || !strings.Contains(errs.String(), "gone") {
		t.Errorf("exit code %d: %s", code, errs.String())
	}
}

type brokenPipe struct{}

func (brokenPipe) Write([]byte) (int, error) { return 0, errors.New("gone") }

type endless struct{ line string }

func (e endless) Read(p []byte) (int, error) { return copy(p, e.line), nil }

func FuzzReadLine(f *testing.F) {
	f.Add([]byte("a\nb\n\nc"), 4)
	f.Add([]byte("\n\n"), 1)
	f.Add([]byte("too long\nshort\n"), 5)
	f.Fuzz(func(t *testing.T, data []byte, limit int) {
		limit = 1 + (limit&0xffff)%4096
		r := bufio.NewReaderSize(bytes.NewReader(data), 16)
		want := bytes.Split(data, []byte("\n"))
		for i := 0; ; i++ {
			line, long, err := readLine(r, limit)
			if i >= len(want) || long != (len(want[i]) > limit) || !long && !bytes.Equal(line, want[i]) {
				t.Fatalf("line %d: %q long %v", i, line, long)
			}
			if err != nil {
				if i != len(want)-1 {
					t.Fatalf("ended at line %d of %d", i, len(want))
				}
				return
			}
		}
	})
}

// FuzzBatchLine: every line gets exactly one line of JSON: an answer, or an error
// with its number.
func FuzzBatchLine(f *testing.F) {
	at := &place{cwd: "/home/dev/r", home: "/home/dev"}
	d, err := at.decider()
	if err != nil {
		f.Fatal(err)
	}
	for _, seed := range []string{
		`{"id":"a","command":"git push --force","cwd":"/home/dev/r","workspaceRoots":["/home/dev/r"]}`,
		`{"id":"a"}`, `{"id":1}`, `[]`, `x`, `{"id":"a","command":"ls","shell":"cmd"}`, `{"id":"a","command":"\ud800"}`,
		`{"id":"a","id":"b","command":"ls"}`, `{"id":"a","command":"ls"} x`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, line []byte) {
		out, bad := batchLine(t.Context(), d, at, 7, line, false)
		var v struct {
			ID       *string
			Line     int
			Error    string
			Decision string
		}
		if bytes.Count(out, []byte("\n")) != 1 || out[len(out)-1] != '\n' || json.Unmarshal(out, &v) != nil {
			t.Fatalf("not one line of JSON: %q", out)
		}
		if bad != (v.Error != "") || bad && v.Line != 7 || !bad && (v.ID == nil || v.Decision != "deny" && v.Decision != "none") {
			t.Fatalf("bad %v: %s", bad, out)
		}
	})
}
