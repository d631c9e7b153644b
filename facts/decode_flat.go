package facts

import "unicode/utf8"

// maxFlat bounds what is read so: beyond it a second copy costs more than it saves.
const maxFlat = 8 << 10

// decodeFlat reads an object of plain members: strings, numbers, true, false and
// null. That is what most tools are given, and the cost of a general decoder is
// felt there. Whatever is not plain (a value within a value, an escape by number,
// a name twice, any fault) is left to the general decoder, which also judges it.
func decodeFlat(raw []byte) (map[string]any, bool) {
	if len(raw) > maxFlat {
		return nil, false
	}
	d := flatDecoder{s: string(raw)}
	d.space()
	if !d.take('{') {
		return nil, false
	}
	out := make(map[string]any, 4)
	d.space()
	if d.take('}') {
		d.space()
		return out, d.i == len(d.s)
	}
	for {
		d.space()
		name, ok := d.text()
		if !ok {
			return nil, false
		}
		if _, twice := out[name]; twice {
			return nil, false
		}
		d.space()
		if !d.take(':') {
			return nil, false
		}
		d.space()
		v, ok := d.value()
		if !ok {
			return nil, false
		}
		out[name] = v
		d.space()
		if d.take(',') {
			continue
		}
		if !d.take('}') {
			return nil, false
		}
		d.space()
		return out, d.i == len(d.s)
	}
}

type flatDecoder struct {
	s string
	i int
}

func (d *flatDecoder) space() {
	for d.i < len(d.s) {
		switch d.s[d.i] {
		case ' ', '\t', '\n', '\r':
			d.i++
		default:
			return
		}
	}
}

func (d *flatDecoder) take(c byte) bool {
	if d.i < len(d.s) && d.s[d.i] == c {
		d.i++
		return true
	}
	return false
}

func (d *flatDecoder) word(w string) bool {
	if len(d.s)-d.i >= len(w) && d.s[d.i:d.i+len(w)] == w {
		d.i += len(w)
		return true
	}
	return false
}

func (d *flatDecoder) value() (any, bool) {
	if d.i >= len(d.s) {
		return nil, false
	}
	switch d.s[d.i] {
	case '"':
		s, ok := d.text()
		return s, ok
	case 't':
		return true, d.word("true")
	case 'f':
		return false, d.word("false")
	case 'n':
		return nil, d.word("null")
	}
	// Whole numbers of a few digits: line numbers and times.
	negative := d.take('-')
	first := d.i
	n := int64(0) // that many digits fit, and a double tells them apart
	for d.i < len(d.s) && d.s[d.i] >= '0' && d.s[d.i] <= '9' {
		n = 10*n + int64(d.s[d.i]-'0')
		d.i++
	}
	digits := d.i - first
	if digits == 0 || digits > 15 || digits > 1 && d.s[first] == '0' {
		return nil, false
	}
	if d.i < len(d.s) && (d.s[d.i] == '.' || d.s[d.i]|0x20 == 'e') {
		return nil, false
	}
	x := float64(n)
	if negative {
		x = -x // -0 too
	}
	return x, true
}

// text reads a string, which shares the memory of the whole unless it has escapes.
func (d *flatDecoder) text() (string, bool) {
	if !d.take('"') {
		return "", false
	}
	from := d.i
	ascii := true
	for ; d.i < len(d.s); d.i++ {
		switch c := d.s[d.i]; {
		case c == '"':
			out := d.s[from:d.i]
			d.i++
			return out, ascii || utf8.ValidString(out)
		case c == '\\':
			return d.escaped(from)
		case c < ' ':
			return "", false
		case c >= utf8.RuneSelf:
			ascii = false
		}
	}
	return "", false
}

// escaped reads on at the first escape of a string.
func (d *flatDecoder) escaped(from int) (string, bool) {
	buf := make([]byte, 0, len(d.s)-from)
	buf = append(buf, d.s[from:d.i]...)
	for d.i < len(d.s) {
		c := d.s[d.i]
		d.i++
		switch {
		case c == '"':
			return string(buf), utf8.Valid(buf)
		case c < ' ':
			return "", false
		case c != '\\':
			buf = append(buf, c)
			continue
		}
		if d.i >= len(d.s) {
			return "", false
		}
		c = d.s[d.i]
		d.i++
		switch c {
		case '"', '\\', '/':
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
		default:
			return "", false
		}
		buf = append(buf, c)
	}
	return "", false
}
