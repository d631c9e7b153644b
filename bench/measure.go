package main

import (
	"fmt"
	"math"
	"slices"
)

// A sample is what one block of one target cost.
type sample struct {
	ns     float64 // wall time of one call, ns
	cpu    float64 // CPU time of the server for one call, ns; 0 where it is not measured
	allocs float64 // allocations of one call; NaN where they are not measured
	bytes  float64 // memory or size, for rows that are not about time
}

// A metric is one figure of a sample.
type metric string

const (
	byWall  metric = "ns"
	byCPU   metric = "cpu ns"
	byBytes metric = "bytes"
)

func (s sample) get(m metric) float64 {
	switch m {
	case byCPU:
		return s.cpu
	case byBytes:
		return s.bytes
	}
	return s.ns
}

// A target is something that is measured, one block at a time.
type target struct {
	name  string
	block func() (sample, error)
}

// A comparison is one line of the report: num over den, or num alone.
type comparison struct {
	row      string
	what     string
	num, den string // targets; without den the figure of num is absolute
	metric   metric // zero is byWall
	unit     string // of an absolute figure, with scale
	scale    float64
	atLeast  bool    // more is better
	gate     float64 // 0: reported only
	stretch  float64
}

// A group is a set of targets that are measured together, round by round.
type group struct {
	targets  []target
	compares []comparison
	ready    []result // figures that were taken elsewhere
	missing  []string // what could not be measured here, and why
	inOrder  bool     // targets depend on the ones before them
	perRound float64  // rounds of this group for one of -rounds; zero is 1
	close    func()
}

// A spread is the median of a series and its quartiles.
type spread struct {
	Q1     float64 `json:"q1"`
	Median float64 `json:"median"`
	Q3     float64 `json:"q3"`
}

func spreadOf(v []float64) spread {
	v = slices.Clone(v)
	slices.Sort(v)
	at := func(p float64) float64 {
		x := p * float64(len(v)-1)
		lo := int(x)
		hi := min(lo+1, len(v)-1)
		return v[lo] + (v[hi]-v[lo])*(x-float64(lo))
	}
	if len(v) == 0 {
		return spread{math.NaN(), math.NaN(), math.NaN()}
	}
	return spread{at(0.25), at(0.5), at(0.75)}
}

// A verdict says how a figure stands to its gate.
type verdict string

const (
	pass     verdict = "pass"
	stretch  verdict = "stretch"  // better than the stretch goal, too
	over     verdict = "over"     // worse than the gate, within the slack
	farOver  verdict = "over 15%" // worse than the gate by more than the slack
	reported verdict = ""         // there is no gate
)

// slack is how much worse than its gate a ratio may be before it counts: on a
// busy machine two runs of the same code differ by that.
const slack = 0.15

func (c *comparison) judge(v float64) verdict {
	if c.gate == 0 {
		return reported
	}
	worse := func(limit float64) bool { return v > limit }
	far := c.gate * (1 + slack)
	if c.atLeast {
		worse = func(limit float64) bool { return v < limit }
		far = c.gate / (1 + slack)
	}
	switch {
	case math.IsNaN(v) || worse(far):
		return farOver
	case worse(c.gate):
		return over
	case c.stretch != 0 && !worse(c.stretch):
		return stretch
	}
	return pass
}

// A result is one comparison with its figures.
type result struct {
	Row     string  `json:"row"`
	What    string  `json:"what"`
	Ratio   spread  `json:"ratio"`          // or the absolute figure
	Unit    string  `json:"unit,omitempty"` // of an absolute figure
	Ours    float64 `json:"ours,omitempty"` // median of the numerator
	Anchor  float64 `json:"anchor,omitempty"`
	Metric  metric  `json:"metric"`
	Allocs  float64 `json:"allocs,omitempty"`
	AtLeast bool    `json:"atLeast,omitempty"`
	Gate    float64 `json:"gate,omitempty"`
	Stretch float64 `json:"stretch,omitempty"`
	Verdict verdict `json:"verdict,omitempty"`
	Rounds  int     `json:"rounds"`
}

// run measures every target of g once a round, in an order that turns from round
// to round, so that none always follows the same one. The round before the first
// is thrown away: it connects, fills caches and starts collectors.
func (g *group) run(rounds int) ([]result, error) {
	if g.perRound != 0 {
		rounds = max(3, int(float64(rounds)*g.perRound))
	}
	series := make(map[string][]sample, len(g.targets))
	for r := -1; r < rounds; r++ {
		for i := range g.targets {
			at := i
			if !g.inOrder {
				at = (i + r + 1) % len(g.targets)
			}
			t := &g.targets[at]
			s, err := t.block()
			if err != nil {
				return nil, fmt.Errorf("%s: %w", t.name, err)
			}
			if r >= 0 {
				series[t.name] = append(series[t.name], s)
			}
		}
	}
	var out []result
	for i := range g.compares {
		c := &g.compares[i]
		if c.metric == "" {
			c.metric = byWall
		}
		num, ok := series[c.num]
		den, ok2 := series[c.den]
		if !ok || !ok2 && c.den != "" {
			return nil, fmt.Errorf("row %s, %s: no target %q or %q", c.row, c.what, c.num, c.den)
		}
		var ratios, ours, anchor, allocs []float64
		for r := range num {
			v := num[r].get(c.metric)
			ours, allocs = append(ours, v), append(allocs, num[r].allocs)
			if c.den != "" {
				d := den[r].get(c.metric)
				anchor = append(anchor, d)
				v /= d
			} else if c.scale != 0 {
				v *= c.scale
			}
			ratios = append(ratios, v)
		}
		res := result{
			Row: c.row, What: c.what, Ratio: spreadOf(ratios), Metric: c.metric, Unit: c.unit, Ours: spreadOf(ours).Median,
			AtLeast: c.atLeast, Gate: c.gate, Stretch: c.stretch, Rounds: rounds,
		}
		if c.den != "" {
			res.Anchor = spreadOf(anchor).Median
		}
		if a := spreadOf(allocs).Median; !math.IsNaN(a) {
			res.Allocs = a
		}
		res.Verdict = c.judge(res.Ratio.Median)
		out = append(out, res)
	}
	return out, nil
}
