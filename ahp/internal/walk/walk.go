// Package walk reads JSON strictly and in one pass, and knows at each point where it
// is. It is what the codecs of the protocol's revisions are made of.
//
// A reader moves with [Walker.Open], [Walker.More] and [Walker.Skip]. Each value is
// validated as it is passed: what a reader does not pass is not checked, so that every
// value must be passed and [Walker.End] called at last. After a fault of syntax or a
// broken limit the walker is dead: More returns false, Skip returns null, and no
// later problem is kept.
package walk

import (
	"bytes"
	"strconv"

	"github.com/holdpoint/holdpoint/ahp"
)

// Limits bounds one text. All numbers are positive.
type Limits struct {
	MaxBytes   int // length of the text
	MaxDepth   int // nested objects and arrays, the outermost counts 1
	MaxMembers int // members of one object
	MaxItems   int // items of one array

	// SingleLine refuses a raw line feed anywhere but at the very end.
	SingleLine bool
}

// A Walker goes once over a text. It is not for concurrent use.
type Walker struct {
	b    []byte
	lim  Limits
	pos  int
	path []seg // the open containers, outermost first
	seen []span
	many map[int]map[string]struct{} // all names of an object by its depth, once they are many

	// Build says whether strings and raw values are wanted; without it [Walker.Str]
	// and [Walker.Raw] return nothing.
	Build bool
	// Lint keeps every problem, with its whole pointer, and lets a name stand twice.
	Lint bool
	// Known reports whether a name is one that the protocol defines: pointers are
	// cut before any other. It may be nil with Lint.
	Known func(name string) bool

	dead bool // a fault of syntax or a broken limit: nothing more is read

	skipping bool // inside a value that the protocol leaves open ...
	base     int  // ... which is this deep: no pointer goes into it

	text  string // copy of a small b, cut into the model's strings
	own   []byte // copy of b, cut into the model's raw values
	names []byte // scratch for a member name with escapes
	buf   []byte // scratch for a string with escapes

	probs []Problem
}

type span struct{ start, end int }

// A seg is one open container.
type seg struct {
	end                byte // } or ]
	n                  int  // members or items so far, the current one included
	nameStart, nameEnd int  // the current member's name, quotes included
	nameEsc            bool // it has a backslash
	first              int  // of the names in seen, the first of this object
	mask               uint64
}

// A Val is the span of one value.
type Val struct {
	Kind       byte // first byte of the text; '0' for every number; 0 at the end of the text
	Esc        bool // a string with a backslash
	Start, End int
}

// Empty reports whether v is an empty string.
func (v Val) Empty() bool { return v.Kind == '"' && v.End-v.Start == 2 }

// Reset makes the walker ready for a text, which it keeps until the next Reset.
func (w *Walker) Reset(b []byte, l Limits) {
	clear(w.probs)
	*w = Walker{b: b, lim: l, path: w.path[:0], seen: w.seen[:0], names: w.names[:0], buf: w.buf[:0], probs: w.probs[:0]}
}

// Release drops the text and all scratch memory that grew large, before the walker
// goes back to a pool.
func (w *Walker) Release() {
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
	if cap(w.seen) > keep {
		w.seen = nil
	}
	clear(w.probs[:cap(w.probs)])
	w.b, w.text, w.own, w.many, w.probs = nil, "", nil, nil, w.probs[:0]
}

// Start checks what concerns the text as a whole (size, line feeds) and moves
// to the outermost value. It reports whether that may be read.
func (w *Walker) Start() bool {
	b := w.b
	if len(b) > w.lim.MaxBytes {
		w.stop(Problem{
			Code: ahp.CodeInvalidRequest, Off: w.lim.MaxBytes,
			Found: "more than " + strconv.Itoa(w.lim.MaxBytes) + " bytes", Expected: "a text within the limit",
		})
		return false
	}
	if w.lim.SingleLine {
		if i := bytes.IndexByte(b, '\n'); i >= 0 && i != len(b)-1 {
			w.fault(i, "a raw line feed inside the message", "one message on one line")
			return false
		}
	}
	w.space()
	if w.pos == len(b) {
		w.fault(w.pos, "no JSON value", "one JSON value")
		return false
	}
	return true
}

// End reports data after the outermost value, which was passed.
func (w *Walker) End() {
	if w.dead {
		return
	}
	w.space()
	if w.pos != len(w.b) {
		w.fault(w.pos, "more data after the JSON value", "nothing")
	}
}

