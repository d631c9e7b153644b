package main

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"sync"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/gateway"
	"github.com/holdpoint/holdpoint/policy"
	"github.com/holdpoint/holdpoint/shell"
)

// maxBatchLineBytes bounds one line of a batch. A longer one is answered with an
// error, and the batch goes on behind it.
const maxBatchLineBytes = 8 << 20

// A batchEntry is one line of a batch. Other members are ignored.
type batchEntry struct {
	ID             string   `json:"id"`
	Command        *string  `json:"command"`
	CWD            string   `json:"cwd"`
	WorkspaceRoots []string `json:"workspaceRoots"`
	Home           string   `json:"home"`
	Shell          string   `json:"shell"`
}

// A batchResult is what is written for it.
type batchResult struct {
	ID          string   `json:"id"`
	Decision    string   `json:"decision"`
	Hazards     []string `json:"hazards"`
	Undecidable bool     `json:"undecidable"`
	Rules       []string `json:"rules"`
	Changed     bool     `json:"changed,omitzero"` // rules change the command; docs/policy.md
}

// A batchError is written for a line that could not be answered.
type batchError struct {
	ID    string `json:"id,omitzero"`
	Line  int    `json:"line"`
	Error string `json:"error"`
}

// checkBatch answers the lines of a file in their order, as many at a time as
// there are processors, and holds no more than a few lines for each in memory.
func (a *app) checkBatch(ctx context.Context, d *gateway.Decider, at *place, name string) error {
	in, err := a.openInput(ctx, name)
	if err != nil {
		return err
	}
	defer in.Close()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()

	type job struct {
		n    int
		line []byte
		long bool
		out  chan []byte
		bad  bool
	}
	workers := runtime.GOMAXPROCS(0)
	todo := make(chan *job, workers)
	ordered := make(chan *job, 4*workers)
	var wg sync.WaitGroup
	for range workers {
		wg.Go(func() {
			for j := range todo {
				line, bad := batchLine(ctx, d, at, j.n, j.line, j.long)
				j.bad = bad
				j.out <- line
			}
		})
	}
	var readErr error
	wg.Go(func() {
		defer close(ordered)
		defer close(todo)
		r := bufio.NewReaderSize(in, 64<<10)
		for n := 1; ; n++ {
			line, long, err := readLine(r, maxBatchLineBytes)
			if len(bytes.TrimSpace(line)) > 0 || long {
				j := &job{n: n, line: line, long: long, out: make(chan []byte, 1)}
				select {
				case ordered <- j:
				case <-ctx.Done():
					return
				}
				todo <- j
			}
			if err != nil {
				if !errors.Is(err, io.EOF) {
					readErr = err
				}
				return
			}
		}
	})
	w := bufio.NewWriterSize(a.out, 64<<10)
	failures := 0
	var writeErr error
	for j := range ordered {
		line := <-j.out
		if j.bad {
			failures++
		}
		if writeErr == nil {
			if _, writeErr = w.Write(line); writeErr == nil && len(ordered) == 0 {
				writeErr = w.Flush() // whoever reads along sees each answer
			}
			if writeErr != nil {
				cancel()
			}
		}
	}
	wg.Wait()
	if flushErr := w.Flush(); writeErr == nil {
		writeErr = flushErr
	}
	switch err := errors.Join(readErr, writeErr); {
	case err != nil:
		return fmt.Errorf("batch: %w", err)
	case ctx.Err() != nil:
		return fmt.Errorf("batch: %w", errInterrupted)
	case failures == 1:
		return errors.New("batch: 1 line could not be answered")
	case failures > 1:
		return fmt.Errorf("batch: %d lines could not be answered", failures)
	}
	return nil
}

