package sqlite_test

import (
	"os"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/holdpoint/holdpoint/audit"
	"github.com/holdpoint/holdpoint/audit/sqlite"
)

// The benchmarks here compare two ways on one machine and in one run, round by
// round, and report the median of the rounds' ratios: absolute times say little
// on a shared machine. Run them with -benchtime=1x for 41 rounds.
const rounds = 41

func benchEntry() audit.Entry {
	e := numbered(1)
	e.Tool, e.Agent, e.Event = "Bash", "claude-code", "PreToolUse-0123456789"
	e.Operation = "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
	e.Data = make([]byte, 1024-len(e.Leaf()))
	return e
}

// pace returns how long n calls of do take, spread over producers.
func pace(b *testing.B, producers, n int, do func() error) time.Duration {
	start := time.Now()
	var wg sync.WaitGroup
	for range producers {
		wg.Go(func() {
			for range n / producers {
				if err := do(); err != nil {
					b.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
	return time.Since(start) / time.Duration(n)
}

// report prints the medians of two series and of their ratio.
func report(b *testing.B, ours, theirs []time.Duration, ourName, theirName string, invert bool) {
	ratios := make([]float64, len(ours))
	for i := range ours {
		ratios[i] = float64(ours[i]) / float64(theirs[i])
		if invert {
			ratios[i] = 1 / ratios[i]
		}
	}
	slices.Sort(ours)
	slices.Sort(theirs)
	slices.Sort(ratios)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(ours[len(ours)/2].Nanoseconds()), ourName+"-ns")
	b.ReportMetric(float64(theirs[len(theirs)/2].Nanoseconds()), theirName+"-ns")
	b.ReportMetric(ratios[len(ratios)/4], "x-q1")
	b.ReportMetric(ratios[len(ratios)/2], "x-median")
	b.ReportMetric(ratios[len(ratios)*3/4], "x-q3")
}

// 32 producers, each waiting for its own entry, with group commit and with one
// transaction for each. Gate: at least 4x.
func BenchmarkGroupCommit(b *testing.B) {
	grouped, single := open(b, stateDir(b)), open(b, stateDir(b))
	single.SetGroup(1)
	e := benchEntry()
	add := func(log *sqlite.Log) func() error {
		return func() error { _, err := log.Append(b.Context(), e); return err }
	}
	for b.Loop() {
		var ours, theirs []time.Duration
		for range rounds {
			ours = append(ours, pace(b, 32, 640, add(grouped)))
			theirs = append(theirs, pace(b, 32, 640, add(single)))
		}
		report(b, ours, theirs, "grouped", "single", true)
	}
}

// One durable append, leaf and tree included, against a write of 1 KB and
// fdatasync. Gate: at most 2.5x.
func BenchmarkDurableAppend(b *testing.B) {
	log := open(b, stateDir(b))
	f, err := os.OpenFile(filepath.Join(b.TempDir(), "plain"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		b.Fatal(err)
	}
	defer f.Close()
	e := benchEntry()
	line := make([]byte, 1024)
	ctx := b.Context()
	for b.Loop() {
		var ours, theirs []time.Duration
		for range rounds {
			ours = append(ours, pace(b, 1, 50, func() error { _, err := log.Append(ctx, e); return err }))
			theirs = append(theirs, pace(b, 1, 50, func() error {
				if _, err := f.Write(line); err != nil {
					return err
				}
				return unix.Fdatasync(int(f.Fd()))
			}))
		}
		report(b, ours, theirs, "append", "fdatasync", false)
	}
}

// What an append costs a decision when nothing waits for the disk.
func BenchmarkBatchAppend(b *testing.B) {
	log := openWith(b, sqlite.Options{Dir: stateDir(b), Sync: audit.Batch})
	e := benchEntry()
	for b.Loop() {
		if _, err := log.Append(b.Context(), e); err != nil {
			b.Fatal(err)
		}
	}
	b.StopTimer()
	if err := log.Close(); err != nil {
		b.Fatal(err)
	}
}

// Verification of 10000 entries of 1 KB.
func BenchmarkVerify(b *testing.B) {
	log := openWith(b, sqlite.Options{Dir: stateDir(b), Sync: audit.Batch})
	const n = 10_000
	for range n {
		if _, err := log.Append(b.Context(), benchEntry()); err != nil {
			b.Fatal(err)
		}
	}
	c, err := log.Checkpoint(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		if r, err := log.Verify(b.Context(), audit.Trust{Checkpoints: []string{c.Note}}); err != nil || !r.OK() || r.KnownTo != n {
			b.Fatal(r, err)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/entry")
	if err := log.Close(); err != nil {
		b.Fatal(err)
	}
}
