package wire01

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/holdpoint/holdpoint/ahp"
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
	if !lines(name, data) {
		return problems(name, data, lintOne(data, kind)), kind
	}
	var all []problem
	for off := 0; off < len(data) && len(all) < maxProblems; {
		line := data[off:]
		if i := bytes.IndexByte(line, '\n'); i >= 0 {
			line = line[:i]
		}
		if len(bytes.TrimSpace(line)) == 0 {
			all = append(all, problem{off: off, found: "an empty line", expected: "one document on each line", severity: SeverityError})
		} else {
			for _, p := range lintOne(line, kind) {
				p.off += off
				all = append(all, p)
			}
		}
		off += len(line) + 1
	}
	if len(data) == 0 {
		all = append(all, problem{found: "an empty file", expected: "one document on each line", severity: SeverityError})
	}
	return problems(name, data, all), kind
}

func lintOne(data []byte, kind Kind) []problem {
	w := newWalker(data, Limits{}.complete())
	defer w.free()
	w.lint = true
	if w.validDocument() {
		w.start()
		switch kind {
		case KindRegistration:
			w.build = true // ids and subscriptions are compared with each other
			w.registration(new(ahp.Registration), &RegOptions{})
		case KindEvent:
			w.event(new(ahp.Event), new(ahp.Tool), anyEvent)
		default:
			w.anyMessage(new(Message))
		}
	}
	return slices.Clone(w.probs)
}

// validDocument is valid for a file: a name that stands twice is one problem
// among others.
func (w *walker) validDocument() bool {
	if len(w.b) > w.lim.MaxBytes {
		return w.valid()
	}
	if !jsontext.Value(w.b).IsValid(jsontext.AllowDuplicateNames(true)) {
		w.syntax(true)
		return false
	}
	w.start()
	w.duplicates()
	return !w.dead
}

func (w *walker) duplicates() {
	switch w.kind() {
	case '{':
		seen := map[string]bool{}
		for w.open(); w.more(); {
			name := string(w.name())
			if seen[name] {
				w.fail(stageParse, ahp.FailMalformed, ahp.CodeParse, w.path[len(w.path)-1].nameStart, "a member name that the object already has", "each name once")
			}
			seen[name] = true
			w.duplicates()
		}
	case '[':
		for w.open(); w.more(); {
			w.duplicates()
		}
	default:
		w.skip()
	}
}

// lines reports whether each line of the file is a document.
func lines(name string, data []byte) bool {
	if strings.HasSuffix(name, ".jsonl") {
		return true
	}
	if strings.HasSuffix(name, ".json") {
		return false
	}
	first, rest, ok := bytes.Cut(data, []byte("\n"))
	return ok && len(bytes.TrimSpace(rest)) > 0 && jsontext.Value(first).IsValid(jsontext.AllowDuplicateNames(true))
}

// guess tells the kind of a file by the first telling name at its outermost level.
func guess(data []byte) Kind {
	d := jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowDuplicateNames(true))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return KindMessage
	}
	for {
		t, err := d.ReadToken()
		if err != nil || t.Kind() != '"' {
			return KindMessage
		}
		switch t.String() {
		case "hooks":
			return KindRegistration
		case "jsonrpc", "method", "params", "result":
			return KindMessage
		case "source", "session", "tool":
			return KindEvent
		}
		if err := d.SkipValue(); err != nil {
			return KindMessage
		}
	}
}

// problems gives each problem its place in the file, in the order of the text.
func problems(file string, data []byte, list []problem) []Problem {
	slices.SortStableFunc(list, func(a, b problem) int { return a.off - b.off })
	out := make([]Problem, 0, len(list))
	line, column, at := 1, 1, 0
	for _, p := range list {
		for at < p.off && at < len(data) {
			_, n := utf8.DecodeRune(data[at:])
			if data[at] == '\n' {
				line, column = line+1, 0
			}
			column++
			at += n
		}
		out = append(out, Problem{
			File: file, Pointer: p.pointer, Line: line, Column: column,
			Found: p.found, Expected: p.expected, Severity: p.severity,
		})
	}
	return out
}
