package sqlite_test

import (
	"bufio"
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/holdpoint/holdpoint/audit"
	"github.com/holdpoint/holdpoint/audit/sqlite"
)

func TestOptions(t *testing.T) {
	_, err := sqlite.Open(t.Context(), sqlite.Options{MaxBytes: -1})
	for _, want := range []string{"dir: required", `sync: "", want "always" or "batch"`, "max bytes: -1 is negative"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %q", err, want)
		}
	}
}

func TestModes(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("Windows has no mode bits")
	}
	dir := stateDir(t)
	log := open(t, dir)
	if _, err := log.Append(t.Context(), numbered(0)); err != nil {
		t.Fatal(err)
	}
	want := map[string]os.FileMode{
		".": 0o700, "audit.db": 0o600, "audit.db-wal": 0o600, "audit.db-shm": 0o600, "audit.key": 0o600, "audit.lock": 0o600,
	}
	for name, mode := range want {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode().Perm() != mode {
			t.Errorf("%s: %v, %v, want %v", name, info, err, mode)
		}
	}
	if err := log.Close(); err != nil {
		t.Fatal(err)
	}
	refused := func(what, want string) {
		t.Helper()
		if _, err := sqlite.Open(t.Context(), sqlite.Options{Dir: dir, Sync: audit.Always}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: open: %v, want %q", what, err, want)
		}
		if _, err := sqlite.OpenReadOnly(t.Context(), dir); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: open for reading: %v, want %q", what, err, want)
		}
	}
	for _, name := range []string{".", "audit.db", "audit.key", "audit.lock"} {
		path := filepath.Join(dir, name)
		if err := os.Chmod(path, want[name]|0o040); err != nil {
			t.Fatal(err)
		}
		refused(name, "lets others in")
		if err := os.Chmod(path, want[name]); err != nil {
			t.Fatal(err)
		}
	}
	db := filepath.Join(dir, "audit.db")
	if err := errors.Join(os.Rename(db, db+".real"), os.Symlink(db+".real", db)); err != nil {
		t.Fatal(err)
	}
	refused("a link", "not a plain file")
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(dir, link); err != nil {
		t.Fatal(err)
	}
	dir = link
	refused("a linked folder", "not a folder")
}

// A path may hold what means something in a URI.
func TestOddPath(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a b?c#d%41&mode=memory")
	log := open(t, dir)
	if _, err := log.Append(t.Context(), numbered(0)); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(dir, "audit.db")); err != nil {
		t.Error(err)
	}
}

func TestNewer(t *testing.T) {
	s := newScene(t)
	for _, tt := range []struct {
		pragma string
		want   error
	}{
		{"PRAGMA user_version = 2", audit.ErrNewer},
		{"PRAGMA user_version = 0", audit.ErrCorrupt},
		{"PRAGMA application_id = 1", audit.ErrCorrupt},
	} {
		db := s.db(t)
		if _, err := db.ExecContext(t.Context(), tt.pragma); err != nil {
			t.Fatal(err)
		}
		if err := db.Close(); err != nil {
			t.Fatal(err)
		}
		_, errWrite := sqlite.Open(t.Context(), sqlite.Options{Dir: s.dir, Sync: audit.Always})
		_, errRead := sqlite.OpenReadOnly(t.Context(), s.dir)
		if !errors.Is(errWrite, tt.want) || !errors.Is(errRead, tt.want) {
			t.Errorf("%s: %v; %v", tt.pragma, errWrite, errRead)
		}
	}
}

