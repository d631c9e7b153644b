package sqlite_test

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/holdpoint/holdpoint/audit"
	"github.com/holdpoint/holdpoint/audit/sqlite"
	"github.com/holdpoint/holdpoint/internal/leak"
)

// The test binary is its own child process: what it does then is named by this
// variable.
const childRole = "HOLDPOINT_TEST_CHILD"

func TestMain(m *testing.M) {
	role, dir := os.Getenv(childRole), os.Getenv(childRole+"_DIR")
	if role == "" {
		os.Exit(leak.Main(m))
	}
	var err error
	switch role {
	case "hold":
		err = childHold(dir)
	case "load":
		err = childLoad(dir)
	case "ingest":
		err = childIngest(dir)
	case "always":
		err = childSteps(dir, audit.Always)
	case "batch":
		err = childSteps(dir, audit.Batch)
	default:
		err = errors.New("no such role")
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

type child struct {
	cmd    *exec.Cmd
	stdin  io.WriteCloser
	stdout io.Reader
	stderr *bytes.Buffer
}

func (c *child) tell(t *testing.T, line string) {
	t.Helper()
	if _, err := io.WriteString(c.stdin, line+"\n"); err != nil {
		t.Fatalf("child: %v\n%s", err, c.stderr)
	}
}

// startChild starts this binary in a role, under the given command if any. The
// caller waits for it.
func startChild(t *testing.T, role, dir string, under ...string) *child {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	argv := append(under, exe)
	c := &child{cmd: exec.CommandContext(t.Context(), argv[0], argv[1:]...), stderr: new(bytes.Buffer)}
	c.cmd.Env = append(os.Environ(), childRole+"="+role, childRole+"_DIR="+dir)
	c.cmd.Stderr = c.stderr
	if c.stdin, err = c.cmd.StdinPipe(); err != nil {
		t.Fatal(err)
	}
	if c.stdout, err = c.cmd.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := c.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return c
}

// childHold holds a log open with one entry, and appends one for each line that
// it is told.
func childHold(dir string) error {
	log, err := sqlite.Open(context.Background(), sqlite.Options{Dir: dir, Sync: audit.Always})
	if err != nil {
		return err
	}
	in := bufio.NewScanner(os.Stdin)
	for i := 0; i == 0 || in.Scan(); i++ {
		if _, err := log.Append(context.Background(), numbered(i)); err != nil {
			return err
		}
		if i == 0 {
			fmt.Println("ready")
		}
	}
	return log.Close()
}

// childLoad appends from many goroutines until it is killed, and prints each ID
// with what it stands for, one line in one write.
func childLoad(dir string) error {
	log, err := sqlite.Open(context.Background(), sqlite.Options{Dir: dir, Sync: audit.Always})
	if err != nil {
		return err
	}
	var wg sync.WaitGroup
	errs := make(chan error, 16)
	for p := range 16 {
		wg.Go(func() {
			for i := 0; ; i++ {
				e := numbered(i)
				e.Data = append(fmt.Appendf(nil, "%d/%d/%d ", os.Getpid(), p, i), make([]byte, 700)...)
				id, err := log.Append(context.Background(), e)
				if err == nil {
					_, err = os.Stdout.WriteString(strconv.FormatInt(int64(id), 10) + " " + string(e.Data[:len(e.Data)-700]) + "\n")
				}
				if err != nil {
					errs <- err
					return
				}
			}
		})
	}
	wg.Wait()
	return <-errs
}

// childIngest takes a spool in again and again until it is killed.
func childIngest(dir string) error {
	log, err := sqlite.Open(context.Background(), sqlite.Options{Dir: dir, Sync: audit.Batch})
	if err != nil {
		return err
	}
	fmt.Println("ready")
	for {
		if _, err := audit.IngestSpool(context.Background(), log, filepath.Join(dir, "spool"), audit.SpoolOptions{Grace: spoolGrace}); err != nil {
			return err
		}
	}
}

// spoolGrace is short, so that spools are removed while the test goes on, but longer
// than most of its own appends.
const spoolGrace = 200 * time.Millisecond

// childSteps appends one entry after the other, with a write to stdout before
// and after each.
func childSteps(dir string, sync audit.Sync) error {
	log, err := sqlite.Open(context.Background(), sqlite.Options{Dir: dir, Sync: sync})
	if err != nil {
		return err
	}
	for i := range steps + 1 {
		if _, err := os.Stdout.WriteString("ask " + strconv.Itoa(i) + "\n"); err != nil {
			return err
		}
		if _, err := log.Append(context.Background(), numbered(i)); err != nil {
			return err
		}
		if i == steps { // the last one is a checkpoint
			if _, err := log.Checkpoint(context.Background()); err != nil {
				return err
			}
		}
		if _, err := os.Stdout.WriteString("answer " + strconv.Itoa(i) + "\n"); err != nil {
			return err
		}
	}
	return log.Close()
}
