package audit_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/holdpoint/holdpoint/audit"
)

// ripe ends a spool's grace at once.
const ripe = time.Nanosecond

func spoolLine(i int) string {
	return fmt.Sprintf("%-*d\n", audit.SpoolLineBytes-1, i)
}

func writeSpool(t *testing.T, path, text string) {
	t.Helper()
	f, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.WriteString(text)
	if err := errors.Join(err, f.Close()); err != nil {
		t.Fatal(err)
	}
}

func fromLine(l audit.SpoolLine) audit.Entry {
	e := audit.Entry{Version: 3, Kind: audit.Fallback, Decision: "deny", Data: bytes.TrimRight(l.Data, " ")}
	if l.Torn {
		e.Flags = []string{"torn"}
	}
	return e
}

// stored lists what a log holds: each entry's data, torn ones in brackets.
func stored(t *testing.T, log audit.Log) []string {
	t.Helper()
	var out []string
	for r, err := range log.Query(t.Context(), audit.Filter{Limit: audit.MaxLimit}) {
		if err != nil {
			t.Fatal(err)
		}
		text := strings.TrimRight(string(r.Data), " ")
		if len(r.Flags) > 0 {
			text = "[" + text + "]"
		}
		out = append(out, text)
	}
	return out
}

func newMemory(t *testing.T) *audit.Memory {
	t.Helper()
	log, err := audit.NewMemory(0)
	if err != nil {
		t.Fatal(err)
	}
	return log
}

func TestSpool(t *testing.T) {
	l := spoolLine
	half := strings.Repeat("h", 100)
	for _, tt := range []struct {
		name, text string
		want       []string
	}{
		{"nothing", "", nil},
		{"three lines", l(1) + l(2) + l(3), []string{"1", "2", "3"}},
		{"torn at the end", l(1) + half, []string{"1", "[" + half + "]"}},
		{"torn in the middle", l(1) + half + l(2), []string{"1", "[" + half + "]", "2"}},
		{"torn at the start", half + l(1), []string{"[" + half + "]", "1"}},
		{"short lines", "a\nb\n" + l(1), []string{"[a]", "[b]", "1"}},
		{"a line too long", half + half + half + "\n" + l(1), []string{"[" + half[:45] + "]", half + half + half[:55], "1"}},
		{"a line without its newline", l(1)[:255], []string{"[1]"}},
		{"only a newline", "\n", []string{"[]"}},
		{"long and not a line", strings.Repeat("x", 5000), []string{"[" + strings.Repeat("x", 4096) + "]", "[" + strings.Repeat("x", 904) + "]"}},
		{
			"lines after much that is none", strings.Repeat("x", 9000) + l(1) + l(2),
			[]string{"[" + strings.Repeat("x", 4096) + "]", "[" + strings.Repeat("x", 4096) + "]", "[" + strings.Repeat("x", 808) + "]", "1", "2"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			log := newMemory(t)
			path := filepath.Join(t.TempDir(), "spool")
			writeSpool(t, path, tt.text)
			got, err := audit.IngestSpool(t.Context(), log, path, audit.SpoolOptions{Entry: fromLine, Grace: ripe})
			if err != nil {
				t.Fatal(err)
			}
			if s := stored(t, log); fmt.Sprint(s) != fmt.Sprint(tt.want) {
				t.Errorf("got %.100q, want %.100q", s, tt.want)
			}
			if got.Lines+got.Torn != len(tt.want) || got.Kept != 0 {
				t.Errorf("%+v", got)
			}
			if files, err := os.ReadDir(filepath.Dir(path)); err != nil || len(files) != 0 {
				t.Errorf("left: %v, %v", files, err)
			}
		})
	}
}

func TestSpoolMissing(t *testing.T) {
	for _, path := range []string{filepath.Join(t.TempDir(), "spool"), filepath.Join(t.TempDir(), "no", "spool")} {
		if got, err := audit.IngestSpool(t.Context(), newMemory(t), path, audit.SpoolOptions{}); err != nil || got != (audit.Ingested{}) {
			t.Errorf("%+v, %v", got, err)
		}
	}
}

// A spool of many lines, longer than what is read at once.
func TestSpoolLong(t *testing.T) {
	log := newMemory(t)
	path := filepath.Join(t.TempDir(), "spool")
	var text strings.Builder
	for i := range 1000 {
		if i%100 == 50 {
			text.WriteString("torn")
		}
		text.WriteString(spoolLine(i))
	}
	writeSpool(t, path, text.String())
	got, err := audit.IngestSpool(t.Context(), log, path, audit.SpoolOptions{Entry: fromLine, Grace: ripe})
	if err != nil || got.Lines != 1000 || got.Torn != 10 {
		t.Errorf("%+v, %v", got, err)
	}
	if n := len(stored(t, log)); n != 1010 {
		t.Errorf("%d entries", n)
	}
}