// Dead reports whether reading came to its end at a fault of syntax or a limit.
func (w *Walker) Dead() bool { return w.dead }

// Bytes returns the text.
func (w *Walker) Bytes() []byte { return w.b }

// Pos returns the offset of the current value.
func (w *Walker) Pos() int { return w.pos }

// Depth returns the number of open containers.
func (w *Walker) Depth() int { return len(w.path) }

func (w *Walker) space() {
	for w.pos < len(w.b) {
		if c := w.b[w.pos]; c > ' ' || c != ' ' && c != '\n' && c != '\r' && c != '\t' {
			return
		}
		w.pos++
	}
}

// Kind returns the first byte of the current value, and 0 at the end of the text.
func (w *Walker) Kind() byte {
	if w.dead || w.pos >= len(w.b) {
		return 0
	}
	return w.b[w.pos]
}

// Here is the current value as an empty span, for reports.
func (w *Walker) Here() Val {
	k := w.Kind()
	if k == '-' || '0' <= k && k <= '9' {
		k = '0'
	}
	return Val{Kind: k, Start: w.pos, End: w.pos}
}

// Open enters the object or array at the current position.
func (w *Walker) Open() {
	if w.dead {
		return
	}
	if len(w.path) >= w.lim.MaxDepth {
		w.limit("more than "+strconv.Itoa(w.lim.MaxDepth)+" levels of objects and arrays", "a value within the limit")
		return
	}
	w.path = append(w.path, seg{end: w.b[w.pos] + 2, first: len(w.seen)}) // } and ] stand two behind { and [
	w.pos++
}

