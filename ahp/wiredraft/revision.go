package wiredraft

import (
	"bytes"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/holdpoint/holdpoint/ahp"
)

// Revision says which revision a file names as its own: the string protocolVersion of
// a registration, or of a message's params or result; in a file of several lines, of
// the first. A capability manifest, which only this revision has, is of this revision.
// It is empty where nothing says it, as in events and error responses, and it may be a
// revision that nobody knows.
func Revision(data []byte) ahp.Version {
	return revision(jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowDuplicateNames(true)), 0)
}

func revision(d *jsontext.Decoder, depth int) ahp.Version {
	if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
		return ""
	}
	for {
		t, err := d.ReadToken()
		if err != nil || t.Kind() != '"' {
			return ""
		}
		name := t.String()
		switch {
		case name == "protocolVersion" && d.PeekKind() == '"':
			if t, err = d.ReadToken(); err != nil {
				return ""
			}
			return ahp.Version(t.String())
		case depth == 0 && name == "managedPolicy":
			return ahp.VersionDraft
		case depth == 0 && (name == "params" || name == "result") && d.PeekKind() == '{':
			if v := revision(d, 1); v != "" {
				return v
			}
		default:
			if err := d.SkipValue(); err != nil {
				return ""
			}
		}
	}
}
