package wiredraft

import (
	"bytes"
	"slices"
	"strconv"
	"sync"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/internal/walk"
)

// An encoder writes one message behind what dst holds, and checks each part as it
// writes it. It writes on after a fault: where the fault is, is then found by reading
// what was written, which nothing else costs.
type encoder struct {
	b     []byte
	start int
	depth int // open objects and arrays

	fault           bool
	found, expected string // of the first fault, for one that reading does not find
	class           ahp.FailureClass
}

var encoders = sync.Pool{New: func() any { return new(encoder) }}

func newEncoder(dst []byte) *encoder {
	e := encoders.Get().(*encoder)
	*e = encoder{b: dst, start: len(dst)}
	return e
}

func (e *encoder) free() {
	e.b = nil
	encoders.Put(e)
}

// bad notes a fault.
func (e *encoder) bad(found, expected string) {
	if !e.fault {
		e.fault, e.found, e.expected = true, found, expected
	}
}

// lacks notes that something required is absent.
func (e *encoder) lacks(name string) {
	if !e.fault {
		e.bad("nothing in "+name, "a value")
	}
}

// finish returns what was written, or why it is not valid: of class c if that is not
// empty. With read, a fault is looked for in the text.
func (e *encoder) finish(c ahp.FailureClass, read func(*decoder)) ([]byte, error) {
	n := len(e.b) - e.start
	if !e.fault && n <= DefaultMaxBytes {
		return e.b, nil
	}
	d := newDecoder(e.b[e.start:], Limits{}.complete())
	defer d.free()
	if d.Start() {
		read(d)
		d.End()
	}
	err := &Error{Class: ahp.FailMalformed, Code: ahp.CodeInternal, Found: e.found, Expected: e.expected}
	if list := d.Problems(); len(list) > 0 {
		err = newError(&list[0])
	}
	if e.class != "" {
		err.Class = e.class
	}
	if c != "" {
		err.Class = c
	}
	return e.b[:e.start], err
}

func (e *encoder) text(s string) { e.b = append(e.b, s...) }

// open and shut write the brackets of an object, list and shutList those of an array.
func (e *encoder) open() {
	e.b = append(e.b, '{')
	e.depth++
}

func (e *encoder) shut() {
	e.b = append(e.b, '}')
	e.depth--
}

func (e *encoder) list(n int) {
	if n > DefaultMaxItems {
		e.bad("too many items", "at most "+strconv.Itoa(DefaultMaxItems))
	}
	e.b = append(e.b, '[')
	e.depth++
}

func (e *encoder) shutList() {
	e.b = append(e.b, ']')
	e.depth--
}

// next writes a comma if one is due before an item.
func (e *encoder) next(i int) {
	if i > 0 {
		e.b = append(e.b, ',')
	}
}

// key writes a comma if one is due, and a name that needs no escapes.
func (e *encoder) key(name string) {
	if e.b[len(e.b)-1] != '{' {
		e.b = append(e.b, ',')
	}
	e.b = append(append(append(e.b, '"'), name...), '"', ':')
}

// quote writes a string.
func (e *encoder) quote(s string) {
	if plainText(s) {
		e.b = append(append(append(e.b, '"'), s...), '"')
		return
	}
	b, err := jsontext.AppendQuote(e.b, s)
	if err != nil {
		e.bad("a string that is not UTF-8", "UTF-8")
	}
	e.b = b
}

// plainText reports whether s is ASCII that a JSON string holds as it is.
func plainText[T ~string | ~[]byte](s T) bool {
	for i := range len(s) {
		if c := s[i]; c < ' ' || c > '~' || c == '"' || c == '\\' {
			return false
		}
	}
	return true
}

// name writes a member that is required and not empty.
func (e *encoder) name(key, s string) {
	if s == "" {
		e.lacks(key)
	}
	e.key(key)
	e.quote(s)
}

// optional writes a member if it is not empty.
func (e *encoder) optional(key, s string) {
	if s != "" {
		e.key(key)
		e.quote(s)
	}
}

// pointer writes any string if there is one.
func (e *encoder) pointer(key string, s *string) {
	if s != nil {
		e.key(key)
		e.quote(*s)
	}
}

// one writes a required member that is one of a few names.
func (e *encoder) one(key, s string, names ...string) {
	if slices.Contains(names, s) {
		e.key(key)
		e.b = append(append(append(e.b, '"'), s...), '"')
		return
	}
	e.bad("another value of "+key, "a value of the protocol")
	e.key(key)
	e.quote(s)
}

func (e *encoder) boolean(key string, v bool) {
	e.key(key)
	e.b = strconv.AppendBool(e.b, v)
}

