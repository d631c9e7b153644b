package transport

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
)

// lineDraft is line for revision draft: a well-formed answer to anything but the
// open question is dropped and uses nothing up (D-IO-3, D-AMB-18, D-STAGE-7). What is
// not well formed counts as the answer, since nobody can say whose it is.
func (k *conn) lineDraft(line []byte) bool {
	if k.open != "" && k.echoes(line) {
		k.deliver(line)
		return true
	}
	id, known := strayID(line)
	if known && (k.open == "" || id != k.open) {
		if k.opts.Stray != nil {
			k.opts.Stray()
		}
		for i, u := range k.unanswered {
			if u == id {
				k.unanswered = append(k.unanswered[:i], k.unanswered[i+1:]...)
				return true
			}
		}
	}
	switch {
	case k.open == "": // unasked: no effect, but not for ever
		k.bad++
		return k.bad < maxMalformed
	case known && id != k.open:
		return true // the deadline bounds how long this can go on
	}
	k.deliver(line)
	return true
}

// echoes reports whether line begins as answers to the open question usually do, so
// that no other member can be its id: the codec refuses a second one.
func (k *conn) echoes(line []byte) bool {
	for _, head := range [...]string{`{"jsonrpc":"2.0","id":"`, `{"jsonrpc": "2.0", "id": "`} {
		rest, ok := bytes.CutPrefix(line, []byte(head))
		if ok && len(rest) > len(k.openBytes) && rest[len(k.openBytes)] == '"' && bytes.HasPrefix(rest, k.openBytes) {
			return true
		}
	}
	return false
}

// strayID returns the id of a line that is a well-formed response: its string, or
// the text of its number. A null id answers what could not be read, which the open
// question may have been.
func strayID(line []byte) (string, bool) {
	d := jsontext.NewDecoder(bytes.NewReader(line))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return "", false
	}
	id, has, answers := "", false, false
	for d.PeekKind() != '}' {
		name, err := d.ReadToken()
		if err != nil {
			return "", false
		}
		switch name.String() {
		case "id":
			v, err := d.ReadValue()
			if err != nil {
				return "", false
			}
			if v.Kind() == '"' {
				s, err := jsontext.AppendUnquote(nil, v)
				id, has = string(s), err == nil
			} else if v.Kind() == '0' {
				id, has = "#"+string(v), true // no string id of ours is one
			}
			continue
		case "result", "error":
			answers = true
		}
		if d.SkipValue() != nil {
			return "", false
		}
	}
	if _, err := d.ReadToken(); err != nil {
		return "", false
	}
	if _, err := d.ReadToken(); err == nil { // data behind the object
		return "", false
	}
	return id, has && answers
}
