package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/holdpoint/holdpoint/ahp"
)

// A direction says who asks whom.
type direction string

// The directions.
const (
	clientToOurs direction = "their harness, our backend"
	oursToServer direction = "our harness, their backend"
)

func directions() []direction { return []direction{clientToOurs, oursToServer} }

// A kitRun is one run of the scenarios with the package agenthooksprotocol.
type kitRun struct {
	python, scripts, self, dir string
	stderr                     io.Writer

	results   map[cell]*tally
	exchanged int
	faults    []error
}

// A cell is one cell of the table.
type cell struct {
	way   direction
	over  carrier
	event ahp.EventType
}

type tally struct{ passed, differs, run int }

// protocol runs every scenario in both directions over every carrier.
func protocol(ctx context.Context, stdout, stderr io.Writer, python, scripts string) (*kitRun, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	dir, err := os.MkdirTemp("", "interop-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }() // a folder that is left behind fails no scenario
	k := &kitRun{python: python, scripts: scripts, self: self, dir: dir, stderr: stderr, results: map[cell]*tally{}}
	for _, over := range carriers() {
		for _, way := range directions() {
			began := time.Now()
			run := k.askOurs
			if way == oursToServer {
				run = k.askTheirs
			}
			if err := run(ctx, over); err != nil {
				return nil, fmt.Errorf("%s, %s: %w", way, over, err)
			}
			fmt.Fprintf(stdout, "%s, %s: %.1f s\n", way, over, time.Since(began).Seconds())
		}
	}
	k.exchange(ctx)
	for _, f := range k.faults {
		fmt.Fprintln(stdout, "FAIL", f)
	}
	n, other := 0, 0
	for _, t := range k.results {
		n += t.passed
		other += t.differs
	}
	fmt.Fprintf(stdout, "agenthooksprotocol: %d scenarios passed, %d differ as listed, %d exchanges, %d faults\n", n, other, k.exchanged, len(k.faults))
	switch {
	case len(k.faults) > 0:
		return nil, errors.New("scenarios fail")
	case n == 0:
		return nil, errors.New("no scenario was run")
	}
	return k, nil
}

// result counts a scenario.
func (k *kitRun) result(way direction, over carrier, s scenario, err error) {
	c := cell{way, over, s.event}
	if k.results[c] == nil {
		k.results[c] = new(tally)
	}
	t := k.results[c]
	t.run++
	rule := differs(way, s)
	switch {
	case rule != "" && err == nil:
		k.fault(way, over, s, fmt.Errorf("is listed as a difference under %s and is none", rule))
	case rule != "":
		t.differs++
	case err != nil:
		k.fault(way, over, s, err)
	default:
		t.passed++
	}
}

func (k *kitRun) fault(way direction, over carrier, s scenario, err error) {
	k.faults = append(k.faults, fmt.Errorf("%s, %s: %s at %s: %w", way, over, s.name, s.event, err))
}

// table writes the counts of a run as Markdown.
func (k *kitRun) table() string {
	var b strings.Builder
	b.WriteString("| Event | Scenarios |")
	for _, d := range directions() {
		for _, c := range carriers() {
			fmt.Fprintf(&b, " %s: %s |", d, c)
		}
	}
	b.WriteString("\n| --- | --- |")
	b.WriteString(strings.Repeat(" --- |", len(directions())*len(carriers())))
	b.WriteString("\n")
	for _, t := range ahp.DraftEvents() {
		var names []string
		for _, s := range scenarios(t) {
			names = append(names, s.name)
		}
		fmt.Fprintf(&b, "| `%s` | %s |", t, strings.Join(names, ", "))
		for _, d := range directions() {
			for _, c := range carriers() {
				n := k.results[cell{d, c, t}]
				if n == nil {
					b.WriteString(" – |")
					continue
				}
				fmt.Fprintf(&b, " %d of %d", n.passed, n.run)
				if n.differs > 0 {
					fmt.Fprintf(&b, ", %d differ", n.differs)
				}
				b.WriteString(" |")
			}
		}
		b.WriteString("\n")
	}
	b.WriteString("\n| Exchange | Rule |\n| --- | --- |\n")
	for _, e := range exchanges() {
		fmt.Fprintf(&b, "| %s | %s |\n", e.name, e.rule)
	}
	return b.String()
}

// The generated part of docs/interop.md stands between these lines.
const (
	tableBegin = "<!-- table: begin -->\n"
	tableEnd   = "<!-- table: end -->\n"
)

// document holds the table in the file against the run, or writes it there.
func (k *kitRun) document(file string, update bool) error {
	old, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	head, rest, ok := strings.Cut(string(old), tableBegin)
	_, tail, ok2 := strings.Cut(rest, tableEnd)
	if !ok || !ok2 {
		return fmt.Errorf("%s has no place for the table", file)
	}
	now := head + tableBegin + "\n" + k.table() + "\n" + tableEnd + tail
	switch {
	case slices.Equal(old, []byte(now)):
		return nil
	case update:
		return os.WriteFile(file, []byte(now), 0o644)
	}
	return fmt.Errorf("%s does not show this run: run with -update", file)
}
