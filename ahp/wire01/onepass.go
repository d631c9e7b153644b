package wire01

import (
	"encoding/binary"
	"unicode/utf8"
)

// This file reads text that nobody has checked yet, so that a good message is gone
// over once. It accepts only what jsontext accepts (a fuzz target holds that), and
// not all of that: names with escapes, say, and objects with many members. Whatever
// it does not accept, or finds a problem in, it gives up; the message is then read
// from the start in two passes, which know every case and every error.

// maxOnepassMembers bounds the members whose names are compared with each other.
const maxOnepassMembers = 48

// onepass prepares a first reading of text that may be anything. It is false when
// the text is beyond a limit that both readings share.
func (w *walker) onepass() bool {
	if !w.bounded() {
		return false
	}
	w.unchecked = true
	w.start()
	return true
}

// whole ends a reading in one pass and reports whether all of the text was read
// and is good. If not, the walker is as at the start, for a reading in two passes.
func (w *walker) whole() bool {
	if !w.dead && len(w.path) == 0 {
		if w.space(); w.pos == len(w.b) {
			return true
		}
	}
	w.unchecked, w.dead, w.skipping = false, false, false
	w.path, w.known = w.path[:0], w.known[:0]
	w.eventID = val{}
	return false
}

// giveUp ends a reading in one pass.
func (w *walker) giveUp() bool {
	w.dead = true
	return false
}

// moreUnchecked is more.
func (w *walker) moreUnchecked() bool {
	s := &w.path[len(w.path)-1]
	w.space()
	if w.pos >= len(w.b) {
		return w.giveUp()
	}
	c := w.b[w.pos]
	if s.object && c == '}' || !s.object && c == ']' {
		w.pos++
		w.known = w.known[:s.known]
		w.path = w.path[:len(w.path)-1]
		return false
	}
	if s.n > 0 {
		if c != ',' {
			return w.giveUp()
		}
		w.pos++
		w.space()
	}
	s.n++
	if !s.object {
		return s.n <= w.lim.MaxItems || w.giveUp()
	}
	if s.n > w.lim.MaxMembers || s.n > maxOnepassMembers || w.pos >= len(w.b) || w.b[w.pos] != '"' {
		return w.giveUp()
	}
	s.nameStart = w.pos
	end, esc := w.stringUnchecked(w.pos)
	if esc || w.dead {
		return w.giveUp()
	}
	s.nameEnd, w.pos = end, end
	name := w.b[s.nameStart:end]
	for _, k := range w.known[s.known:] {
		if k.end-k.start == len(name) && string(w.b[k.start:k.end]) == string(name) {
			return w.giveUp()
		}
	}
	w.known = append(w.known, span{s.nameStart, end})
	w.space()
	if w.pos >= len(w.b) || w.b[w.pos] != ':' {
		return w.giveUp()
	}
	w.pos++
	w.space()
	return true
}

// skipUnchecked is skip.
func (w *walker) skipUnchecked() val {
	v := w.here()
	switch v.kind {
	case '"':
		v.end, v.esc = w.stringUnchecked(v.start)
	case '0':
		v.end = w.numberUnchecked(v.start)
	case 't':
		v.end = w.wordUnchecked("true")
	case 'f':
		v.end = w.wordUnchecked("false")
	case 'n':
		v.end = w.wordUnchecked("null")
	case '{', '[':
		base := len(w.path)
		for w.open(); !w.dead; {
			switch {
			case !w.more():
				if len(w.path) == base {
					v.end = w.pos
					return v
				}
			case w.kind() == '{' || w.kind() == '[':
				w.open()
			default:
				w.skipUnchecked()
			}
		}
	default:
		w.giveUp()
	}
	if w.dead {
		return val{kind: 'n'}
	}
	w.pos = v.end
	return v
}

func (w *walker) wordUnchecked(word string) int {
	end := w.pos + len(word)
	if end > len(w.b) || string(w.b[w.pos:end]) != word {
		w.giveUp()
	}
	return end
}

// numberUnchecked returns the end of the number at i (RFC 8259 section 6).
func (w *walker) numberUnchecked(i int) int {
	b := w.b
	digits := func() bool {
		start := i
		for i < len(b) && digit(b[i]) {
			i++
		}
		return i > start
	}
	if b[i] == '-' {
		i++
	}
	zero := i < len(b) && b[i] == '0'
	first := i
	ok := digits() && (!zero || i == first+1)
	if ok && i < len(b) && b[i] == '.' {
		i++
		ok = digits()
	}
	if ok && i < len(b) && b[i]|0x20 == 'e' {
		if i++; i < len(b) && (b[i] == '+' || b[i] == '-') {
			i++
		}
		ok = digits()
	}
	if !ok {
		w.giveUp()
	}
	return i
}

// stringUnchecked returns the position after the string at i, and whether it has
// escapes.
func (w *walker) stringUnchecked(i int) (end int, esc bool) {
	const ones = 0x0101010101010101
	b := w.b
	start := i + 1
	wide := false
	for i = start; ; {
		// Eight at a time, while none is a quote, a backslash, a control or beyond
		// ASCII. A borrow can only come from a byte that is one of these.
		for i+8 <= len(b) {
			x := binary.LittleEndian.Uint64(b[i:])
			if (x|(x-' '*ones)|((x^'"'*ones)-ones)|((x^'\\'*ones)-ones))&(0x80*ones) != 0 {
				break
			}
			i += 8
		}
		for stop := min(i+8, len(b)); i < stop; {
			switch c := b[i]; {
			case c == '"':
				if wide && !utf8.Valid(b[start:i]) {
					w.giveUp()
				}
				return i + 1, esc
			case c == '\\':
				esc = true
				n := escape(b[i:])
				if n == 0 {
					w.giveUp()
					return i, esc
				}
				i += n
			case c < ' ':
				w.giveUp()
				return i, esc
			default:
				wide = wide || c >= utf8.RuneSelf
				i++
			}
		}
		if i >= len(b) {
			w.giveUp()
			return i, esc
		}
	}
}

// escape returns the length of the escape at the start of b, both halves of a
// surrogate pair included, or 0 if it is none.
func escape(b []byte) int {
	if len(b) < 2 {
		return 0
	}
	switch b[1] {
	case '"', '\\', '/', 'b', 'f', 'n', 'r', 't':
		return 2
	case 'u':
		switch r := hex4(b); {
		case r < 0 || 0xdc00 <= r && r < 0xe000:
			return 0
		case r < 0xd800 || r >= 0xe000:
			return 6
		}
		if low := hex4(b[6:]); 0xdc00 <= low && low < 0xe000 {
			return 12
		}
	}
	return 0
}

// hex4 returns the value of the \u escape at the start of b, or -1.
func hex4(b []byte) int {
	if len(b) < 6 || b[0] != '\\' || b[1] != 'u' {
		return -1
	}
	r := 0
	for _, c := range b[2:6] {
		switch {
		case !hex(c):
			return -1
		case digit(c):
			r = r<<4 | int(c-'0')
		default:
			r = r<<4 | int(c|0x20-'a'+10)
		}
	}
	return r
}

func digit(c byte) bool { return '0' <= c && c <= '9' }
func hex(c byte) bool   { return digit(c) || 'a' <= c|0x20 && c|0x20 <= 'f' }