func TestNotADatabase(t *testing.T) {
	s := newScene(t)
	if err := os.WriteFile(filepath.Join(s.dir, "audit.db"), []byte(strings.Repeat("no database\n", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := sqlite.Open(t.Context(), sqlite.Options{Dir: s.dir, Sync: audit.Always}); !errors.Is(err, audit.ErrCorrupt) {
		t.Errorf("got %v", err)
	}
}

func TestNothingToRead(t *testing.T) {
	dir := stateDir(t)
	if _, err := sqlite.OpenReadOnly(t.Context(), dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("reading made a folder: %v", err)
	}
}

func TestReopen(t *testing.T) {
	dir := stateDir(t)
	var held []string
	for round := range 5 {
		log := open(t, dir)
		for i := range 7 {
			id, err := log.Append(t.Context(), numbered(round*7+i))
			if err != nil || id != audit.ID(round*7+i) {
				t.Fatalf("%d, %v", id, err)
			}
		}
		if err := log.Close(); err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"audit.db-wal", "audit.db-shm"} {
			if _, err := os.Stat(filepath.Join(dir, name)); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("%s after close: %v", name, err)
			}
		}
		ro, err := sqlite.OpenReadOnly(t.Context(), dir)
		if err != nil {
			t.Fatal(err)
		}
		c, err := ro.Checkpoint(t.Context()) // signed by Close
		if err != nil || c.Size != int64(round+1)*7 {
			t.Errorf("%+v, %v", c, err)
		}
		held = append(held, c.Note)
		r, err := ro.Verify(t.Context(), audit.Trust{Checkpoints: held})
		if err != nil || !r.OK() || r.KnownTo != audit.ID(c.Size) {
			t.Errorf("%+v, %v", r, err)
		}
		if err := ro.Close(); err != nil {
			t.Error(err)
		}
	}
}

// Another process that writes is named; one that reads is let in, sees what is
// written, and does not disturb the writer.
func TestTwoProcesses(t *testing.T) {
	dir := stateDir(t)
	child := startChild(t, "hold", dir)
	in := bufio.NewScanner(child.stdout)
	if !in.Scan() || in.Text() != "ready" {
		t.Fatalf("child said %q", in.Text())
	}
	_, err := sqlite.Open(t.Context(), sqlite.Options{Dir: dir, Sync: audit.Always})
	var locked *audit.LockedError
	if !errors.As(err, &locked) || locked.PID != child.cmd.Process.Pid {
		t.Errorf("got %v, want process %d", err, child.cmd.Process.Pid)
	}
	ro, err := sqlite.OpenReadOnly(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for r, err := range ro.Follow(t.Context(), audit.Filter{Limit: 5}) {
		if err != nil || r.ID != audit.ID(n) {
			t.Fatalf("%v, %v", r.ID, err)
		}
		n++
		child.tell(t, "append")
	}
	if n != 5 {
		t.Errorf("followed %d", n)
	}
	if r, err := ro.Verify(t.Context(), audit.Trust{}); err != nil || !r.OK() || r.Size < 5 {
		t.Errorf("%+v, %v", r, err)
	}
	if err := ro.Close(); err != nil {
		t.Error(err)
	}
	child.stdin.Close()
	if err := child.cmd.Wait(); err != nil {
		t.Errorf("child: %v\n%s", err, child.stderr)
	}
	log := open(t, dir) // the lock went with the process
	if stat, err := log.Stat(t.Context()); err != nil || stat.Size != 5 && stat.Size != 6 {
		t.Errorf("%+v, %v", stat, err)
	}
}

// A slow reader holds no transaction, so the WAL is still taken in.
func TestSlowReader(t *testing.T) {
	dir := stateDir(t)
	log := open(t, dir)
	for i := range 5 {
		if _, err := log.Append(t.Context(), numbered(i)); err != nil {
			t.Fatal(err)
		}
	}
	for _, err := range log.Query(t.Context(), audit.Filter{}) {
		if err != nil {
			t.Fatal(err)
		}
		db, err := sql.Open("sqlite", filepath.Join(dir, "audit.db"))
		if err != nil {
			t.Fatal(err)
		}
		var busy, logged, done int
		if err := db.QueryRowContext(t.Context(), "PRAGMA wal_checkpoint(TRUNCATE)").Scan(&busy, &logged, &done); err != nil || busy != 0 {
			t.Errorf("busy %d, %v", busy, err)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
		break
	}
}
