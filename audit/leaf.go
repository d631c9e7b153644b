package audit

import (
	"encoding/binary"
	"errors"
	"time"
)

// leafFormat is the first byte of every leaf. A change of the layout gets
// another number, so that no bytes can be read in two ways.
const leafFormat = 1

var errLeaf = errors.New("malformed leaf")

// Leaf returns the bytes that the log hashes for e: every field, each with its
// length, in a fixed order, so that two different entries never give the same
// bytes. The ID is not among them; the tree holds the order.
//
// The layout is: a format byte (1); Version as two bytes; Time as eight bytes
// of nanoseconds since 1970; Kind, Key, Session, Agent, Event, Tool, Operation
// and Decision, each with four bytes of length before it; Rules, Hazards and
// Flags, each with four bytes of count before it and each code like a column;
// Data with four bytes of length. Numbers are big-endian.
func (e *Entry) Leaf() []byte {
	n := 1 + 2 + 8 + 4 + len(e.Kind) + 4 + len(e.Data)
	for _, c := range e.columns() {
		n += 4 + len(*c.text)
	}
	for _, l := range e.lists() {
		n += 4
		for _, code := range *l.codes {
			n += 4 + len(code)
		}
	}
	return e.AppendLeaf(make([]byte, 0, n))
}

// AppendLeaf appends [Entry.Leaf] to b.
func (e *Entry) AppendLeaf(b []byte) []byte {
	b = append(b, leafFormat)
	b = binary.BigEndian.AppendUint16(b, uint16(e.Version))
	b = binary.BigEndian.AppendUint64(b, uint64(e.Time.UnixNano()))
	b = appendText(b, string(e.Kind))
	for _, c := range e.columns() {
		b = appendText(b, *c.text)
	}
	for _, l := range e.lists() {
		b = binary.BigEndian.AppendUint32(b, uint32(len(*l.codes)))
		for _, code := range *l.codes {
			b = appendText(b, code)
		}
	}
	b = binary.BigEndian.AppendUint32(b, uint32(len(e.Data)))
	return append(b, e.Data...)
}

func appendText(b []byte, s string) []byte {
	b = binary.BigEndian.AppendUint32(b, uint32(len(s)))
	return append(b, s...)
}

// ParseLeaf is the inverse of [Entry.Leaf]. It accepts exactly the bytes that a
// valid entry gives, so that parsing and encoding again changes nothing. The
// entry shares no memory with b.
func ParseLeaf(b []byte) (Entry, error) {
	var e Entry
	r := leafReader{rest: b}
	if r.byte() != leafFormat {
		return Entry{}, errLeaf
	}
	e.Version = int(r.uint16())
	e.Time = time.Unix(0, int64(r.uint64())).UTC()
	e.Kind = Kind(r.text(MaxColumnBytes))
	for _, c := range e.columns() {
		*c.text = r.text(MaxColumnBytes)
	}
	for _, l := range e.lists() {
		n := r.uint32()
		if n > MaxCodes {
			return Entry{}, errLeaf
		}
		for range n {
			*l.codes = append(*l.codes, r.text(MaxCodeBytes))
		}
	}
	if data := r.text(MaxDataBytes); data != "" {
		e.Data = []byte(data)
	}
	if r.failed || len(r.rest) != 0 {
		return Entry{}, errLeaf
	}
	if err := e.Validate(); err != nil {
		return Entry{}, errors.Join(errLeaf, err)
	}
	return e, nil
}

// leafReader takes a leaf apart. After a failure everything it returns is zero.
type leafReader struct {
	rest   []byte
	failed bool
}

func (r *leafReader) take(n int) []byte {
	if r.failed || n > len(r.rest) {
		r.failed = true
		return nil
	}
	b := r.rest[:n]
	r.rest = r.rest[n:]
	return b
}

func (r *leafReader) byte() byte {
	if b := r.take(1); b != nil {
		return b[0]
	}
	return 0
}

func (r *leafReader) uint16() uint16 {
	if b := r.take(2); b != nil {
		return binary.BigEndian.Uint16(b)
	}
	return 0
}

func (r *leafReader) uint32() uint32 {
	if b := r.take(4); b != nil {
		return binary.BigEndian.Uint32(b)
	}
	return 0
}

func (r *leafReader) uint64() uint64 {
	if b := r.take(8); b != nil {
		return binary.BigEndian.Uint64(b)
	}
	return 0
}

func (r *leafReader) text(limit uint32) string {
	n := r.uint32()
	if n > limit {
		r.failed = true
		return ""
	}
	return string(r.take(int(n)))
}
