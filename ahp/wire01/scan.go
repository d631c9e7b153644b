package wire01

import (
	"bytes"
	"errors"
	"io"
	"slices"
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/holdpoint/holdpoint/ahp"
)

// A stage orders the checks: of all problems of a message, one of the lowest
// stage decides about code and class (V-ERR-4).
type stage uint8

const (
	stageParse   stage = iota // UTF-8, JSON, size
	stageLimit                // depth and counts
	stageShape                // JSON-RPC
	stageMethod               // request: method; response: echo of the id
	stageVersion              // protocolVersion
	stageType                 // request: event type; response: exactly one of result and error
	stageBody                 // everything else
)

type problem struct {
	stage    stage
	class    ahp.FailureClass
	code     ahp.ErrorCode
	off      int
	pointer  string
	found    string
	expected string
	severity Severity
}

// Bounds of a lint run over a hostile file: problems, and bytes of a pointer,
// after which no further name is added to it.
const (
	maxProblems = 10_000
	maxPointer  = 1 << 10
)

// A walker goes once over text and knows at each point where it is. Strictness has
// two halves: jsontext decides what is valid JSON, the walker bounds and reads it.
// A walker of unchecked text does both for messages without a fault.
type walker struct {
	b    []byte
	lim  Limits
	pos  int
	path []seg // the open containers, outermost first

	build bool // fill the model; false only checks
	lint  bool // keep every problem, with its whole pointer
	dead  bool // a limit was broken: nothing more is read

	unchecked bool   // nobody has looked at the text yet: see onepass.go
	known     []span // then, the names of the open objects' members

	skipping bool // inside a value that the protocol leaves open ...
	base     int  // ... which is this deep: no pointer goes into it

	text  string // copy of a small b, cut into the model's strings
	own   []byte // copy of b, cut into the model's raw values
	names []byte // scratch for a member name with escapes
	buf   []byte // scratch for a string with escapes

	probs []problem
	spare *spare // see spared

	eventID val // the id of the event that was read
}

type seg struct {
	object             bool
	n                  int // members or items so far, the current one included
	nameStart, nameEnd int // the current member's name, quotes included
	known              int // where its names begin in walker.known
}

// A val is the span of one value.
type val struct {
	kind       byte // first byte of the text; '0' for every number
	esc        bool // a string with a backslash
	start, end int
}

var walkers = sync.Pool{New: func() any { return new(walker) }}

func newWalker(b []byte, l Limits) *walker {
	w := walkers.Get().(*walker)
	*w = walker{b: b, lim: l, path: w.path[:0], names: w.names[:0], buf: w.buf[:0], probs: w.probs[:0], known: w.known[:0]}
	return w
}

func (w *walker) free() {
	const keep = 64 << 10
	if cap(w.buf) > keep {
		w.buf = nil
	}
	if cap(w.names) > keep {
		w.names = nil
	}
	if cap(w.probs) > 64 {
		w.probs = nil
	}
	clear(w.probs[:cap(w.probs)])
	w.b, w.text, w.own, w.spare = nil, "", nil, nil
	walkers.Put(w)
}

// bounded checks the size, and that the text is one line where it must be. It
// reports at most one problem.
func (w *walker) bounded() bool {
	if len(w.b) > w.lim.MaxBytes {
		e := tooLarge(w.lim)
		w.fail(stageParse, e.Class, e.Code, e.Offset, e.Found, e.Expected)
		return false
	}
	if w.lim.SingleLine {
		if i := bytes.IndexByte(w.b, '\n'); i >= 0 && i != len(w.b)-1 {
			w.fail(stageParse, ahp.FailMalformed, ahp.CodeParse, i,
				"a raw line feed inside the message", "one message on one line")
			return false
		}
	}
	return true
}

// valid checks size and syntax. It reports at most one problem.
func (w *walker) valid() bool {
	if !w.bounded() {
		return false
	}
	if jsontext.Value(w.b).IsValid() {
		return true
	}
	w.syntax(false)
	return false
}

