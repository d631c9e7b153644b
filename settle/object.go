package settle

import (
	"bytes"
	"errors"

	"github.com/go-json-experiment/json/jsontext"
)

var (
	errNotObject  = errors.New("value is not a JSON object")
	errDuplicate  = errors.New("an object names one member twice") // D-AMB-27
	errNotWellSet = errors.New("value is not well-formed JSON")
)

// An object is a JSON object cut into its members, whose values are left as they
// stand: a shallow merge needs no more, and what it does not touch keeps its bytes.
type object struct {
	members []member
	// Of many members, made when several were asked for: the first of each name, and the
	// names that stand twice.
	index map[string]int
	twice map[string]struct{}
	asked int // how often find looked without an index
}

type member struct {
	key  []byte // as written, with quotes
	name []byte // decoded
	val  []byte
}

// few is how many members are searched one by one, and for how many names so in more.
const few = 12

// parseObject cuts text, which is well-formed JSON, and refuses repeated names however
// they are spelled.
func parseObject(text []byte) (object, error) {
	o, err := cutObject(text)
	if err == nil && !o.unique() {
		err = errDuplicate
	}
	return o, err
}

// cutObject is parseObject without a look at the names.
func cutObject(text []byte) (object, error) {
	var o object
	i := skipSpace(text, 0)
	if i == len(text) || text[i] != '{' {
		return o, errNotObject
	}
	for i = skipSpace(text, i+1); i < len(text) && text[i] != '}'; {
		end := skipString(text, i)
		if end < 0 {
			return o, errNotWellSet
		}
		key := text[i:end]
		if i = skipSpace(text, end); i == len(text) || text[i] != ':' {
			return o, errNotWellSet
		}
		i = skipSpace(text, i+1)
		if end = skipValue(text, i); end < 0 {
			return o, errNotWellSet
		}
		o.members = append(o.members, member{key: key, name: unquote(key), val: text[i:end]})
		if i = skipSpace(text, end); i < len(text) && text[i] == ',' {
			i = skipSpace(text, i+1)
		}
	}
	if i >= len(text) {
		return o, errNotWellSet
	}
	return o, nil
}

// unique reports whether no name stands twice.
func (o *object) unique() bool {
	if o.indexed() {
		return len(o.twice) == 0
	}
	for i := range o.members {
		if o.from(i+1, o.members[i].name) >= 0 {
			return false
		}
	}
	return true
}

// indexed makes the index where there are many members, and reports whether there is
// one: looking through all of them for each of many names would take as long as whoever
// sends them likes.
func (o *object) indexed() bool {
	if o.index == nil && len(o.members) > few {
		o.index = make(map[string]int, len(o.members))
		for i := range o.members {
			o.note(i)
		}
	}
	return o.index != nil
}

// note puts the i-th member into the index.
func (o *object) note(i int) {
	name := string(o.members[i].name)
	if _, ok := o.index[name]; !ok {
		o.index[name] = i
		return
	}
	if o.twice == nil {
		o.twice = map[string]struct{}{}
	}
	o.twice[name] = struct{}{}
}

// clone returns a copy with members of its own, and without an index.
func (o *object) clone() object {
	return object{members: append(make([]member, 0, len(o.members)+4), o.members...)}
}

// find returns the position of the member called name, or -1.
func (o *object) find(name []byte) int {
	if o.asked++; o.asked > few && o.indexed() {
		if i, ok := o.index[string(name)]; ok {
			return i
		}
		return -1
	}
	return o.from(0, name)
}

// from is find without the index, from the i-th member on.
func (o *object) from(i int, name []byte) int {
	for ; i < len(o.members); i++ {
		if bytes.Equal(o.members[i].name, name) {
			return i
		}
	}
	return -1
}

// value returns the value of a member, or nil.
func (o *object) value(name string) []byte {
	if i := o.find([]byte(name)); i >= 0 {
		return o.members[i].val
	}
	return nil
}

