package settle

import (
	"bytes"
	"slices"
	"strconv"

	"github.com/holdpoint/holdpoint/ahp"
)

// maxCompareDepth bounds the levels that are compared. What is deeper counts as
// different, which voids approvals and is the safe side.
const maxCompareDepth = 256

// equalValues compares two well-formed JSON values: the order of members, white
// space and the spelling of strings and numbers do not count (D-APP-7). Numbers are
// compared as decimals, so that no two are equal by rounding.
func equalValues(a, b []byte, depth int) bool {
	if bytes.Equal(a, b) {
		return true
	}
	if len(a) == 0 || len(b) == 0 || depth > maxCompareDepth {
		return false
	}
	switch c := a[0]; {
	case c == '{':
		if b[0] != '{' {
			return false
		}
		x, errX := parseObject(a)
		y, errY := parseObject(b)
		return errX == nil && errY == nil && x.equal(&y, depth)
	case c == '[':
		return b[0] == '[' && equalArrays(a, b, depth)
	case c == '"':
		if b[0] != '"' || bytes.IndexByte(a, '\\') < 0 && bytes.IndexByte(b, '\\') < 0 {
			return false
		}
		return bytes.Equal(unquote(a), unquote(b))
	case c == '-' || '0' <= c && c <= '9':
		return equalNumbers(a, b)
	}
	return false // true, false and null have one spelling
}

func equalArrays(a, b []byte, depth int) bool {
	i, j := skipSpace(a, 1), skipSpace(b, 1)
	for {
		if i >= len(a) || j >= len(b) {
			return false
		}
		if a[i] == ']' || b[j] == ']' {
			return a[i] == b[j]
		}
		x, y := skipValue(a, i), skipValue(b, j)
		if x < 0 || y < 0 || !equalValues(a[i:x], b[j:y], depth+1) {
			return false
		}
		i, j = next(a, x), next(b, y)
	}
}

// next returns where the next element starts, or the end of the array.
func next(b []byte, i int) int {
	if i = skipSpace(b, i); i < len(b) && b[i] == ',' {
		i = skipSpace(b, i+1)
	}
	return i
}

// elements calls f for each element of an array until one says false.
func elements(array []byte, f func(val []byte) bool) bool {
	for i := skipSpace(array, 1); i < len(array) && array[i] != ']'; {
		end := skipValue(array, i)
		if end < 0 || !f(array[i:end]) {
			return false
		}
		i = next(array, end)
	}
	return true
}

// A decimal is a number as sign, digits without zeros at either end, and the
// exponent of the place before the first digit. Zero has no digits and no sign.
type decimal struct {
	negative bool
	digits   []byte
	exp      int
}

func equalNumbers(a, b []byte) bool {
	x, okX := parseDecimal(a)
	y, okY := parseDecimal(b)
	return okX && okY && x.negative == y.negative && x.exp == y.exp && bytes.Equal(x.digits, y.digits)
}

// parseDecimal reads a number. It reports false for an exponent of more than nine
// digits: such a number, if it is not zero, equals only what is spelled like it.
func parseDecimal(s []byte) (decimal, bool) {
	var d decimal
	if len(s) > 0 && s[0] == '-' {
		d.negative, s = true, s[1:]
	}
	mantissa, exp := s, 0
	if i := bytes.IndexAny(s, "eE"); i >= 0 {
		text := bytes.TrimPrefix(s[i+1:], []byte("+"))
		digits := bytes.TrimLeft(bytes.TrimPrefix(text, []byte("-")), "0")
		if len(digits) > 9 {
			return decimal{}, len(bytes.Trim(s[:i], "0.")) == 0
		}
		n, err := strconv.Atoi(string(text))
		if err != nil {
			return d, false
		}
		mantissa, exp = s[:i], n
	}
	whole, fraction, _ := bytes.Cut(mantissa, []byte("."))
	d.digits = append(append(make([]byte, 0, len(mantissa)), whole...), fraction...)
	d.exp = exp + len(whole)
	for len(d.digits) > 0 && d.digits[0] == '0' {
		d.digits, d.exp = d.digits[1:], d.exp-1
	}
	d.digits = bytes.TrimRight(d.digits, "0")
	if len(d.digits) == 0 {
		return decimal{}, true // -0, 0.0 and 0e9 are zero
	}
	for _, c := range d.digits {
		if c < '0' || c > '9' {
			return decimal{}, false
		}
	}
	return d, true
}

func equalMessages(a, b []ahp.Message) bool {
	if len(a) != len(b) {
		return false
	}
	if len(a) == 0 || &a[0] == &b[0] {
		return true
	}
	return slices.EqualFunc(a, b, func(x, y ahp.Message) bool {
		return x.ID == y.ID && x.Role == y.Role && same(x.Synthesized, y.Synthesized) && equalParts(x.Parts, y.Parts)
	})
}

func equalParts(a, b []ahp.Part) bool {
	if len(a) != len(b) {
		return false
	}
	if len(a) == 0 || &a[0] == &b[0] {
		return true
	}
	for i := range a {
		if !equalPart(&a[i], &b[i]) {
			return false
		}
	}
	return true
}

func equalPart(x, y *ahp.Part) bool {
	gaps := x.Gap == y.Gap || x.Gap != nil && y.Gap != nil && x.Gap.Path == y.Gap.Path && x.Gap.Reason == y.Gap.Reason
	return gaps && x.ID == y.ID && x.Kind == y.Kind && x.MediaType == y.MediaType && x.Selection == y.Selection &&
		x.Category == y.Category && same(x.Text, y.Text) && x.Ref == y.Ref && same(x.Size, y.Size) &&
		x.SHA256 == y.SHA256 && same(x.Synthesized, y.Synthesized)
}

// same compares what two pointers point to.
func same[T comparable](x, y *T) bool {
	return x == y || x != nil && y != nil && *x == *y
}