// syntax finds out what is wrong with a text that is not valid. The library's
// own error text quotes the input, so only its position and kind are used.
func (w *walker) syntax(allowDup bool) bool {
	d := jsontext.NewDecoder(bytes.NewReader(w.b), jsontext.AllowDuplicateNames(allowDup))
	_, err := d.ReadValue()
	found, expected := "text that is not JSON", "one JSON value"
	off, pointer := len(w.b), ""
	if err == nil {
		off = int(d.InputOffset())
		if _, err = d.ReadToken(); errors.Is(err, io.EOF) {
			return true
		}
		found, expected = "more data after the JSON value", "nothing"
		if se, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
			off = int(se.ByteOffset)
		}
	} else {
		var se *jsontext.SyntacticError
		switch {
		case errors.As(err, &se):
			off, pointer = int(se.ByteOffset), string(se.JSONPointer)
			switch {
			case errors.Is(err, jsontext.ErrDuplicateName):
				found, expected = "a member name that the object already has", "each name once"
			case errors.Is(err, io.ErrUnexpectedEOF):
				found, expected = "the end of the text inside a JSON value", "the rest of the value"
				off = len(w.b)
			case !utf8.Valid(w.b):
				found, expected = "bytes that are not UTF-8", "UTF-8"
			case strings.Contains(err.Error(), "surrogate"):
				found, expected = "half of a surrogate pair", "whole Unicode characters"
			case off < len(w.b) && w.b[off] < 0x20:
				found, expected = "a raw control character inside a string", "an escape"
			}
		case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
			found = "no JSON value"
		}
	}
	off = min(max(off, 0), len(w.b))
	if w.lint {
		pointer = string(cutName([]byte(pointer)))
	} else {
		pointer = cutPointer(pointer)
	}
	w.add(problem{stage: stageParse, class: ahp.FailMalformed, code: ahp.CodeParse, off: off, pointer: pointer, found: found, expected: expected})
	return false
}

func (w *walker) add(p problem) {
	if p.severity == "" {
		p.severity = SeverityError
	}
	switch {
	case w.lint:
		w.probs = append(w.probs, p)
	case len(w.probs) == 0:
		w.probs = append(w.probs, p)
	case p.stage < w.probs[0].stage:
		w.probs[0] = p
	}
}

// at reports a problem of the member called name of the object that was just
// read, or of the current value if name is empty.
func (w *walker) at(s stage, c ahp.FailureClass, code ahp.ErrorCode, off int, name, found, expected string) {
	if w.dead || !w.wants(s) {
		return
	}
	if w.unchecked {
		w.giveUp()
		return
	}
	w.add(problem{stage: s, class: c, code: code, off: off, pointer: w.pointer(name), found: found, expected: expected})
}

// fail reports a problem of the current value.
func (w *walker) fail(s stage, c ahp.FailureClass, code ahp.ErrorCode, off int, found, expected string) {
	w.at(s, c, code, off, "", found, expected)
}

// wants reports whether a problem of this stage would be kept, so that hostile
// input with many problems costs no more than one.
func (w *walker) wants(s stage) bool {
	if w.lint {
		return len(w.probs) < maxProblems
	}
	return len(w.probs) == 0 || s < w.probs[0].stage
}

// bad reports a value of the message's body.
func (w *walker) bad(v val, expected string) {
	w.fail(stageBody, ahp.FailMalformed, ahp.CodeInvalidParams, v.start, w.describe(v), expected)
}

// missing reports an absent member of the object that was just read, which
// begins at off.
func (w *walker) missing(s stage, off int, name, expected string) {
	w.at(s, ahp.FailMissingField, ahp.CodeInvalidParams, off, name, "nothing", expected)
}

// extra reports a member that may not be there, after the object was read.
func (w *walker) extra(off int, name, found, expected string) {
	w.at(stageBody, ahp.FailMalformed, ahp.CodeInvalidParams, off, name, found, expected)
}

func (w *walker) limit(found, expected string) {
	w.fail(stageLimit, ahp.FailMalformed, ahp.CodeInvalidRequest, w.pos, found, expected)
	w.dead = true
}

// pointer renders the path to the current value, and below it name if not empty.
func (w *walker) pointer(name string) string {
	var p []byte
	path := w.path
	if w.skipping {
		path = path[:w.base]
	}
	for _, s := range path {
		if s.n == 0 || len(p) > maxPointer {
			break
		}
		p = append(p, '/')
		if s.object {
			p = appendPointerToken(p, cutName(unquoteName(w.b[s.nameStart:s.nameEnd])))
		} else {
			p = strconv.AppendInt(p, int64(s.n-1), 10)
		}
	}
	if name != "" {
		p = append(append(p, '/'), name...)
	}
	if w.lint {
		return string(p)
	}
	return cutPointer(string(p))
}

// cutName bounds a pointer or a name in one, at a whole character.
func cutName(b []byte) []byte {
	if len(b) <= maxPointer {
		return b
	}
	n := maxPointer
	for n > 0 && !utf8.RuneStart(b[n]) {
		n--
	}
	return b[:n]
}