// set gives a member a value: in place, or as the last one. It reports false where the
// name stands twice: it would reach only one of them (D-AMB-27).
func (o *object) set(m member) bool {
	i := o.find(m.name)
	if i < 0 {
		o.members = append(o.members, m)
		if o.index != nil {
			o.note(len(o.members) - 1)
		}
		return true
	}
	o.members[i].val = m.val
	if o.index != nil {
		_, twice := o.twice[string(m.name)]
		return !twice
	}
	return o.from(i+1, m.name) < 0
}

// merge takes the members of v: a value is taken whole, and null is one (D-TGT-1).
func (o *object) merge(v *object) bool {
	for i := range v.members {
		if !o.set(v.members[i]) {
			return false
		}
	}
	return true
}

// equal compares as JSON values (D-APP-7). What two objects share is not looked at.
// Names in p stand once; so they do in o, where it is not p with some values changed.
func (o *object) equal(p *object, depth int) bool {
	if len(o.members) != len(p.members) {
		return false
	}
	for i := range o.members {
		m, j := &o.members[i], i
		if !bytes.Equal(m.name, p.members[i].name) {
			if !p.unique() {
				return false
			}
			if j = p.find(m.name); j < 0 {
				return false
			}
		}
		if !equalValues(m.val, p.members[j].val, depth+1) {
			return false
		}
	}
	return true
}

// append writes the object without white space between members.
func (o *object) append(dst []byte) []byte {
	dst = append(dst, '{')
	for i := range o.members {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(dst, o.members[i].key...)
		dst = append(dst, ':')
		dst = append(dst, o.members[i].val...)
	}
	return append(dst, '}')
}

// text returns the object as text of its own.
func (o *object) text() []byte {
	n := 2
	for i := range o.members {
		n += len(o.members[i].key) + len(o.members[i].val) + 2
	}
	return o.append(make([]byte, 0, n))
}

// at points the members to where they stand in text, which is what append wrote: they
// keep nothing alive that they came from, and the text need not be cut again.
func (o *object) at(text []byte) {
	i := 1
	for j := range o.members {
		m := &o.members[j]
		m.key, i = text[i:i+len(m.key)], i+len(m.key)+1
		m.val, i = text[i:i+len(m.val)], i+len(m.val)+1
		switch len(m.name) {
		case len(m.key) - 2: // nothing is escaped
			m.name = m.key[1 : len(m.key)-1]
		case len(m.key): // what has no text
			m.name = m.key
		}
	}
}

// unquote returns the text of a JSON string, sharing it where nothing is escaped.
func unquote(s []byte) []byte {
	if bytes.IndexByte(s, '\\') < 0 {
		return s[1 : len(s)-1]
	}
	out, err := jsontext.AppendUnquote(nil, s)
	if err != nil {
		return s // a lone surrogate has no text: it equals only itself
	}
	return out
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\t' || b[i] == '\n' || b[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the end of the string that starts at i, or -1.
func skipString(b []byte, i int) int {
	if i >= len(b) || b[i] != '"' {
		return -1
	}
	for from := i + 1; ; {
		n := bytes.IndexByte(b[from:], '"')
		if n < 0 {
			return -1
		}
		end := from + n
		escapes := 0
		for j := end - 1; j >= from && b[j] == '\\'; j-- {
			escapes++
		}
		if escapes%2 == 0 {
			return end + 1
		}
		from = end + 1
	}
}

// skipValue returns the end of the value that starts at i, or -1. It counts brackets
// and does not tell one kind from the other: the text is known to be well formed.
func skipValue(b []byte, i int) int {
	if i >= len(b) {
		return -1
	}
	switch b[i] {
	case '"':
		return skipString(b, i)
	case '{', '[':
		for depth := 0; i < len(b); {
			switch b[i] {
			case '"':
				if i = skipString(b, i); i < 0 {
					return -1
				}
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
		return -1
	}
	from := i
	for i < len(b) {
		switch b[i] {
		case ',', '}', ']', ':', ' ', '\t', '\n', '\r', '"', '{', '[':
			if i == from {
				return -1
			}
			return i
		}
		i++
	}
	return i
}