// More moves to the value of the innermost container's next member or item. At
// its end it leaves the container and returns false.
func (w *Walker) More() bool {
	if w.dead {
		return false
	}
	s := &w.path[len(w.path)-1]
	w.space()
	c := byte(0)
	if w.pos < len(w.b) {
		c = w.b[w.pos]
	}
	switch {
	case c == s.end:
		w.pos++
		if s.n > few && w.many != nil {
			delete(w.many, len(w.path))
		}
		w.seen = w.seen[:s.first]
		w.path = w.path[:len(w.path)-1]
		return false
	case s.n == 0 && w.pos < len(w.b):
	case c == ',' && s.n > 0:
		w.pos++
		w.space()
	default:
		s.n = 0 // the fault lies in the container itself
		w.unexpected()
		return false
	}
	s.n++
	s.nameEnd = 0 // until the name is read, there is none
	if s.end == ']' {
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
	if w.pos >= len(w.b) || w.b[w.pos] != '"' {
		w.unexpected()
		return false
	}
	start := w.pos
	end, esc := w.stringEnd(start)
	if w.dead {
		return false
	}
	s.nameStart, s.nameEnd, s.nameEsc = start, end, esc
	if w.repeated(s) {
		w.Fail(StageParse, ahp.FailMalformed, ahp.CodeParse, start, "a member name that the object already has", "each name once")
		if w.dead = !w.Lint; w.dead {
			return false
		}
	}
	w.pos = end
	w.space()
	if w.pos >= len(w.b) || w.b[w.pos] != ':' {
		w.unexpected()
		return false
	}
	w.pos++
	w.space()
	return true
}

// few is up to how many names of one object are compared one by one.
const few = 32

// repeated reports whether the object has the current name already, and notes it.
func (w *Walker) repeated(s *seg) bool {
	if s.n == 1 && !s.nameEsc { // most objects of one member need nothing more
		w.seen = append(w.seen, span{s.nameStart, s.nameEnd})
		s.mask = nameBit(w.b[s.nameStart+1 : s.nameEnd-1])
		return false
	}
	name := w.Name()
	if s.n > few {
		many := w.many[len(w.path)]
		if many == nil {
			many = make(map[string]struct{}, 2*few)
			for _, x := range w.seen[s.first:] {
				many[string(unquoteName(w.b[x.start:x.end]))] = struct{}{}
			}
			if w.many == nil {
				w.many = map[int]map[string]struct{}{}
			}
			w.many[len(w.path)] = many
		}
		if _, ok := many[string(name)]; ok {
			return true
		}
		many[string(name)] = struct{}{}
		return false
	}
	bit := nameBit(name)
	if s.mask&bit != 0 {
		for _, x := range w.seen[s.first:] {
			q := w.b[x.start:x.end]
			if bytes.IndexByte(q, '\\') >= 0 {
				if bytes.Equal(unquoteName(q), name) {
					return true
				}
			} else if bytes.Equal(q[1:len(q)-1], name) {
				return true
			}
		}
	}
	s.mask |= bit
	w.seen = append(w.seen, span{s.nameStart, s.nameEnd})
	return false
}

func nameBit(name []byte) uint64 {
	h := uint(len(name))
	if h > 0 {
		h += uint(name[0])*7 + uint(name[h-1])*13
	}
	return 1 << (h & 63)
}

// Name returns the current member's name. It is valid until the next call.
func (w *Walker) Name() []byte {
	s := &w.path[len(w.path)-1]
	name := w.b[s.nameStart+1 : s.nameEnd-1]
	if !s.nameEsc {
		return name
	}
	w.names = appendUnquoted(w.names[:0], name)
	return w.names
}

// NameVal returns the current member's name as a string value.
func (w *Walker) NameVal() Val {
	s := &w.path[len(w.path)-1]
	return Val{Kind: '"', Start: s.nameStart, End: s.nameEnd, Esc: s.nameEsc}
}

// Skip moves past the value at the current position and returns its span.
func (w *Walker) Skip() Val {
	if w.dead {
		return Val{Kind: 'n'}
	}
	if w.pos >= len(w.b) {
		w.unexpected()
		return Val{Kind: 'n'}
	}
	v := Val{Kind: w.b[w.pos], Start: w.pos}
	switch v.Kind {
	case '"':
		v.End, v.Esc = w.stringEnd(w.pos)
		w.pos = v.End
	case '{', '[':
		w.skipContainer()
		v.End = w.pos
	default:
		v.Kind = w.scalar()
		v.End = w.pos
	}
	if w.dead {
		return Val{Kind: 'n'}
	}
	return v
}

// scalar passes a literal or a number and returns its kind.
func (w *Walker) scalar() byte {
	rest := w.b[w.pos:]
	word := ""
	switch rest[0] {
	case 't':
		word = "true"
	case 'f':
		word = "false"
	case 'n':
		word = "null"
	default:
		n, ok := numberEnd(rest)
		w.pos += n
		if !ok {
			w.unexpected()
			return 0
		}
		return '0'
	}
	for i := range len(word) {
		if i == len(rest) || rest[i] != word[i] {
			w.pos += i
			w.unexpected()
			return 0
		}
	}
	w.pos += len(word)
	return word[0]
}

// skipContainer passes a value that the protocol leaves open.
func (w *Walker) skipContainer() {
	outer := !w.skipping
	base := len(w.path)
	if outer {
		w.skipping, w.base = true, base
	}
	w.Open()
	for !w.dead {
		if !w.More() {
			if len(w.path) == base {
				break
			}
			continue
		}
		switch w.Kind() {
		case '{', '[':
			w.Open()
		default:
			w.Skip()
		}
	}
	if outer && !w.dead {
		w.skipping = false
	}
}

// A Later is a member of an object to come back to.
type Later struct {
	at  seg
	pos int
}

// Later notes the current member, which the caller then skips.
func (w *Walker) Later() Later {
	s := w.path[len(w.path)-1]
	return Later{at: seg{end: s.end, n: s.n, nameStart: s.nameStart, nameEnd: s.nameEnd, nameEsc: s.nameEsc}, pos: w.pos}
}

// Valid reports whether l notes a member.
func (l Later) Valid() bool { return l.at.end != 0 }

// Off returns the offset of the member's value.
func (l Later) Off() int { return l.pos }

// Revisit reads the value of a member of the object that was just left, and comes
// back.
func (w *Walker) Revisit(l Later, read func()) {
	if w.dead {
		return
	}
	pos, depth := w.pos, len(w.path)
	l.at.first = len(w.seen)
	w.path = append(w.path, l.at)
	w.pos = l.pos
	read()
	if !w.dead {
		w.pos, w.path, w.seen = pos, w.path[:depth], w.seen[:l.at.first]
	}
}

// Ahead finds a member of the object at the current position without moving, and
// returns its value.
func (w *Walker) Ahead(name string) (v Val, ok bool) {
	if w.dead {
		return v, false
	}
	pos, depth, probs := w.pos, len(w.path), len(w.probs)
	w.Open()
	for w.More() {
		isIt := string(w.Name()) == name
		x := w.Skip()
		if isIt && !ok {
			v, ok = x, true
		}
	}
	if w.dead {
		return v, false
	}
	w.pos, w.path, w.probs = pos, w.path[:depth], w.probs[:probs] // the second reading reports again
	return v, ok
}
