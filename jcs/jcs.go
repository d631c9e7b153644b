package jcs

import (
	"crypto/sha256"
	"encoding/hex"
	"slices"
	"sync"
)

// Default limits, used where a field of [Options] is zero.
const (
	DefaultMaxBytes = 5 << 20 // bytes of input text, white space included
	DefaultMaxDepth = 128     // levels; the outermost value is level 1, a scalar counts as a level
)

// MaxInteger is the largest magnitude of an integer that every JSON reader
// carries exactly: 2^53-1.
const MaxInteger = 1<<53 - 1

// Options bounds one call. The zero value means the defaults. A negative limit
// admits nothing.
type Options struct {
	MaxBytes int // largest input in bytes; zero means [DefaultMaxBytes]
	MaxDepth int // deepest nesting in levels; zero means [DefaultMaxDepth]

	// BigIntegers lets [Check] pass integers beyond ±(2^53-1), for text whose
	// numbers are kept as tokens. [Canonicalize] ignores it: it would round.
	BigIntegers bool
}

func (o Options) maxBytes() int {
	if o.MaxBytes == 0 {
		return DefaultMaxBytes
	}
	return o.MaxBytes
}

func (o Options) maxDepth() int {
	if o.MaxDepth == 0 {
		return DefaultMaxDepth
	}
	return o.MaxDepth
}

// Canonicalize appends the canonical form (RFC 8785) of the JSON value in src
// to dst and returns the longer slice. It does not change src; dst must not
// reach into src.
//
// An error is always an [*Error]; dst then comes back as it was. With enough
// room in dst a call allocates nothing. Integers beyond ±(2^53-1) are refused
// however they are spelled, up to 1e21; from there on a number is refused only
// where it is written without a point and an exponent, because the canonical
// text of the others has an exponent and cannot be taken for an exact integer.
func Canonicalize(dst, src []byte, o Options) ([]byte, error) {
	if len(src) > o.maxBytes() {
		return dst, diagnose(src, o)
	}
	if plainString(src) && o.maxDepth() > 0 {
		return append(dst, src...), nil
	}
	o.BigIntegers = false
	n := len(dst)
	dst = slices.Grow(dst, len(src)) // the form is rarely longer than the text
	w := writers.Get().(*writer)
	w.src, w.dst, w.maxDepth, w.check, w.big = src, dst, o.maxDepth(), false, false
	ok := w.run()
	out := w.dst
	w.release()
	if !ok {
		return dst[:n], diagnose(src, o)
	}
	return out, nil
}

// Check reports what [Canonicalize] would refuse in src, nil if nothing. With
// [Options].BigIntegers it lets big integers pass.
func Check(src []byte, o Options) error {
	if len(src) > o.maxBytes() {
		return diagnose(src, o)
	}
	p := buffers.Get().(*[]byte)
	w := writers.Get().(*writer)
	w.src, w.dst, w.maxDepth, w.check, w.big = src, slices.Grow((*p)[:0], len(src)), o.maxDepth(), true, o.BigIntegers
	ok := w.run()
	if cap(w.dst) <= maxKept {
		*p = w.dst
	}
	buffers.Put(p)
	w.release()
	if !ok {
		return diagnose(src, o)
	}
	return nil
}

var buffers = sync.Pool{New: func() any { return new([]byte) }}

// maxKept bounds the buffers that the pool keeps, so that one large input does
// not pin its size for good.
const maxKept = 256 << 10

// Digest returns "sha256:" and the lower-case hex SHA-256 of the canonical form
// of src, under the default limits. An error is always an [*Error].
func Digest(src []byte) (string, error) {
	return DigestWith(src, Options{})
}

// DigestWith is [Digest] under the limits of o.
func DigestWith(src []byte, o Options) (string, error) {
	p := buffers.Get().(*[]byte)
	out, err := Canonicalize((*p)[:0], src, o)
	var s string
	if err == nil {
		s = sum("sha256:", out)
	}
	if cap(out) <= maxKept {
		*p = out
		buffers.Put(p)
	}
	return s, err
}

// DigestOf returns "sha256:" and the lower-case hex SHA-256 of text that is
// canonical already. It checks nothing.
func DigestOf(canonical []byte) string { return sum("sha256:", canonical) }

// RawDigest returns "raw-sha256:" and the lower-case hex SHA-256 of src as it
// stands. It is the identity of input that has no canonical form, such as text
// with integers beyond ±(2^53-1); the prefix keeps it apart from every
// [Digest].
func RawDigest(src []byte) string { return sum("raw-sha256:", src) }

func sum(prefix string, b []byte) string {
	h := sha256.Sum256(b)
	var out [len("raw-sha256:") + 2*sha256.Size]byte
	n := copy(out[:], prefix)
	hex.Encode(out[n:], h[:])
	return string(out[:n+2*sha256.Size])
}
