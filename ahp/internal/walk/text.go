package walk

import (
	"bytes"
	"encoding/binary"
	"math/bits"
	"slices"
	"unicode/utf16"
	"unicode/utf8"

	"github.com/holdpoint/holdpoint/ahp"
)

const (
	ones = 0x0101010101010101
	high = 0x8080808080808080
)

// plain reports whether each byte of x is ASCII that a string holds as it is. It is the
// short test for the most of a text: a borrow can only come from a byte that is not.
func plain(x uint64) bool {
	return (x|(x-ones*' ')|((x^ones*'"')-ones)|((x^ones*'\\')-ones))&high == 0
}

// plainRun returns how many bytes at the begin of b are surely plain, in eights. It is a
// function of its own because its loop, inside stringEnd, is short of registers.
//
//go:noinline
func plainRun(b []byte) int {
	n := 0
	for ; len(b) >= 16; b = b[16:] {
		if !plain(binary.LittleEndian.Uint64(b)) {
			return n
		}
		if !plain(binary.LittleEndian.Uint64(b[8:])) {
			return n + 8
		}
		n += 16
	}
	return n
}

// special has a bit in each byte of x that ends a plain run inside a string: a quote,
// a backslash or a control character. Only the lowest one is exact.
func special(x uint64) uint64 {
	quote := x ^ ones*'"'
	slash := x ^ ones*'\\'
	return ((quote-ones)&^quote | (slash-ones)&^slash | (x-ones*0x20)&^x) & high
}

// stringEnd returns the position after the string at i, and whether it has escapes.
// At a fault it reports that. A string is the only place where bytes beyond ASCII may
// stand, so that UTF-8 is checked here.
func (w *Walker) stringEnd(i int) (end int, esc bool) {
	b := w.b
	start := i + 1
	var wide uint64 // has a high bit if a byte of the string may be beyond ASCII
	for i = start; ; {
		for i+8 <= len(b) {
			x := binary.LittleEndian.Uint64(b[i:])
			if plain(x) {
				if i += 8; i-start >= 32 { // most strings are not worth a call
					i += plainRun(b[i:])
				}
				continue
			}
			wide |= x
			if m := special(x); m != 0 {
				i += bits.TrailingZeros64(m) >> 3
				break
			}
			i += 8
		}
		for i < len(b) && b[i] != '"' && b[i] != '\\' && b[i] >= 0x20 {
			wide |= uint64(b[i])
			i++
		}
		if i >= len(b) || b[i] != '\\' {
			break
		}
		esc = true
		n := escapeLen(b[i:])
		if n <= 0 {
			break
		}
		i += n
	}
	if i < len(b) && b[i] == '"' && (wide&high == 0 || utf8.Valid(b[start:i])) {
		return i + 1, esc
	}
	w.badString(start, i)
	return len(b), esc
}

// badString reports what is wrong with a string that begins at start and is good up to
// i, but perhaps for its UTF-8.
func (w *Walker) badString(start, i int) {
	b := w.b
	if bad := invalidAt(b[:i], start); bad < i && (i < len(b) || utf8.FullRune(b[bad:])) {
		w.notUTF8(bad)
		return
	}
	switch {
	case i >= len(b):
		w.cutOff()
	case b[i] != '\\':
		w.fault(i, "a raw control character inside a string", "an escape")
	case escapeLen(b[i:]) < 0:
		w.fault(i, "half of a surrogate pair", "whole Unicode characters")
	case len(b)-i < 6 && incomplete(b[i:]):
		w.cutOff()
	default:
		w.fault(i, "an escape that JSON does not have", "an escape of JSON")
	}
}

// invalidAt returns the position of the first byte from i on that is not UTF-8.
func invalidAt(b []byte, i int) int {
	for i < len(b) {
		r, n := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && n == 1 {
			break
		}
		i += n
	}
	return i
}

// incomplete reports whether the text may have been cut off inside this escape.
func incomplete(b []byte) bool {
	if len(b) == 1 {
		return true
	}
	if b[1] != 'u' {
		return false
	}
	for _, c := range b[2:] {
		if unhex(c) < 0 {
			return false
		}
	}
	return true
}

// escapeLen returns the length of the escape at the begin of b, a surrogate pair
// counting as one: 0 if it is none, -1 if it is half a pair.
func escapeLen(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		r := hex4(b[2:])
		switch {
		case r < 0:
			return 0
		case !utf16.IsSurrogate(r):
			return 6
		case r < 0xdc00 && len(b) >= 12 && b[6] == '\\' && b[7] == 'u' && hex4(b[8:])&^0x3ff == 0xdc00:
			return 12
		}
		return -1
	}
	return 0
}

func hex4(b []byte) rune {
	if len(b) < 4 {
		return -1
	}
	r := rune(0)
	for _, c := range b[:4] {
		x := unhex(c)
		if x < 0 {
			return -1
		}
		r = r<<4 | x
	}
	return r
}

func unhex(c byte) rune {
	switch {
	case '0' <= c && c <= '9':
		return rune(c - '0')
	case 'a' <= c|0x20 && c|0x20 <= 'f':
		return rune(c|0x20-'a') + 10
	}
	return -1
}

