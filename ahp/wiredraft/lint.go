package wiredraft

import (
	"bytes"
	"strconv"

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
	KindManifest     Kind = "manifest"     // a capability manifest without its message
)

// LintOptions configures [Lint].
type LintOptions struct {
	// Request is the request that the message answers: its id, event and capabilities
	// then bind the response (AHP draft section 10, steps 2 to 5; section 26). It is one
	// hooks/intercept or hooks/capabilities message. Nil means that there is none.
	Request []byte
}

// Lint checks a file and returns every problem of it, in the order of the text,
// and the kind that it was checked as; an empty kind is guessed from the names
// of the outermost members. A text that is not JSON has one problem, where it
// stops to be JSON; a name that stands twice in an object is reported beside all
// others. At most 10000 problems are listed.
//
// If the file's name ends in .jsonl, or the text is several lines of which the
// first is a JSON value by itself, each line is a document of its own, as on
// stdio (AHP-STDIO-001). Registrations are judged as by [ParseRegistration] with its
// zero options. A response is judged against the request of the options; without one
// by all that some request could offer. A request that is not valid itself is one
// problem, since it binds nothing.
func Lint(name string, data []byte, kind Kind, o LintOptions) ([]Problem, Kind) {
	if kind == "" {
		kind = guess(data)
	}
	to, event, fault := requestOf(o.Request)
	if fault != nil {
		return problems(name, data, []walk.Problem{*fault}), kind
	}
	if !walk.Lines(name, data) {
		return problems(name, data, lintOne(data, kind, to, event)), kind
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
			for _, p := range lintOne(line, kind, to, event) {
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

// requestOf reads what a request binds its response to.
func requestOf(request []byte) (answerTo, *ahp.Event, *walk.Problem) {
	if request == nil {
		return answerTo{}, nil, nil
	}
	m, err := DecodeRequest(request, Limits{})
	switch {
	case err != nil:
		return answerTo{}, nil, &walk.Problem{Found: "a request with a fault of its own (" + err.Error() + ")", Expected: "a valid request"}
	case m.Kind != Request:
		return answerTo{}, nil, &walk.Problem{Found: "a notification as the request", Expected: "a message that is answered"}
	}
	to := answerTo{id: m.ID, method: m.Method}
	if m.Event != nil {
		to.offer = offer{m.Event.Type, &m.Capabilities}
	}
	return to, m.Event, nil
}

func lintOne(data []byte, kind Kind, to answerTo, event *ahp.Event) []walk.Problem {
	d := newDecoder(data, Limits{}.complete())
	defer d.free()
	d.Lint = true
	if d.Start() {
		switch kind {
		case KindRegistration:
			r := registrar{decoder: d, o: new(RegOptions)}
			r.registration(new(ahp.Registration))
		case KindEvent:
			d.event(new(ahp.Event), anyEvent)
		case KindManifest:
			d.manifest(new(ahp.Manifest))
		default:
			d.lintMessage(to, event)
		}
		d.End()
	}
	return walk.Sorted(d.Problems())
}

func (d *decoder) lintMessage(to answerTo, event *ahp.Event) {
	if to.method != "" { // only an answer can have a request
		m := new(Message)
		d.response(m, to)
		if event == nil || len(d.Problems()) > 0 || d.Dead() {
			return
		}
		for i, e := range m.Effects {
			if found, expected := effectFault(event, e); found != "" {
				d.extra(0, "result/effects/"+strconv.Itoa(i), found, expected)
			}
		}
		return
	}
	d.anyMessage(new(Message), to)
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
		case "events", "managedPolicy":
			return KindManifest
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