// A client that had the file open before it was taken still gets its line in,
// and nothing comes twice.
func TestSpoolGrace(t *testing.T) {
	log := newMemory(t)
	path := filepath.Join(t.TempDir(), "spool")
	late, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	writeSpool(t, path, spoolLine(1)+"half")
	o := audit.SpoolOptions{Entry: fromLine, Grace: time.Hour}
	for range 2 {
		if got, err := audit.IngestSpool(t.Context(), log, path, o); err != nil || got.Kept != 1 || got.Torn != 0 {
			t.Fatalf("%+v, %v", got, err)
		}
	}
	writeSpool(t, path, spoolLine(3)) // a new file by now
	if _, err := late.WriteString(spoolLine(2)); err != nil {
		t.Fatal(err)
	}
	if err := late.Close(); err != nil {
		t.Fatal(err)
	}
	o.Grace = ripe
	if got, err := audit.IngestSpool(t.Context(), log, path, o); err != nil || got.Kept != 0 {
		t.Fatalf("%+v, %v", got, err)
	}
	if s := fmt.Sprint(stored(t, log)); s != "[1 [half] 2 3]" {
		t.Errorf("got %s", s)
	}
}

// failing is a log that stops at a given call, as a killed process does, before
// or after the call had its effect.
type failing struct {
	audit.Log
	left  int
	after bool
}

var errKilled = errors.New("killed")

func (f *failing) Append(ctx context.Context, e audit.Entry) (audit.ID, error) {
	if f.left--; f.left < 0 && !f.after {
		return 0, errKilled
	}
	id, err := f.Log.Append(ctx, e)
	if f.left < 0 {
		return 0, errKilled
	}
	return id, err
}

func (f *failing) Checkpoint(ctx context.Context) (audit.Checkpoint, error) {
	if f.left--; f.left < 0 {
		return audit.Checkpoint{}, errKilled
	}
	return f.Log.Checkpoint(ctx)
}

// Stopped at any point and called again, every line is in the log once.
func TestSpoolStopped(t *testing.T) {
	for stop := range 8 {
		for _, after := range []bool{false, true} {
			log := newMemory(t)
			path := filepath.Join(t.TempDir(), "spool")
			writeSpool(t, path, spoolLine(1)+"half"+spoolLine(2))
			_, err := audit.IngestSpool(t.Context(), &failing{log, stop, after}, path, audit.SpoolOptions{Entry: fromLine, Grace: ripe})
			if (stop < 4) != errors.Is(err, errKilled) {
				t.Fatalf("stop %d: %v", stop, err)
			}
			writeSpool(t, path, spoolLine(3))
			if _, err := audit.IngestSpool(t.Context(), log, path, audit.SpoolOptions{Entry: fromLine, Grace: ripe}); err != nil {
				t.Fatal(err)
			}
			if s := fmt.Sprint(stored(t, log)); s != "[1 [half] 2 3]" {
				t.Errorf("stop %d, after %t: got %s", stop, after, s)
			}
		}
	}
}

// A line of which no valid entry can be made is kept as it is.
func TestSpoolUnreadable(t *testing.T) {
	for name, entry := range map[string]func(audit.SpoolLine) audit.Entry{
		"no function":   nil,
		"zero entry":    func(audit.SpoolLine) audit.Entry { return audit.Entry{} },
		"reserved kind": func(audit.SpoolLine) audit.Entry { return audit.PruningEntry(0, "") },
		"bad column":    func(l audit.SpoolLine) audit.Entry { e := fromLine(l); e.Tool = "\n"; return e },
	} {
		log := newMemory(t)
		path := filepath.Join(t.TempDir(), "spool")
		writeSpool(t, path, spoolLine(1))
		if _, err := audit.IngestSpool(t.Context(), log, path, audit.SpoolOptions{Entry: entry, Grace: ripe}); err != nil {
			t.Fatal(err)
		}
		for r, err := range log.Query(t.Context(), audit.Filter{}) {
			if err != nil || r.Kind != audit.Fallback || string(r.Data)+"\n" != spoolLine(1) || r.Flags[0] != "unreadable" {
				t.Errorf("%s: %+v, %v", name, r, err)
			}
		}
		if n := len(stored(t, log)); n != 1 {
			t.Errorf("%s: %d entries", name, n)
		}
	}
}

func TestSpoolRefused(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no mode bits")
	}
	log := newMemory(t)
	dir := t.TempDir()
	refused := func(path, want string) {
		t.Helper()
		_, err := audit.IngestSpool(t.Context(), log, path, audit.SpoolOptions{Grace: ripe})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
	open := filepath.Join(dir, "open")
	writeSpool(t, open, spoolLine(1))
	if err := os.Chmod(open, 0o620); err != nil {
		t.Fatal(err)
	}
	refused(open, "lets others in")
	link := filepath.Join(dir, "link")
	if err := os.Symlink(open, link); err != nil {
		t.Fatal(err)
	}
	refused(link, "not a plain file")
	taken := filepath.Join(dir, "s")
	if err := os.Symlink(open, taken+".1-2.taken"); err != nil {
		t.Fatal(err)
	}
	refused(taken, "not a plain file")
	if n := len(stored(t, log)); n != 0 {
		t.Errorf("%d entries", n)
	}
}