// numberEnd returns the length of the JSON number at the begin of b; where there is
// none, how far it could have been one.
func numberEnd(b []byte) (n int, ok bool) {
	digits := func(i int) int {
		for i < len(b) && '0' <= b[i] && b[i] <= '9' {
			i++
		}
		return i
	}
	i := 0
	if b[0] == '-' {
		i++
	}
	switch j := digits(i); {
	case j == i:
		return i, false
	case b[i] == '0':
		i++ // a digit behind it is found to be no comma
	default:
		i = j
	}
	if i < len(b) && b[i] == '.' {
		j := digits(i + 1)
		if j == i+1 {
			return j, false
		}
		i = j
	}
	if i < len(b) && b[i]|0x20 == 'e' {
		j := i + 1
		if j < len(b) && (b[j] == '+' || b[j] == '-') {
			j++
		}
		k := digits(j)
		if k == j {
			return k, false
		}
		i = k
	}
	return i, true
}

// appendUnquoted appends the value of a valid string, given without its quotes.
func appendUnquoted(dst, s []byte) []byte {
	for {
		i := bytes.IndexByte(s, '\\')
		if i < 0 {
			return append(dst, s...)
		}
		dst = append(dst, s[:i]...)
		s = s[i:]
		switch n := escapeLen(s); n {
		case 2:
			c := s[1]
			switch c {
			case 'b':
				c = '\b'
			case 'f':
				c = '\f'
			case 'n':
				c = '\n'
			case 'r':
				c = '\r'
			case 't':
				c = '\t'
			}
			dst, s = append(dst, c), s[2:]
		case 6:
			dst, s = utf8.AppendRune(dst, hex4(s[2:])), s[6:]
		case 12:
			dst, s = utf8.AppendRune(dst, utf16.DecodeRune(hex4(s[2:]), hex4(s[8:]))), s[12:]
		default:
			return dst // not valid
		}
	}
}

func unquoteName(quoted []byte) []byte {
	s := quoted[1 : len(quoted)-1]
	if bytes.IndexByte(s, '\\') < 0 {
		return s
	}
	return appendUnquoted(nil, s)
}

// Content returns the value of a string. It is valid until the next call.
func (w *Walker) Content(v Val) []byte {
	if !v.Esc {
		return w.b[v.Start+1 : v.End-1]
	}
	w.buf = appendUnquoted(w.buf[:0], w.b[v.Start+1:v.End-1])
	return w.buf
}

// Is reports whether v is the string s.
func (w *Walker) Is(v Val, s string) bool {
	return v.Kind == '"' && string(w.Content(v)) == s
}

// Same reports whether a and b are strings of the same value.
func (w *Walker) Same(a, b Val) bool {
	if a.Kind != '"' || b.Kind != '"' {
		return false
	}
	if !a.Esc && !b.Esc {
		return bytes.Equal(w.b[a.Start:a.End], w.b[b.Start:b.End])
	}
	x := string(w.Content(a)) // Content has room for one
	return x == string(w.Content(b))
}

// Text returns the text of a value. It is a piece of the text that is read.
func (w *Walker) Text(v Val) []byte { return w.b[v.Start:v.End] }

// small is up to which size one copy of the text serves all strings of it. A larger
// one would be kept in memory by the shortest of them.
const small = 8 << 10

// Str returns the value of a string for the model.
func (w *Walker) Str(v Val) string {
	if !w.Build || w.dead || v.End-v.Start <= 2 {
		return ""
	}
	if v.Esc {
		return string(w.Content(v))
	}
	if w.text == "" && len(w.b) <= small {
		w.text = string(w.b)
	}
	if w.text != "" {
		return w.text[v.Start+1 : v.End-1]
	}
	return string(w.b[v.Start+1 : v.End-1])
}

// Shared returns the copy of the text of which the strings are pieces; "" if each has
// memory of its own.
func (w *Walker) Shared() string { return w.text }

// Raw returns the text of a value for the model.
func (w *Walker) Raw(v Val) ahp.Raw {
	if !w.Build || w.dead {
		return nil
	}
	if w.own == nil {
		if len(w.b) > small && v.End-v.Start < len(w.b)/4 {
			return slices.Clone(ahp.Raw(w.b[v.Start:v.End]))
		}
		w.own = slices.Clone(w.b)
	}
	return ahp.Raw(w.own[v.Start:v.End:v.End])
}

// Borrow makes raw values pieces of the text itself, without a copy.
func (w *Walker) Borrow() { w.own = w.b }

// Keep adds the current member, already skipped as v, to the unknown ones.
func (w *Walker) Keep(m *ahp.Members, v Val) {
	if !w.Build || w.dead {
		return
	}
	*m = append(*m, ahp.Member{Name: w.Str(w.NameVal()), Value: w.Raw(v)})
}

// Check reports whether b is one JSON value of at most depth levels and otherwise
// within l, and of which kind, as [Val.Kind] has it.
func Check(b []byte, l Limits, depth int) (kind byte, ok bool) {
	if len(b) == 0 {
		return 0, false
	}
	l.MaxDepth = depth
	l.SingleLine = false
	w := checkers.Get().(*Walker)
	w.Reset(b, l)
	if w.Start() {
		kind = w.Skip().Kind
		w.End()
	}
	ok = !w.dead
	w.Release()
	checkers.Put(w)
	return kind, ok
}