func unquoteName(quoted []byte) []byte {
	if bytes.IndexByte(quoted, '\\') < 0 {
		return quoted[1 : len(quoted)-1]
	}
	s, _ := jsontext.AppendUnquote(nil, quoted) // valid by now
	return s
}

func appendPointerToken(p, tok []byte) []byte {
	for _, c := range tok {
		switch c {
		case '~':
			p = append(p, "~0"...)
		case '/':
			p = append(p, "~1"...)
		default:
			p = append(p, c)
		}
	}
	return p
}

// cutPointer keeps a pointer up to the last name that the protocol defines:
// below it, names are payload.
func cutPointer(p string) string {
	for i := 0; i < len(p); {
		j := strings.IndexByte(p[i+1:], '/')
		end := len(p)
		if j >= 0 {
			end = i + 1 + j
		}
		if !protocolName(p[i+1 : end]) {
			return p[:i]
		}
		i = end
	}
	return p
}

func protocolName(s string) bool {
	if s != "" && len(s) < 7 && strings.Trim(s, "0123456789") == "" {
		return true
	}
	switch s {
	case "jsonrpc", "id", "method", "params", "result", "error", "protocolVersion", "event", "capabilities", "effects",
		"extensions", "source", "type", "time", "session", "tool", "outcome", "native", "cwd", "workspaceRoots", "model",
		"agent", "callId", "name", "kind", "input", "output", "mcp", "provider", "eventName", "payload", "reason", "code",
		"message", "data":
		return true
	}
	return false
}

// describe says what sort of value v is, and nothing of its content.
func (w *walker) describe(v val) string {
	switch v.kind {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		if v.end-v.start == 2 {
			return "an empty string"
		}
		return "a string"
	case '0':
		return "a number"
	case 'n':
		return "null"
	}
	return "a boolean"
}

func (w *walker) space() {
	for w.pos < len(w.b) {
		switch w.b[w.pos] {
		case ' ', '\t', '\r', '\n':
			w.pos++
		default:
			return
		}
	}
}

// kind returns the kind of the value at the current position.
func (w *walker) kind() byte {
	if w.dead || w.pos >= len(w.b) {
		return 0
	}
	return w.b[w.pos]
}

// here is the current value as an empty span, for reports.
func (w *walker) here() val {
	k := w.kind()
	if k == '-' || '0' <= k && k <= '9' {
		k = '0'
	}
	return val{kind: k, start: w.pos, end: w.pos}
}

// open enters the object or array at the current position.
func (w *walker) open() {
	if w.dead {
		return
	}
	if len(w.path) >= w.lim.MaxDepth {
		w.limit("more than "+strconv.Itoa(w.lim.MaxDepth)+" levels of objects and arrays", "a value within the limit")
		return
	}
	w.path = append(w.path, seg{object: w.b[w.pos] == '{', known: len(w.known)})
	w.pos++
}

// more moves to the value of the innermost container's next member or item. At
// its end it leaves the container and returns false.
func (w *walker) more() bool {
	if w.dead {
		return false
	}
	if w.unchecked {
		return w.moreUnchecked()
	}
	s := &w.path[len(w.path)-1]
	w.space()
	switch w.b[w.pos] {
	case ',':
		w.pos++
		w.space()
	case '}', ']':
		w.pos++
		w.path = w.path[:len(w.path)-1]
		return false
	}
	s.n++
	if !s.object {
		if s.n > w.lim.MaxItems {
			w.limit("more than "+strconv.Itoa(w.lim.MaxItems)+" items in one array", "a value within the limit")
			return false
		}
		return true
	}
	if s.n > w.lim.MaxMembers {
		w.limit("more than "+strconv.Itoa(w.lim.MaxMembers)+" members in one object", "a value within the limit")
		return false
	}
	s.nameStart = w.pos
	w.pos, _ = w.stringEnd(w.pos)
	s.nameEnd = w.pos
	w.space()
	w.pos++ // the colon
	w.space()
	return true
}

// name returns the current member's name. It is valid until the next call.
func (w *walker) name() []byte {
	s := &w.path[len(w.path)-1]
	q := w.b[s.nameStart:s.nameEnd]
	if w.unchecked || bytes.IndexByte(q, '\\') < 0 {
		return q[1 : len(q)-1]
	}
	w.names, _ = jsontext.AppendUnquote(w.names[:0], q) // valid by now
	return w.names
}

// stringEnd returns the position after the string at i, and whether it has escapes.
func (w *walker) stringEnd(i int) (end int, esc bool) {
	b := w.b
	i++
	j := bytes.IndexByte(b[i:], '"')
	k := bytes.IndexByte(b[i:i+j], '\\')
	if k < 0 {
		return i + j + 1, false
	}
	for i += k; ; i++ {
		switch b[i] {
		case '"':
			return i + 1, true
		case '\\':
			i++
		}
	}
}