// batchLine answers one line. The second result is true for an error line.
func batchLine(ctx context.Context, d *gateway.Decider, at *place, n int, line []byte, long bool) ([]byte, bool) {
	fail := func(id, msg string) ([]byte, bool) { return encodeLine(batchError{ID: id, Line: n, Error: msg}), true }
	if long {
		return fail("", fmt.Sprintf("longer than %d bytes", maxBatchLineBytes))
	}
	var e batchEntry
	if err := json.Unmarshal(line, &e); err != nil {
		var syn *jsontext.SyntacticError
		var sem *json.SemanticError
		switch {
		case errors.As(err, &syn):
			return fail("", fmt.Sprintf("not one JSON object: byte %d", syn.ByteOffset))
		case errors.As(err, &sem):
			return fail("", fmt.Sprintf("%s: unexpected JSON type, or not an object", sem.JSONPointer))
		}
		return fail("", "not one JSON object")
	}
	if e.Command == nil {
		return fail(e.ID, "/command: missing, expected a string")
	}
	dialect := shell.Dialect(e.Shell)
	switch dialect {
	case shell.Unknown:
		dialect = shell.Dialect(at.dialect)
	case shell.Bash, shell.Sh, shell.Zsh, shell.PowerShell, shell.Cmd:
	default:
		return fail(e.ID, "/shell: expected one of bash, sh, zsh, powershell, cmd")
	}
	if e.CWD == "" {
		e.CWD = at.cwd
	}
	if e.WorkspaceRoots == nil {
		e.WorkspaceRoots = at.roots
	}
	if e.Home == "" {
		e.Home = batchHome(at, e.CWD)
	}
	dec, _, err := d.DecideAt(ctx, commandEvent(e.ID, *e.Command, e.CWD, e.WorkspaceRoots), gateway.At{Home: e.Home, Dialect: dialect, Elsewhere: elsewhere(e.CWD)})
	if err != nil {
		return fail(e.ID, "no decision could be made: "+err.Error())
	}
	res := batchResult{ID: e.ID, Decision: "none", Hazards: orEmpty(dec.Hazards), Undecidable: dec.Undecidable, Rules: orEmpty(dec.RuleNames())}
	switch {
	case dec.Denied():
		res.Decision = "deny"
	case dec.Effect == policy.EffectAsk:
		res.Decision = "ask"
	}
	res.Changed = len(dec.Changes) > 0
	return encodeLine(res), false
}

// batchHome is the home folder for an entry that names none: --home, or where
// the entry's own working folder lies (/home/NAME, /Users/NAME, C:\Users\NAME),
// since a batch is often about another machine.
func batchHome(at *place, cwd string) string {
	if at.homeGiven {
		return at.home
	}
	if home := homeOf(cwd); home != "" {
		return home
	}
	return at.home
}

func encodeLine(v any) []byte {
	b, err := json.Marshal(v, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		b = []byte(`{"line":0,"error":"could not be written"}`)
	}
	return append(b, '\n')
}

// readLine reads one line without its end. A line longer than limit is skipped,
// and long is true. The error is io.EOF with or behind the last line.
func readLine(r *bufio.Reader, limit int) (line []byte, long bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if !long {
			line = append(line, part...)
			if len(line) > limit+1 {
				line, long = nil, true
			}
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		if line = bytes.TrimSuffix(line, []byte("\n")); len(line) > limit {
			line, long = nil, true
		}
		return line, long, err
	}
}

// commandEvent makes the event of one shell command.
func commandEvent(id, command, cwd string, roots []string) *ahp.Event {
	input, err := json.Marshal(struct {
		Command string `json:"command"`
	}{command}, jsontext.AllowInvalidUTF8(true))
	if err != nil {
		input = nil // an event without input is refused
	}
	if id == "" {
		id = "check"
	}
	return &ahp.Event{
		ID: id, Source: "urn:holdpoint:check", Type: ahp.ToolBefore, Time: "1970-01-01T00:00:00Z",
		Session: ahp.Session{ID: "check", CWD: cwd, WorkspaceRoots: roots},
		Tool:    &ahp.Tool{CallID: "check", Name: "shell", Kind: ahp.KindShell, Input: ahp.Raw(input)},
	}
}

// elsewhere reports whether folder is not on this machine, as with a corpus or the
// log of another one.
func elsewhere(folder string) bool {
	_, err := os.Stat(folder)
	return err != nil
}
