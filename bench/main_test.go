package main

import (
	"bytes"
	"math"
	"strings"
	"testing"
)

func TestSpread(t *testing.T) {
	for _, tt := range []struct {
		in   []float64
		want spread
	}{
		{[]float64{5}, spread{5, 5, 5}},
		{[]float64{3, 1, 2}, spread{1.5, 2, 2.5}},
		{[]float64{4, 1, 3, 2}, spread{1.75, 2.5, 3.25}},
	} {
		if got := spreadOf(tt.in); got != tt.want {
			t.Errorf("%v: %v, expected %v", tt.in, got, tt.want)
		}
	}
	if !math.IsNaN(spreadOf(nil).Median) {
		t.Error("nothing has a median")
	}
}

func TestVerdicts(t *testing.T) {
	atMost := comparison{gate: 2, stretch: 1}
	atLeast := comparison{gate: 2, stretch: 4, atLeast: true}
	for _, tt := range []struct {
		c    comparison
		v    float64
		want verdict
	}{
		{atMost, 1, stretch},
		{atMost, 2, pass},
		{atMost, 2.2, over},
		{atMost, 2.4, farOver},
		{atLeast, 4, stretch},
		{atLeast, 2, pass},
		{atLeast, 1.8, over},
		{atLeast, 1.7, farOver},
		{comparison{}, 100, reported},
		{atMost, math.NaN(), farOver},
	} {
		if got := tt.c.judge(tt.v); got != tt.want {
			t.Errorf("gate %v, more is better %v, %v: %q, expected %q", tt.c.gate, tt.c.atLeast, tt.v, got, tt.want)
		}
	}
}

// A ratio is that of one round, not of two medians.
func TestRatiosArePaired(t *testing.T) {
	ours, theirs := []float64{1, 20, 3}, []float64{1, 10, 1}
	series := func(v []float64) func() (sample, error) {
		i := -1 // the first round is thrown away
		return func() (sample, error) {
			i++
			return sample{ns: v[max(i-1, 0)], allocs: math.NaN()}, nil
		}
	}
	g := group{
		targets:  []target{{"ours", series(ours)}, {"theirs", series(theirs)}},
		compares: []comparison{{row: "1", num: "ours", den: "theirs", gate: 2}},
	}
	got, err := g.run(3)
	if err != nil {
		t.Fatal(err)
	}
	if r := got[0]; r.Ratio != (spread{1.5, 2, 2.5}) || r.Ours != 3 || r.Anchor != 1 || r.Verdict != pass {
		t.Errorf("%+v", r)
	}
}

func TestRowsOfTheCommandLine(t *testing.T) {
	for args, want := range map[string]string{
		"-rows 16":    `there is no row "16"`,
		"-rounds 0":   "expected at least 1",
		"-rows 9 now": `unexpected argument "now"`,
	} {
		var out, err bytes.Buffer
		if code := run(t.Context(), strings.Fields(args), &out, &err); code != 2 || !strings.Contains(err.String(), want) {
			t.Errorf("%s: %d, %s", args, code, err.String())
		}
	}
	if all, err := chosen(""); err != nil || len(all) != 19 {
		t.Errorf("%d rows, %v", len(all), err)
	}
}

// Every request of a lane, and of two lanes, has an id of its own.
func TestFramesHaveNewIDs(t *testing.T) {
	f, _, err := kilobyte(denied)
	if err != nil {
		t.Fatal(err)
	}
	if len(f.text) != 1025 || len(f.at) != 2 {
		t.Fatalf("%d bytes with the id at %v", len(f.text), f.at)
	}
	seen := map[string]bool{}
	for lane := range 2 {
		c := f.clone(lane)
		for range 3 {
			seen[string(c.next())] = true
		}
	}
	if len(seen) != 6 {
		t.Errorf("%d different requests of 6", len(seen))
	}
}

// A row that can be measured anywhere is, and the report holds it.
func TestOneRow(t *testing.T) {
	var out, errs bytes.Buffer
	if code := run(t.Context(), []string{"-rows", "9", "-rounds", "1"}, &out, &errs); code != 0 {
		t.Fatalf("%d: %s", code, errs.String())
	}
	if n := strings.Count(out.String(), "gowebpki/jcs / identity"); n != 4 {
		t.Errorf("%d lines of row 9 in\n%s", n, out.String())
	}
}

// What revision draft is measured by in one process answers and settles as expected.
func TestDraftInProcess(t *testing.T) {
	e := &env{ctx: t.Context()}
	var hs harnesses
	defer hs.close(e.ctx)
	var g group
	if err := draftLocal(e, &g, &hs); err != nil {
		t.Fatal(err)
	}
	if err := draftSettle(&g); err != nil {
		t.Fatal(err)
	}
	results, err := g.run(1)
	if err != nil {
		t.Fatal(err)
	}
	if len(results) != 18 {
		t.Errorf("%d lines", len(results))
	}
	for _, r := range results {
		if !(r.Ratio.Median > 0) || r.Row != "draft" {
			t.Errorf("%+v", r)
		}
	}
}
