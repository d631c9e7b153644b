package agenthooks

import (
	"github.com/go-json-experiment/json/jsontext"
)

// The walkers below step over JSON text that was checked before. On text that
// was not they may return nonsense, but they never panic and always end.

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the index behind the string that starts at i.
func skipString(b []byte, i int) int {
	for i++; i < len(b); i++ {
		switch b[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(b)
}

// skipValue returns the index behind the value that starts at i.
func skipValue(b []byte, i int) int {
	if i >= len(b) {
		return len(b)
	}
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
		depth := 0
		for i < len(b) {
			switch b[i] {
			case '"':
				i = skipString(b, i)
				continue
			case '{', '[':
				depth++
			case '}', ']':
				if depth--; depth == 0 {
					return i + 1
				}
			}
			i++
		}
		return len(b)
	}
	for i < len(b) {
		switch b[i] {
		case ',', '}', ']', ' ', '\n', '\t', '\r', ':':
			return i
		}
		i++
	}
	return i
}

// span is a part of a text, to exclusive; the zero span means absent.
type span struct{ from, to int }

func (s span) ok() bool { return s.to > s.from }

func (s span) of(b []byte) []byte { return b[s.from:s.to] }

// items walks the members of an object or the elements of an array.
type items struct {
	b      []byte
	i      int
	object bool
	first  bool
}

// walk starts at the object or array whose first byte is b[i].
func walk(b []byte, i int) items {
	return items{b: b, i: i + 1, object: i < len(b) && b[i] == '{', first: true}
}

// next returns the next member's name without quotes (nil in an array) and the
// span of its value.
func (w *items) next() (name []byte, value span, ok bool) {
	w.i = skipSpace(w.b, w.i)
	if !w.first {
		if w.i >= len(w.b) || w.b[w.i] != ',' {
			return nil, span{}, false
		}
		w.i = skipSpace(w.b, w.i+1)
	}
	w.first = false
	if w.i >= len(w.b) || w.b[w.i] == '}' || w.b[w.i] == ']' {
		return nil, span{}, false
	}
	if w.object {
		if w.b[w.i] != '"' {
			return nil, span{}, false
		}
		end := skipString(w.b, w.i)
		name = unquoted(w.b[w.i:end])
		w.i = skipSpace(w.b, end)
		if w.i >= len(w.b) || w.b[w.i] != ':' {
			return nil, span{}, false
		}
		w.i = skipSpace(w.b, w.i+1)
	}
	value = span{w.i, skipValue(w.b, w.i)}
	w.i = value.to
	return name, value, value.ok()
}

// unquoted returns the text of a JSON string. Without escapes that is a part
// of the input.
func unquoted(quoted []byte) []byte {
	for i := 1; i < len(quoted)-1; i++ {
		if quoted[i] == '\\' {
			out, _ := jsontext.AppendUnquote(nil, quoted)
			return out
		}
	}
	if len(quoted) < 2 {
		return nil
	}
	return quoted[1 : len(quoted)-1]
}

// member finds one member of the object at s.
func member(b []byte, s span, name string) span {
	if !s.ok() || b[s.from] != '{' {
		return span{}
	}
	w := walk(b, s.from)
	for {
		n, v, ok := w.next()
		if !ok {
			return span{}
		}
		if string(n) == name {
			return v
		}
	}
}

// element finds one element of the array at s.
func element(b []byte, s span, index int64) span {
	if !s.ok() || b[s.from] != '[' {
		return span{}
	}
	w := walk(b, s.from)
	for ; ; index-- {
		_, v, ok := w.next()
		if !ok {
			return span{}
		}
		if index == 0 {
			return v
		}
	}
}

// typeOf classifies a value by its first byte.
func typeOf(b []byte) jsonType {
	if len(b) == 0 {
		return anyJSON
	}
	switch b[0] {
	case '"', '{', '[':
		return jsonType(b[0])
	case 't', 'f':
		return boolJSON
	}
	return anyJSON
}

func isNull(b []byte) bool { return len(b) > 0 && b[0] == 'n' }

// text returns the text of a JSON string value, and whether it is one.
func text(b []byte) (string, bool) {
	if typeOf(b) != stringJSON {
		return "", false
	}
	return string(unquoted(b)), true
}
