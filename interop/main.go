// Command interop runs Holdpoint against other implementations: its Agent Hooks host
// under the test kit of the Python package agent-hooks-sdk, with both timed, and its
// AHP backend and harness with those of the Python package agenthooksprotocol:
//
//	go run . -python VENV/bin/python -holdpoint PATH/holdpoint -docs ../docs/interop.md
//
// It fails when a vector or a scenario fails, when none ran, and when the table in
// the document is not that of the run; -update writes it.
package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "interop:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) error {
	fs := flag.NewFlagSet("interop", flag.ContinueOnError)
	fs.SetOutput(stderr)
	python := fs.String("python", "", "interpreter of an environment that has what requirements.txt names")
	holdpoint := fs.String("holdpoint", "", "the holdpoint program; without one only AHP is run")
	dir := fs.String("scripts", "python", "folder of the Python scripts")
	seconds := fs.Float64("seconds", 1, "time for each measurement; 0 measures nothing")
	docs := fs.String("docs", "", "the document whose table is held against the run")
	update := fs.Bool("update", false, "write the table of the document")
	asBackend := fs.String("as-backend", "", "be a stdio backend that writes this log")
	one := fs.Bool("one", false, "as a backend, end after one message")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if *asBackend != "" {
		return runBackend(ctx, *asBackend, *one)
	}
	if *python == "" {
		return errors.New("-python is required")
	}
	k, err := protocol(ctx, stdout, stderr, *python, *dir)
	if err != nil {
		return err
	}
	if *docs != "" {
		if err := k.document(*docs, *update); err != nil {
			return err
		}
	}
	if *holdpoint == "" {
		return nil // without a host there is nothing for the other kit
	}
	if err := kit(ctx, stdout, stderr, *python, *dir, *holdpoint); err != nil {
		return err
	}
	if *seconds == 0 {
		return nil
	}
	return compare(ctx, stdout, stderr, *python, *dir, *seconds)
}

// A result is one line of run_ctk.py.
type result struct {
	ID       string   `json:"id"`
	Status   string   `json:"status"`
	Detail   string   `json:"detail"`
	Failures []string `json:"failures"`
}

// kit runs the package's own vectors with the package's own runner.
func kit(ctx context.Context, stdout, stderr io.Writer, python, dir, holdpoint string) error {
	out, err := script(ctx, stderr, nil, python, filepath.Join(dir, "run_ctk.py"), holdpoint, "conform", "serve")
	if err != nil {
		return err
	}
	var passed, failed int
	skipped := map[string]int{}
	sc := bufio.NewScanner(bytes.NewReader(out))
	for sc.Scan() {
		var r result
		if err := json.Unmarshal(sc.Bytes(), &r); err != nil {
			return fmt.Errorf("run_ctk.py: %w", err)
		}
		switch r.Status {
		case "pass":
			passed++
		case "skip":
			skipped[r.Detail]++
		default:
			failed++
			fmt.Fprintf(stdout, "FAIL %s: %s\n", r.ID, strings.Join(append(r.Failures, r.Detail), "; "))
		}
	}
	total := 0
	for why, n := range skipped {
		total += n
		fmt.Fprintf(stdout, "skipped %d: %s\n", n, why)
	}
	fmt.Fprintf(stdout, "agent-hooks-sdk on holdpoint's host: %d passed, %d failed, %d skipped\n", passed, failed, total)
	switch {
	case failed > 0:
		return fmt.Errorf("%d vectors fail", failed)
	case passed == 0:
		return errors.New("no vector was run")
	}
	return nil
}

// compare times an emission with one interceptor that allows, of the same
// contexts, in both implementations.
func compare(ctx context.Context, stdout, stderr io.Writer, python, dir string, seconds float64) error {
	sizes := []int{1 << 10, 20 << 10}
	var in bytes.Buffer
	contexts := make([][]byte, len(sizes))
	for i, n := range sizes {
		contexts[i] = sample(n)
		in.Write(append(contexts[i], '\n'))
	}
	out, err := script(ctx, stderr, &in, python, filepath.Join(dir, "bench.py"), strconv.FormatFloat(seconds, 'g', -1, 64))
	if err != nil {
		return err
	}
	lines := strings.Fields(string(out))
	if len(lines) != len(sizes) {
		return fmt.Errorf("bench.py: %d measurements, expected %d", len(lines), len(sizes))
	}
	fmt.Fprintf(stdout, "%-8s %14s %14s %8s\n", "context", "agent-hooks-sdk", "holdpoint", "ratio")
	for i, n := range sizes {
		theirs, err := strconv.ParseFloat(lines[i], 64)
		if err != nil {
			return fmt.Errorf("bench.py: %w", err)
		}
		ours, err := measure(ctx, contexts[i], seconds)
		if err != nil {
			return err
		}
		fmt.Fprintf(stdout, "%-8s %12.1fµs %12.1fµs %7.1fx\n", fmt.Sprintf("%d KB", n>>10), theirs/1e3, ours/1e3, theirs/ours)
	}
	return nil
}

func script(ctx context.Context, stderr io.Writer, stdin io.Reader, python string, args ...string) ([]byte, error) {
	cmd := exec.CommandContext(ctx, python, args...)
	cmd.Stdin, cmd.Stderr = stdin, stderr
	out, err := cmd.Output()
	if err != nil {
		return nil, fmt.Errorf("%s: %w", args[0], err)
	}
	return out, nil
}
