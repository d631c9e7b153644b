package main

import (
	"bufio"
	"bytes"
	"fmt"
	"os/exec"
	"strconv"
	"strings"
)

// durable is rows 12 and 13. They need the log's inner works, so the comparison
// is a benchmark of package audit/sqlite that pairs its rounds itself; here it is
// run, and its figures are judged.
func durable(e *env) (*group, error) {
	cmd := exec.CommandContext(e.ctx, "go", "test", "-run", "^$", "-bench", "^(BenchmarkGroupCommit|BenchmarkDurableAppend)$", "-benchtime", "1x", "./audit/sqlite")
	cmd.Dir = ".."
	out, err := cmd.CombinedOutput()
	if err != nil {
		return nil, fmt.Errorf("go test: %w\n%s", err, out)
	}
	rows := map[string]comparison{
		"BenchmarkGroupCommit":   {row: "12", what: "durable group commit, 32 producers / one transaction each", num: "grouped-ns", den: "single-ns", atLeast: true, gate: 4, stretch: 6},
		"BenchmarkDurableAppend": {row: "13", what: "durable append, log leaf included / fdatasync", num: "append-ns", den: "fdatasync-ns", gate: 2.5, stretch: 1.5},
	}
	g := &group{}
	lines := bufio.NewScanner(bytes.NewReader(out))
	for lines.Scan() {
		words := strings.Fields(lines.Text())
		if len(words) < 2 {
			continue
		}
		name, _, _ := strings.Cut(words[0], "-")
		c, ok := rows[name]
		if !ok {
			continue
		}
		figures := map[string]float64{}
		for i := 2; i+1 < len(words); i += 2 {
			if figures[words[i+1]], err = strconv.ParseFloat(words[i], 64); err != nil {
				return nil, fmt.Errorf("%s: %w", lines.Text(), err)
			}
		}
		r := result{
			Row: c.row, What: c.what, Ratio: spread{figures["x-q1"], figures["x-median"], figures["x-q3"]}, Metric: byWall,
			Ours: figures[c.num], Anchor: figures[c.den], AtLeast: c.atLeast, Gate: c.gate, Stretch: c.stretch, Rounds: 41,
		}
		r.Verdict = c.judge(r.Ratio.Median)
		g.ready = append(g.ready, r)
	}
	if len(g.ready) != len(rows) {
		return nil, fmt.Errorf("expected %d benchmarks in\n%s", len(rows), out)
	}
	return g, nil
}
