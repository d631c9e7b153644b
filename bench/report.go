package main

import (
	"fmt"
	"io"
	"math"
	"time"
)

const layout = "%-5s %-58s %-24s %-19s %-8s %-8s %s\n"

func printHead(w io.Writer) {
	fmt.Fprintf(w, layout, "row", "what", "ratio [quartiles]", "median / anchor", "gate", "stretch", "verdict")
}

func printResult(w io.Writer, r result) {
	limit := func(v float64) string {
		if v == 0 {
			return ""
		}
		sign := "<="
		if r.AtLeast {
			sign = ">="
		}
		return sign + figure(v)
	}
	ratio := fmt.Sprintf("%s [%s .. %s]%s", figure(r.Ratio.Median), figure(r.Ratio.Q1), figure(r.Ratio.Q3), r.Unit)
	medians := ""
	switch {
	case r.Metric == byBytes:
	case r.Anchor != 0:
		medians = took(r.Ours) + " / " + took(r.Anchor)
	default:
		medians = took(r.Ours)
	}
	what := r.What
	if r.Allocs != 0 {
		what += fmt.Sprintf(", %.0f allocs", r.Allocs)
	}
	fmt.Fprintf(w, layout, r.Row, what, ratio, medians, limit(r.Gate), limit(r.Stretch), string(r.Verdict))
}

// figure prints v to three digits.
func figure(v float64) string {
	switch {
	case math.Abs(v) >= 100:
		return fmt.Sprintf("%.0f", v)
	case math.Abs(v) >= 10:
		return fmt.Sprintf("%.1f", v)
	case math.Abs(v) < 0.1:
		return fmt.Sprintf("%.3f", v)
	}
	return fmt.Sprintf("%.2f", v)
}

func took(ns float64) string {
	d := time.Duration(ns)
	switch {
	case d >= time.Millisecond:
		return fmt.Sprintf("%.2fms", ns/1e6)
	case d >= 10*time.Microsecond:
		return fmt.Sprintf("%.0fus", ns/1e3)
	}
	return fmt.Sprintf("%.1fus", ns/1e3)
}
