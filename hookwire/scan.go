package hookwire

import (
	"slices"
	"unicode/utf16"
	"unicode/utf8"
)

const maxSkipDepth = 128

// EventName returns the top-level member hook_event_name of an agent's payload:
// the client's way to know where it stands when the command line does not say.
// It is for the client's own fallback only; the gateway reads payloads strictly.
// The second result is false when the payload is not one JSON object with exactly
// one such member, a string, or is nested more than 128 deep.
func EventName(payload []byte) (string, bool) {
	s := scanner{b: payload}
	var name string
	n := 0
	ok := s.members(func(key string) bool {
		if key != "hook_event_name" {
			return s.skip(maxSkipDepth)
		}
		n++
		return s.text(&name)
	})
	if !ok || !s.end() || n != 1 || name == "" {
		return "", false
	}
	return name, true
}

// A scanner walks JSON text. Each method leaves the position behind what it read
// and returns false when the text is not what it must be.
type scanner struct {
	b []byte
	i int
}

func (s *scanner) space() {
	for s.i < len(s.b) {
		switch s.b[s.i] {
		case ' ', '\t', '\n', '\r':
			s.i++
		default:
			return
		}
	}
}

func (s *scanner) byte(c byte) bool {
	s.space()
	if s.i < len(s.b) && s.b[s.i] == c {
		s.i++
		return true
	}
	return false
}

func (s *scanner) end() bool {
	s.space()
	return s.i == len(s.b)
}

// object reads an object with distinct names, at most maxHeaderMembers of them.
func (s *scanner) object(member func(name string) bool) bool {
	var seen []string
	return s.members(func(name string) bool {
		if slices.Contains(seen, name) {
			return false
		}
		if len(seen) == maxHeaderMembers {
			return false
		}
		seen = append(seen, name)
		return member(name)
	})
}

// members reads an object and calls member at each value.
func (s *scanner) members(member func(name string) bool) bool {
	if !s.byte('{') {
		return false
	}
	if s.byte('}') {
		return true
	}
	for {
		var name string
		if !s.text(&name) || !s.byte(':') || !member(name) {
			return false
		}
		if s.byte('}') {
			return true
		}
		if !s.byte(',') {
			return false
		}
	}
}

// skip passes over one value of any kind.
func (s *scanner) skip(depth int) bool {
	s.space()
	if s.i >= len(s.b) || depth < 0 {
		return false
	}
	switch c := s.b[s.i]; {
	case c == '"':
		return s.text(nil)
	case c == '{':
		return s.members(func(string) bool { return s.skip(depth - 1) })
	case c == '[':
		s.i++
		if s.byte(']') {
			return true
		}
		for {
			if !s.skip(depth - 1) {
				return false
			}
			if s.byte(']') {
				return true
			}
			if !s.byte(',') {
				return false
			}
		}
	case c == '-' || '0' <= c && c <= '9':
		return s.number()
	}
	return s.word("true") || s.word("false") || s.word("null")
}

func (s *scanner) word(w string) bool {
	if len(s.b)-s.i >= len(w) && string(s.b[s.i:s.i+len(w)]) == w {
		s.i += len(w)
		return true
	}
	return false
}

func (s *scanner) boolean(v *bool) bool {
	s.space()
	*v = s.word("true")
	return *v || s.word("false")
}

func (s *scanner) digits() bool {
	start := s.i
	for s.i < len(s.b) && '0' <= s.b[s.i] && s.b[s.i] <= '9' {
		s.i++
	}
	return s.i > start
}

func (s *scanner) number() bool {
	if s.b[s.i] == '-' {
		s.i++
	}
	first := s.i
	if !s.digits() || s.b[first] == '0' && s.i > first+1 {
		return false
	}
	if s.i < len(s.b) && s.b[s.i] == '.' {
		s.i++
		if !s.digits() {
			return false
		}
	}
	if s.i < len(s.b) && s.b[s.i]|0x20 == 'e' {
		s.i++
		if s.i < len(s.b) && (s.b[s.i] == '+' || s.b[s.i] == '-') {
			s.i++
		}
		return s.digits()
	}
	return true
}

// count reads a whole number from 0 to 2^53, written without sign or exponent.
func (s *scanner) count(v *int64) bool {
	s.space()
	start := s.i
	if !s.digits() || s.i-start > 16 || s.b[start] == '0' && s.i > start+1 {
		return false
	}
	n := int64(0)
	for _, c := range s.b[start:s.i] {
		n = n*10 + int64(c-'0')
	}
	if n > 1<<53 {
		return false
	}
	*v = n
	return true
}

// text reads a string and stores its value in v, which may be nil.
func (s *scanner) text(v *string) bool {
	if !s.byte('"') {
		return false
	}
	start := s.i
	plain := true
	for s.i < len(s.b) {
		switch c := s.b[s.i]; {
		case c == '"':
			raw := s.b[start:s.i]
			s.i++
			if !utf8.Valid(raw) {
				return false
			}
			if plain {
				if v != nil {
					*v = string(raw)
				}
				return true
			}
			out, ok := unescape(raw)
			if ok && v != nil {
				*v = string(out)
			}
			return ok
		case c == '\\':
			plain = false
			s.i += 2
		case c < 0x20:
			return false
		default:
			s.i++
		}
	}
	return false
}

func unescape(raw []byte) ([]byte, bool) {
	out := make([]byte, 0, len(raw))
	for i := 0; i < len(raw); i++ {
		if raw[i] != '\\' {
			out = append(out, raw[i])
			continue
		}
		i++
		switch raw[i] {
		case '"', '\\', '/':
			out = append(out, raw[i])
		case 'b':
			out = append(out, '\b')
		case 'f':
			out = append(out, '\f')
		case 'n':
			out = append(out, '\n')
		case 'r':
			out = append(out, '\r')
		case 't':
			out = append(out, '\t')
		case 'u':
			r, ok := hex4(raw, i+1)
			if !ok {
				return nil, false
			}
			i += 4
			if utf16.IsSurrogate(r) {
				if i+2 >= len(raw) || raw[i+1] != '\\' || raw[i+2] != 'u' {
					return nil, false
				}
				low, ok := hex4(raw, i+3)
				if !ok {
					return nil, false
				}
				if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
					return nil, false
				}
				i += 6
			}
			out = utf8.AppendRune(out, r)
		default:
			return nil, false
		}
	}
	return out, true
}

func hex4(b []byte, i int) (rune, bool) {
	if i+4 > len(b) {
		return 0, false
	}
	r := rune(0)
	for _, c := range b[i : i+4] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c|0x20 && c|0x20 <= 'f':
			c = c | 0x20 - 'a' + 10
		default:
			return 0, false
		}
		r = r<<4 | rune(c)
	}
	return r, true
}
