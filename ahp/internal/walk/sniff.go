package walk

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/ahp"
)

// Sniff looks for the id and the method of a message that was cut off, or not
// read to its end. The id is a copy.
func Sniff(frame []byte) (id ahp.Raw, method bool) {
	d := jsontext.NewDecoder(bytes.NewReader(frame))
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return nil, false
	}
	for {
		t, err := d.ReadToken()
		if err != nil || t.Kind() != '"' {
			return id, method
		}
		name := t.String()
		v, err := d.ReadValue()
		if err != nil {
			return id, method
		}
		switch name {
		case "id":
			if UsableID(v) {
				id = ahp.Raw(bytes.Clone(v))
			}
		case "method":
			method = v.Kind() == '"'
		}
	}
}

// UsableID reports whether v, the text of one JSON value, can be the id of a
// request: a string that is not empty, or an integer.
func UsableID(v []byte) bool {
	if len(v) == 0 {
		return false
	}
	switch c := v[0]; {
	case c == '"':
		return len(v) > 2
	case c == '-' || '0' <= c && c <= '9':
		_, _, ok := Integer(v)
		return ok
	}
	return false
}
