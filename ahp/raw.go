package ahp

import "slices"

// Raw is the text of one JSON value, token for token as its sender wrote it
// (numbers keep their digits, strings their escapes). A nil Raw means that the
// member is absent; JSON null is the four bytes "null". Codecs validate the text
// before they store it here, so a Raw that came from a codec is well formed.
// Whoever makes one is responsible for that himself.
type Raw []byte

// Clone returns a copy that shares no memory with r. It keeps nil apart from empty.
func (r Raw) Clone() Raw { return slices.Clone(r) }

// A Member is one name and value of a JSON object.
type Member struct {
	Name  string
	Value Raw
}

// Members holds the members of an object that the protocol does not define, in
// the order in which they arrived. Revision 0.1 ignores and keeps them
// (AHP-CORE-003); nothing in the core gives them a meaning.
type Members []Member

// Lookup returns the value of the member called name, and whether it is there.
func (m Members) Lookup(name string) (Raw, bool) {
	for _, x := range m {
		if x.Name == name {
			return x.Value, true
		}
	}
	return nil, false
}