// marker writes a synthesized member if there is one.
func (e *encoder) marker(v *bool) {
	if v != nil {
		e.boolean("synthesized", *v)
	}
}

func (e *encoder) count(key string, n, least int64) {
	if n < least {
		e.bad("a number out of range in "+key, "an integer from "+strconv.FormatInt(least, 10))
	}
	e.key(key)
	e.b = strconv.AppendInt(e.b, n, 10)
}

func (e *encoder) countPtr(key string, n *int64) {
	if n != nil {
		e.count(key, *n, 0)
	}
}

// raw writes one JSON value, of a kind if that is not 0. A message is one line, and
// in JSON a line break can only stand between tokens.
func (e *encoder) raw(r ahp.Raw, kind byte) {
	if len(r) > 0 && (r[0] <= ' ' || r[len(r)-1] <= ' ') {
		r = ahp.Raw(bytes.Trim(r, " \t\r\n"))
	}
	k, ok := walk.Check(r, Limits{}.complete(), DefaultMaxDepth-e.depth)
	switch {
	case !ok:
		e.bad("a raw value that is not one JSON value within the limits", "one JSON value")
	case kind != 0 && k != kind:
		e.bad("a raw value of another kind", "an object or a number")
	}
	if bytes.IndexByte(r, '\n') < 0 && bytes.IndexByte(r, '\r') < 0 {
		e.b = append(e.b, r...)
		return
	}
	for _, c := range r {
		if c != '\n' && c != '\r' {
			e.b = append(e.b, c)
		}
	}
}

// member writes a raw value under a name, if there is one.
func (e *encoder) member(key string, r ahp.Raw, kind byte) {
	if r != nil {
		e.key(key)
		e.raw(r, kind)
	}
}

// needs writes a raw value that is required.
func (e *encoder) needs(key string, r ahp.Raw, kind byte) {
	if r == nil {
		e.lacks(key)
		return
	}
	e.member(key, r, kind)
}

// number writes a number from 0, if there is one.
func (e *encoder) number(key string, r ahp.Raw) {
	if r == nil {
		return
	}
	e.member(key, r, '0')
	if walk.Negative(bytes.TrimLeft(r, " \t\r\n")) {
		e.bad("a negative number in "+key, "a number from 0")
	}
}

// names writes an array of strings: with least 1 none of them is empty, with unique
// each stands once.
func (e *encoder) names(key string, list []string, least int, unique bool) {
	e.key(key)
	e.list(len(list))
	for i, s := range list {
		e.next(i)
		if len(s) < least {
			e.bad("an empty string in "+key, nonEmpty)
		}
		e.quote(s)
	}
	e.shutList()
	if unique && repeats(list) {
		e.bad("a string twice in "+key, "each string once")
	}
}

func repeats[T ~string](list []T) bool {
	if len(list) <= 16 {
		for i, s := range list {
			if slices.Contains(list[:i], s) {
				return true
			}
		}
		return false
	}
	seen := make(map[T]bool, len(list))
	for _, s := range list {
		if seen[s] {
			return true
		}
		seen[s] = true
	}
	return false
}

// unknown writes the members outside the protocol of an object that has n other
// members. Those that known reports are none.
func (e *encoder) unknown(m ahp.Members, known func(string) bool) {
	if len(m) == 0 {
		return
	}
	names := make([]string, len(m))
	for i := range m {
		x := &m[i]
		names[i] = x.Name
		if known != nil && known(x.Name) {
			e.bad("a member of the protocol among the unknown ones", "others")
		}
		e.anyMember(x)
	}
	if repeats(names) {
		e.bad("a member twice", "each name once")
	}
	if len(m) > DefaultMaxMembers-64 {
		e.bad("too many members", "fewer")
	}
}

func (e *encoder) anyMember(x *ahp.Member) {
	if e.b[len(e.b)-1] != '{' {
		e.b = append(e.b, ',')
	}
	e.quote(x.Name)
	e.b = append(e.b, ':')
	if x.Value == nil {
		e.lacks("a member's value")
		return
	}
	e.raw(x.Value, 0)
}

// extensions writes an object of extensions (AHP-EXT-001).
func (e *encoder) extensions(m ahp.Members) {
	e.key("extensions")
	e.open()
	for i := range m {
		if !ahp.ReverseDNS(m[i].Name) {
			e.bad("a member name that is not reverse-DNS", "a reverse-DNS name such as com.example.trace")
		}
	}
	e.unknown(m, nil)
	e.shut()
}

// among is the known names of an object as unknown takes them.
func among(names ...string) func(string) bool {
	return func(s string) bool { return slices.Contains(names, s) }
}