// skip moves past the value at the current position and returns its span.
func (w *walker) skip() val {
	if w.dead {
		return val{kind: 'n'}
	}
	if w.unchecked {
		return w.skipUnchecked()
	}
	v := val{kind: w.b[w.pos], start: w.pos}
	switch v.kind {
	case '"':
		v.end, v.esc = w.stringEnd(w.pos)
		w.pos = v.end
	case '{', '[':
		w.skipContainer()
		v.end = w.pos
	case 't', 'f', 'n':
		v.end = w.pos + 4
		if v.kind == 'f' {
			v.end++
		}
		w.pos = v.end
	default:
		v.kind = '0'
		for w.pos < len(w.b) && w.b[w.pos] > ' ' && w.b[w.pos] != ',' && w.b[w.pos] != '}' && w.b[w.pos] != ']' {
			w.pos++
		}
		v.end = w.pos
	}
	return v
}

// skipContainer passes a value that the protocol leaves open, without looking at
// names, but within the limits.
func (w *walker) skipContainer() {
	w.skipping, w.base = true, len(w.path)
	for {
		switch c := w.b[w.pos]; c {
		case '"':
			w.pos, _ = w.stringEnd(w.pos)
			continue
		case '{', '[':
			w.open()
			if w.dead {
				return
			}
			continue
		case '}', ']':
			w.path = w.path[:len(w.path)-1]
			w.pos++
			if len(w.path) == w.base {
				w.skipping = false
				return
			}
			continue
		case ',':
			s := &w.path[len(w.path)-1]
			s.n++ // one less than the count
			if s.object && s.n >= w.lim.MaxMembers || !s.object && s.n >= w.lim.MaxItems {
				w.limit("more members or items than the limit", "a value within the limit")
				return
			}
		}
		w.pos++
	}
}

// content returns the value of a string. It is valid until the next call.
func (w *walker) content(v val) []byte {
	if !v.esc {
		return w.b[v.start+1 : v.end-1]
	}
	w.buf, _ = jsontext.AppendUnquote(w.buf[:0], w.b[v.start:v.end]) // valid by now
	return w.buf
}

// is reports whether v is the string s.
func (w *walker) is(v val, s string) bool {
	return v.kind == '"' && string(w.content(v)) == s
}

// str returns the value of a string for the model.
func (w *walker) str(v val) string {
	if !w.build || v.end-v.start <= 2 {
		return ""
	}
	if v.esc {
		return string(w.content(v))
	}
	// One copy of a small message serves all of its strings; a large one would be
	// kept in memory by the shortest of them.
	if w.text == "" && len(w.b) <= 8<<10 {
		w.text = string(w.b)
	}
	if w.text != "" {
		return w.text[v.start+1 : v.end-1]
	}
	return string(w.b[v.start+1 : v.end-1])
}

// spared is memory for what most messages have once. Whoever reads a message has it
// in one allocation with the rest.
func (w *walker) spared() *spare {
	if w.spare == nil {
		w.spare = new(spare)
	}
	return w.spare
}

// raw returns the text of a value for the model.
func (w *walker) raw(v val) ahp.Raw {
	if !w.build || w.dead {
		return nil
	}
	if w.own == nil {
		if len(w.b) > 8<<10 && v.end-v.start < len(w.b)/4 {
			return slices.Clone(ahp.Raw(w.b[v.start:v.end]))
		}
		w.own = slices.Clone(w.b)
	}
	return ahp.Raw(w.own[v.start:v.end:v.end])
}

// keep adds the current member, already skipped as v, to the unknown ones.
func (w *walker) keep(m *ahp.Members, v val) {
	if !w.build || w.dead {
		return
	}
	s := &w.path[len(w.path)-1]
	var name string
	if q := (val{kind: '"', start: s.nameStart, end: s.nameEnd}); bytes.IndexByte(w.b[q.start:q.end], '\\') >= 0 {
		name = string(w.name())
	} else {
		name = w.str(q)
	}
	*m = append(*m, ahp.Member{Name: name, Value: w.raw(v)})
}

// plain reports whether the string v is written as the encoder would write it.
func (w *walker) plain(v val) bool {
	if !v.esc {
		return true // all that needs an escape has one
	}
	q, err := jsontext.AppendQuote(nil, w.content(v))
	return err == nil && bytes.Equal(q, w.b[v.start:v.end])
}
