package wire01

import (
	"bytes"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/internal/walk"
)

// Kind says what a file holds.
type Kind string

// The kinds of file that [Lint] knows.
const (
	KindMessage      Kind = "message"      // one JSON-RPC message of any kind
	KindEvent        Kind = "event"        // an event without its message
	KindRegistration Kind = "registration" // a registration document
)

// Lint checks a file and returns every problem of it, in the order of the text,
// and the kind that it was checked as; an empty kind is guessed from the names
// of the outermost members. A text that is not JSON has one problem, where it
// stops to be JSON; a name that stands twice in an object is reported beside all
// others. At most 10000 problems are listed.
//
// If the file's name ends in .jsonl, or the text is several lines of which the
// first is a JSON value by itself, each line is a document of its own, as on
// stdio (V-IO-1). Registrations are judged as by [ParseRegistration] with its
// zero options.
func Lint(name string, data []byte, kind Kind) ([]Problem, Kind) {
	if kind == "" {
		kind = guess(data)
	}
	if !walk.Lines(name, data) {
		return problems(name, data, lintOne(data, kind)), kind
	}
	var all []walk.Problem
	for off := 0; off < len(data) && len(all) < walk.MaxProblems; {
		line := data[off:]
		if i := bytes.IndexByte(line, '\n'); i >= 0 {
			line = line[:i]
		}
		if len(bytes.TrimSpace(line)) == 0 {
			all = append(all, walk.Problem{Off: off, Found: "an empty line", Expected: "one document on each line"})
		} else {
			for _, p := range lintOne(line, kind) {
				p.Off += off
				all = append(all, p)
			}
		}
		off += len(line) + 1
	}
	if len(data) == 0 {
		all = append(all, walk.Problem{Found: "an empty file", Expected: "one document on each line"})
	}
	return problems(name, data, all), kind
}

func lintOne(data []byte, kind Kind) []walk.Problem {
	d := newDecoder(data, Limits{}.complete())
	defer d.free()
	d.Lint = true
	if d.Start() {
		switch kind {
		case KindRegistration:
			d.registration(new(ahp.Registration), &RegOptions{})
		case KindEvent:
			d.event(new(ahp.Event), new(ahp.Tool), anyEvent)
		default:
			d.anyMessage(new(Message))
		}
		d.End()
	}
	return walk.Sorted(d.Problems())
}

// guess tells the kind of a file by the first telling name at its outermost level.
func guess(data []byte) Kind {
	for name := range walk.Names(data) {
		switch name {
		case "hooks":
			return KindRegistration
		case "jsonrpc", "method", "params", "result":
			return KindMessage
		case "source", "session", "tool":
			return KindEvent
		}
	}
	return KindMessage
}

// problems gives each problem its place in the file. The list is in the order of
// the text.
func problems(file string, data []byte, list []walk.Problem) []Problem {
	out := make([]Problem, 0, len(list))
	for p, at := range walk.Places(data, list) {
		severity := SeverityError
		if p.Warning {
			severity = SeverityWarning
		}
		out = append(out, Problem{
			File: file, Pointer: p.Pointer, Line: at.Line, Column: at.Column,
			Found: p.Found, Expected: p.Expected, Severity: severity,
		})
	}
	return out
}
