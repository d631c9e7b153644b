// Command bench measures Holdpoint beside its physical limits and beside what
// one would use instead. Each figure is taken in the same run as its anchor,
// block by block in turn, and judged by the median of the rounds' ratios.
//
//	go run .                       every row
//	go run . -rows 1,2,rules       some rows
//	go run . -quick                few rounds, for continuous integration
//	go run . -gate                 fail on rows that miss their gate twice
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// A job sets up one group and names the rows that it yields.
type job struct {
	rows  []string
	setUp func(*env) (*group, error)
}

var jobs = []job{
	{[]string{"1"}, stdio},
	{[]string{"2", "3", "4", "5", "6"}, overHTTP},
	{[]string{"e2e"}, endToEnd},
	{[]string{"draft"}, draft},
	{[]string{"7", "8", "14"}, spawns},
	{[]string{"9"}, identities},
	{[]string{"10"}, embedded},
	{[]string{"11"}, shellFacts},
	{[]string{"12", "13"}, durable},
	{[]string{"15"}, memory},
	{[]string{"rules"}, ruleCounts},
	{[]string{"emit"}, emissions},
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}

// errMissed reports rows that missed their gate by more than the slack twice.
var errMissed = errors.New("worse than the gate by more than 15 % in two runs in a row")

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	fl := flag.NewFlagSet("bench", flag.ContinueOnError)
	fl.SetOutput(stderr)
	rows := fl.String("rows", "", "comma-separated `rows`: 1 to 15, e2e, draft, rules, emit; default all")
	rounds := fl.Int("rounds", 25, "rounds; a figure to rely on takes 20 or more")
	quick := fl.Bool("quick", false, "few rounds and short slices")
	gate := fl.Bool("gate", false, "exit with status 1 on rows that miss their gate by more than 15 % in two runs in a row")
	file := fl.String("json", "", "write the results to this `file`")
	if err := fl.Parse(args); err != nil {
		return 2
	}
	if *quick && !given(fl, "rounds") {
		*rounds = 5
	}
	want, err := chosen(*rows)
	switch {
	case err == nil && *rounds < 1:
		err = fmt.Errorf("-rounds: %d, expected at least 1", *rounds)
	case err == nil && fl.NArg() > 0:
		err = fmt.Errorf("unexpected argument %q", fl.Arg(0))
	}
	if err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		return 2
	}
	b := &bench{rounds: *rounds, quick: *quick, stdout: stdout, stderr: stderr}
	if err := b.all(ctx, want, *gate, *file); err != nil {
		fmt.Fprintln(stderr, "bench:", err)
		return 1
	}
	return 0
}

func given(fl *flag.FlagSet, name string) (yes bool) {
	fl.Visit(func(f *flag.Flag) { yes = yes || f.Name == name })
	return yes
}

// chosen turns -rows into a set; empty means every row.
func chosen(list string) (map[string]bool, error) {
	known := map[string]bool{}
	for _, j := range jobs {
		for _, r := range j.rows {
			known[r] = true
		}
	}
	if list == "" {
		return known, nil
	}
	want := map[string]bool{}
	for r := range strings.SplitSeq(list, ",") {
		if !known[r] {
			return nil, fmt.Errorf("-rows: there is no row %q", r)
		}
		want[r] = true
	}
	return want, nil
}

// A bench is one call of the command.
type bench struct {
	rounds         int
	quick          bool
	stdout, stderr io.Writer
}

// all measures the wanted rows, prints them, and with gate measures again what
// missed its gate by more than the slack.
func (b *bench) all(ctx context.Context, want map[string]bool, gate bool, file string) (err error) {
	e, err := newEnv(ctx, b.quick)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, e.close()) }()
	began := time.Now()
	results, failed := b.measure(e, want)
	fmt.Fprintf(b.stdout, "\n%s %s/%s, %d CPUs, %d rounds, %s\n", runtime.Version(), runtime.GOOS, runtime.GOARCH, runtime.NumCPU(), b.rounds, time.Since(began).Round(time.Second))
	if file != "" {
		if err := writeResults(file, results); err != nil {
			return errors.Join(failed, err)
		}
	}
	again := missed(results)
	if !gate || failed != nil || len(again) == 0 {
		return failed
	}
	fmt.Fprintf(b.stdout, "\nMissed by more than 15 %%; once more:\n")
	rows := map[string]bool{}
	for _, r := range again {
		rows[r.Row] = true
	}
	second, failed := b.measure(e, rows)
	if failed != nil {
		return failed
	}
	var errs []error
	for _, r := range missed(second) {
		if slices.ContainsFunc(again, func(a result) bool { return a.Row == r.Row && a.What == r.What }) {
			errs = append(errs, fmt.Errorf("row %s, %s: %w", r.Row, r.What, errMissed))
		}
	}
	return errors.Join(errs...)
}

func missed(results []result) (out []result) {
	for _, r := range results {
		if r.Verdict == farOver {
			out = append(out, r)
		}
	}
	return out
}

// measure runs the groups of the wanted rows and prints each as it is ready. A
// row that cannot be measured here is an error, and the others still run.
func (b *bench) measure(e *env, want map[string]bool) (all []result, err error) {
	var errs []error
	printHead(b.stdout)
	for _, j := range jobs {
		if !slices.ContainsFunc(j.rows, func(r string) bool { return want[r] }) {
			continue
		}
		results, err := b.one(e, j)
		if err != nil {
			errs = append(errs, fmt.Errorf("rows %s: %w", strings.Join(j.rows, ", "), err))
			if e.ctx.Err() != nil {
				break
			}
		}
		for _, r := range results {
			if want[r.Row] {
				all = append(all, r)
				printResult(b.stdout, r)
			}
		}
	}
	return all, errors.Join(errs...)
}

func (b *bench) one(e *env, j job) ([]result, error) {
	g, err := j.setUp(e)
	if err != nil {
		return nil, err
	}
	if g.close != nil {
		defer g.close()
	}
	for _, m := range g.missing {
		fmt.Fprintln(b.stdout, "not measured:", m)
	}
	results, err := g.run(b.rounds)
	if err != nil {
		return nil, err
	}
	return append(results, g.ready...), nil
}

func writeResults(file string, results []result) error {
	text, err := json.MarshalIndent(results, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}
