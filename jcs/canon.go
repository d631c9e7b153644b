package jcs

import (
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// writer reads JSON text and writes its canonical form in one pass. It accepts
// exactly what the checks of this package accept; on everything else it gives
// up without saying why, and diagnose looks again.
//
// jsontext formats, validates again and then reorders in three passes;
// BenchmarkJSONText keeps the comparison. The text of numbers is still
// jsontext's.
type writer struct {
	src      []byte
	dst      []byte
	maxDepth int
	check    bool // the output is thrown away: numbers may stay as they are
	big      bool // integers beyond ±(2^53-1) pass; only with check

	members []objectMember // of the objects that are open, innermost last
	scratch []byte
}

// objectMember is where a member of an open object stands in dst.
type objectMember struct {
	from, colon, to int
	plain           bool // the name is ASCII without escapes
}

var writers = sync.Pool{New: func() any { return new(writer) }}

// release gives w back. What one large input needed is not kept.
func (w *writer) release() {
	w.src, w.dst = nil, nil
	if cap(w.scratch) > maxKept {
		w.scratch = nil
	}
	if cap(w.members) > 1<<10 {
		w.members = nil
	}
	w.members = w.members[:0]
	writers.Put(w)
}

// run writes the whole text, false where it does not like it.
func (w *writer) run() bool {
	i, ok := w.value(w.space(0), 1)
	return ok && w.space(i) == len(w.src)
}

func (w *writer) space(i int) int {
	for i < len(w.src) && (w.src[i] == ' ' || w.src[i] == '\n' || w.src[i] == '\t' || w.src[i] == '\r') {
		i++
	}
	return i
}

// value writes the value at i, which has the nesting level, and returns the
// index behind it.
func (w *writer) value(i, level int) (int, bool) {
	if i >= len(w.src) || level > w.maxDepth {
		return i, false
	}
	switch c := w.src[i]; c {
	case '"':
		i, _, ok := w.str(i)
		return i, ok
	case '{':
		return w.object(i, level)
	case '[':
		return w.array(i, level)
	case 't':
		return w.literal(i, "true")
	case 'f':
		return w.literal(i, "false")
	case 'n':
		return w.literal(i, "null")
	default:
		return w.number(i)
	}
}

func (w *writer) literal(i int, text string) (int, bool) {
	if len(w.src)-i < len(text) || string(w.src[i:i+len(text)]) != text {
		return i, false
	}
	w.dst = append(w.dst, text...)
	return i + len(text), true
}

func (w *writer) array(i, level int) (int, bool) {
	w.dst = append(w.dst, '[')
	i = w.space(i + 1)
	if i < len(w.src) && w.src[i] == ']' {
		w.dst = append(w.dst, ']')
		return i + 1, true
	}
	for {
		var ok bool
		if i, ok = w.value(i, level+1); !ok {
			return i, false
		}
		i = w.space(i)
		if i >= len(w.src) {
			return i, false
		}
		switch w.src[i] {
		case ',':
			w.dst = append(w.dst, ',')
			i = w.space(i + 1)
		case ']':
			w.dst = append(w.dst, ']')
			return i + 1, true
		default:
			return i, false
		}
	}
}

func (w *writer) object(i, level int) (int, bool) {
	w.dst = append(w.dst, '{')
	base, sorted := len(w.members), true
	i = w.space(i + 1)
	if i < len(w.src) && w.src[i] == '}' {
		w.dst = append(w.dst, '}')
		return i + 1, true
	}
	for {
		if i >= len(w.src) || w.src[i] != '"' {
			return i, false
		}
		m := objectMember{from: len(w.dst)}
		var ok bool
		if i, m.plain, ok = w.str(i); !ok {
			return i, false
		}
		m.colon = len(w.dst)
		i = w.space(i)
		if i >= len(w.src) || w.src[i] != ':' {
			return i, false
		}
		w.dst = append(w.dst, ':')
		if i, ok = w.value(w.space(i+1), level+1); !ok {
			return i, false
		}
		m.to = len(w.dst)
		if sorted && len(w.members) > base {
			switch c := w.compare(w.members[len(w.members)-1], m); {
			case c == 0:
				return i, false // a duplicate name
			case c > 0:
				sorted = false
			}
		}
		w.members = append(w.members, m)
		i = w.space(i)
		if i >= len(w.src) {
			return i, false
		}
		switch w.src[i] {
		case ',':
			w.dst = append(w.dst, ',')
			i = w.space(i + 1)
			continue
		case '}':
		default:
			return i, false
		}
		if !sorted && !w.sort(base) {
			return i, false
		}
		w.members = w.members[:base]
		w.dst = append(w.dst, '}')
		return i + 1, true
	}
}

// sort puts the members from base on in canonical order, in dst; false when
// two have one name.
func (w *writer) sort(base int) bool {
	list := w.members[base:]
	from, to := list[0].from, list[len(list)-1].to
	slices.SortFunc(list, w.compare)
	w.scratch = slices.Grow(w.scratch[:0], to-from)
	for i, m := range list {
		if i > 0 {
			if w.compare(list[i-1], m) == 0 {
				return false
			}
			w.scratch = append(w.scratch, ',')
		}
		w.scratch = append(w.scratch, w.dst[m.from:m.to]...)
	}
	copy(w.dst[from:to], w.scratch)
	return true
}

// compare orders names by UTF-16 code units (RFC 8785 §3.2.3).
func (w *writer) compare(a, b objectMember) int {
	x, y := w.dst[a.from+1:a.colon-1], w.dst[b.from+1:b.colon-1]
	if a.plain && b.plain {
		// ASCII: bytes are code units.
		n := min(len(x), len(y))
		for i := range n {
			if x[i] != y[i] {
				return int(x[i]) - int(y[i])
			}
		}
		return len(x) - len(y)
	}
	for len(x) > 0 && len(y) > 0 {
		r, n := nextRune(x)
		s, m := nextRune(y)
		if r != s {
			return int(unitOrder(r)) - int(unitOrder(s))
		}
		x, y = x[n:], y[m:]
	}
	return len(x) - len(y)
}

// unitOrder maps code points to an order that is that of their UTF-16 units:
// U+E000…U+FFFF come after the pairs, which start with U+D800…U+DBFF.
func unitOrder(r rune) rune {
	if r >= 0xE000 && r <= 0xFFFF {
		return r + 0x110000
	}
	return r
}

// nextRune reads one code point of a canonical string.
func nextRune(b []byte) (rune, int) {
	if b[0] != '\\' {
		return utf8.DecodeRune(b)
	}
	switch b[1] {
	case 'b':
		return '\b', 2
	case 't':
		return '\t', 2
	case 'n':
		return '\n', 2
	case 'f':
		return '\f', 2
	case 'r':
		return '\r', 2
	case 'u': // only \u00xx is left in canonical text
		return hexDigit(b[4])<<4 | hexDigit(b[5]), 6
	}
	return rune(b[1]), 2
}

// plainASCII marks the bytes that a string may hold as they are.
var plainASCII = func() (t [256]bool) {
	for c := 0x20; c < utf8.RuneSelf; c++ {
		t[c] = c != '"' && c != '\\'
	}
	return t
}()

// plainString reports whether b is a string that is its own canonical form:
// ids and names as a rule.
func plainString(b []byte) bool {
	if len(b) < 2 || b[0] != '"' || b[len(b)-1] != '"' {
		return false
	}
	for _, c := range b[1 : len(b)-1] {
		if !plainASCII[c] {
			return false
		}
	}
	return true
}

// str writes the string that starts at i; plain means ASCII without escapes.
func (w *writer) str(i int) (next int, plain, ok bool) {
	src := w.src
	w.dst = append(w.dst, '"')
	i++
	plain = true
	for {
		from := i
		for i < len(src) && plainASCII[src[i]] {
			i++
		}
		w.dst = append(w.dst, src[from:i]...)
		if i >= len(src) {
			return i, plain, false
		}
		switch c := src[i]; {
		case c == '"':
			w.dst = append(w.dst, '"')
			return i + 1, plain, true
		case c == '\\':
			plain = false
			var ok bool
			if i, ok = w.escape(i); !ok {
				return i, plain, false
			}
		case c >= utf8.RuneSelf:
			plain = false
			r, n := utf8.DecodeRune(src[i:])
			if r == utf8.RuneError && n == 1 {
				return i, plain, false
			}
			w.dst = append(w.dst, src[i:i+n]...)
			i += n
		default:
			return i, plain, false // a raw control character
		}
	}
}

// escape writes what the escape at i stands for.
func (w *writer) escape(i int) (int, bool) {
	if i+1 >= len(w.src) {
		return i, false
	}
	switch c := w.src[i+1]; c {
	case '"', '\\':
		w.dst = append(w.dst, '\\', c)
	case 'b', 'f', 'n', 'r', 't':
		w.dst = append(w.dst, '\\', c)
	case '/':
		w.dst = append(w.dst, '/')
	case 'u':
		return w.unicode(i)
	default:
		return i, false
	}
	return i + 2, true
}

const lowerHex = "0123456789abcdef"

func (w *writer) unicode(i int) (int, bool) {
	r, ok := w.hex4(i)
	if !ok {
		return i, false
	}
	i += 6
	switch {
	case r >= 0xDC00 && r <= 0xDFFF:
		return i, false
	case r >= 0xD800 && r <= 0xDBFF:
		low, ok := w.hex4(i)
		if !ok || low < 0xDC00 || low > 0xDFFF {
			return i, false
		}
		i += 6
		r = 0x10000 + (r-0xD800)<<10 + (low - 0xDC00)
	}
	switch r {
	case '"', '\\':
		w.dst = append(w.dst, '\\', byte(r))
	case '\b':
		w.dst = append(w.dst, '\\', 'b')
	case '\t':
		w.dst = append(w.dst, '\\', 't')
	case '\n':
		w.dst = append(w.dst, '\\', 'n')
	case '\f':
		w.dst = append(w.dst, '\\', 'f')
	case '\r':
		w.dst = append(w.dst, '\\', 'r')
	default:
		if r < 0x20 {
			w.dst = append(w.dst, '\\', 'u', '0', '0', lowerHex[r>>4], lowerHex[r&15])
		} else {
			w.dst = utf8.AppendRune(w.dst, r)
		}
	}
	return i, true
}

// hex4 reads \uXXXX at i.
func (w *writer) hex4(i int) (rune, bool) {
	if len(w.src)-i < 6 || w.src[i] != '\\' || w.src[i+1] != 'u' {
		return 0, false
	}
	r := rune(0)
	for _, c := range w.src[i+2 : i+6] {
		d := hexDigit(c)
		if d < 0 {
			return 0, false
		}
		r = r<<4 | d
	}
	return r, true
}

func hexDigit(c byte) rune {
	switch {
	case '0' <= c && c <= '9':
		return rune(c - '0')
	case 'a' <= c && c <= 'f':
		return rune(c-'a') + 10
	case 'A' <= c && c <= 'F':
		return rune(c-'A') + 10
	}
	return -1
}

// number writes the number at i.
func (w *writer) number(i int) (int, bool) {
	end, integer, ok := numberEnd(w.src, i)
	if !ok {
		return i, false
	}
	tok := w.src[i:end]
	f, fault := numberValue(tok, integer, w.big)
	switch {
	case fault != "":
		return i, false
	case w.check:
	case !integer:
		if f == 0 {
			f = 0 // minus zero has no sign in canonical text
		}
		w.dst = jsontext.AppendFloat(w.dst, f, 64)
		return end, true
	case len(tok) == 2 && tok[0] == '-' && tok[1] == '0':
		tok = tok[1:]
	}
	w.dst = append(w.dst, tok...)
	return end, true
}
