package walk

import (
	"strconv"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/holdpoint/holdpoint/ahp"
)

var checkers = sync.Pool{New: func() any { return new(Walker) }}

// A Stage orders the checks of a message: of all problems, one of the lowest stage
// decides about class and code.
type Stage uint8

// The stages, in their order (V-ERR-4, D-ERR-3).
const (
	StageParse   Stage = iota // UTF-8, JSON, size
	StageLimit                // depth and counts
	StageShape                // JSON-RPC
	StageMethod               // request: method; response: echo of the id
	StageVersion              // protocolVersion
	StageType                 // request: event type; response: exactly one of result and error
	StageOffer                // request: capabilities
	StageBody                 // everything else
)

// A Problem is one thing that is wrong with a text.
type Problem struct {
	Stage    Stage
	Class    ahp.FailureClass
	Code     ahp.ErrorCode
	Off      int
	Pointer  string
	Found    string
	Expected string
	Warning  bool
}

// Bounds of a lint run over a hostile file: problems, and bytes of a pointer,
// after which no further name is added to it.
const (
	MaxProblems = 10_000
	maxPointer  = 1 << 10
)

// Problems returns what was found: without Lint at most one problem, which decides.
// The list is the walker's own.
func (w *Walker) Problems() []Problem { return w.probs }

// Add keeps a problem: the first of the lowest stage, or with Lint every one.
func (w *Walker) Add(p Problem) {
	switch {
	case w.Lint:
		if len(w.probs) < MaxProblems {
			w.probs = append(w.probs, p)
		}
	case len(w.probs) == 0:
		w.probs = append(w.probs, p)
	case p.Stage < w.probs[0].Stage:
		w.probs[0] = p
	}
}

// Wants reports whether a problem of this stage would be kept, so that hostile
// input with many problems costs no more than one.
func (w *Walker) Wants(s Stage) bool {
	if w.Lint {
		return len(w.probs) < MaxProblems
	}
	return len(w.probs) == 0 || s < w.probs[0].Stage
}

// At reports a problem of the member called name of the object that was just
// read, or of the current value if name is empty.
func (w *Walker) At(s Stage, c ahp.FailureClass, code ahp.ErrorCode, off int, name, found, expected string) {
	if w.dead || !w.Wants(s) {
		return
	}
	w.Add(Problem{Stage: s, Class: c, Code: code, Off: off, Pointer: w.Pointer(name), Found: found, Expected: expected})
}

// Fail reports a problem of the current value.
func (w *Walker) Fail(s Stage, c ahp.FailureClass, code ahp.ErrorCode, off int, found, expected string) {
	w.At(s, c, code, off, "", found, expected)
}

// Warn reports a problem of the current value that makes nothing unusable.
func (w *Walker) Warn(off int, found, expected string) {
	if !w.dead && w.Lint {
		w.Add(Problem{Stage: StageBody, Off: off, Pointer: w.Pointer(""), Found: found, Expected: expected, Warning: true})
	}
}

// stop reports a problem of the text as a whole and reads no more.
func (w *Walker) stop(p Problem) {
	if w.dead {
		return
	}
	p.Stage, p.Class = StageParse, ahp.FailMalformed
	if w.Lint {
		w.probs = w.probs[:0] // a text that is not JSON has one problem: what it says is nobody's word
	}
	w.Add(p)
	w.dead = true
}

// fault reports a fault of syntax, and reads no more.
func (w *Walker) fault(off int, found, expected string) {
	w.stop(Problem{Code: ahp.CodeParse, Off: min(off, len(w.b)), Pointer: w.Pointer(""), Found: found, Expected: expected})
}

func (w *Walker) cutOff() {
	w.fault(len(w.b), "the end of the text inside a JSON value", "the rest of the value")
}

func (w *Walker) notUTF8(off int) { w.fault(off, "bytes that are not UTF-8", "UTF-8") }

// unexpected reports that what stands at the current position is not JSON.
func (w *Walker) unexpected() {
	if w.pos >= len(w.b) {
		w.cutOff()
		return
	}
	if invalidAt(w.b[:min(len(w.b), w.pos+utf8.UTFMax)], w.pos) == w.pos {
		w.notUTF8(w.pos)
		return
	}
	w.fault(w.pos, "text that is not JSON", "one JSON value")
}

func (w *Walker) limit(found, expected string) {
	w.Fail(StageLimit, ahp.FailMalformed, ahp.CodeInvalidRequest, w.pos, found, expected)
	w.dead = true
}

// Limit reports that a bound of the caller's own is broken, and reads no more.
func (w *Walker) Limit(found, expected string) { w.limit(found, expected) }

// Pointer renders the path to the current value, and below it name if not empty.
func (w *Walker) Pointer(name string) string {
	var p []byte
	path := w.path
	if w.skipping && !w.Lint {
		path = path[:min(w.base, len(path))]
	}
	for i := range path {
		s := &path[i]
		if s.n == 0 || len(p) > maxPointer {
			break
		}
		if s.end == '}' {
			if s.nameEnd == 0 {
				break
			}
			p = append(p, '/')
			p = appendPointerToken(p, cutName(unquoteName(w.b[s.nameStart:s.nameEnd])))
		} else {
			p = append(p, '/')
			p = strconv.AppendInt(p, int64(s.n-1), 10)
		}
	}
	if name != "" {
		p = append(append(p, '/'), name...)
	}
	if w.Lint {
		return string(p)
	}
	return w.cutPointer(string(p))
}

// cutName bounds a name in a pointer, at a whole character.
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
func (w *Walker) cutPointer(p string) string {
	for i := 0; i < len(p); {
		j := strings.IndexByte(p[i+1:], '/')
		end := len(p)
		if j >= 0 {
			end = i + 1 + j
		}
		name := p[i+1 : end]
		if index := name != "" && len(name) < 7 && strings.Trim(name, "0123456789") == ""; !index && (w.Known == nil || !w.Known(name)) {
			return p[:i]
		}
		i = end
	}
	return p
}

// Describe says what sort of value v is, and nothing of its content.
func Describe(v Val) string {
	switch v.Kind {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		if v.Empty() {
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
