package jcs

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// A Kind names what is wrong with the input.
type Kind string

// The kinds of [Error].
const (
	KindSyntax    Kind = "syntax"          // not JSON, or the text ends early
	KindTrailing  Kind = "trailing_data"   // something follows the value
	KindUTF8      Kind = "invalid_utf8"    // bytes that are not UTF-8
	KindSurrogate Kind = "lone_surrogate"  // a \uD800…\uDFFF escape without its partner
	KindDuplicate Kind = "duplicate_name"  // an object names one member twice
	KindInteger   Kind = "integer_range"   // an integer beyond ±(2^53-1)
	KindOverflow  Kind = "number_overflow" // a number beyond the largest double
	KindDepth     Kind = "too_deep"        // more levels than Options.MaxDepth
	KindSize      Kind = "too_large"       // more bytes than Options.MaxBytes
)

var kinds = map[Kind]struct{ what, hint string }{
	KindSyntax:    {"not valid JSON", "send one complete JSON value (RFC 8259)"},
	KindTrailing:  {"data after the JSON value", "send exactly one JSON value"},
	KindUTF8:      {"invalid UTF-8", "encode the text as UTF-8, or carry bytes as base64"},
	KindSurrogate: {"lone surrogate escape", "write characters beyond U+FFFF as a pair of escapes or as UTF-8"},
	KindDuplicate: {"duplicate member name", "keep one member of that name"},
	KindInteger:   {"integer beyond ±(2^53-1)", "string-encode 64-bit identifiers as decimal strings"},
	KindOverflow:  {"number overflows a double", "string-encode numbers beyond ±1.7976931348623157e308"},
	KindDepth:     {"nesting too deep", "flatten the value"},
	KindSize:      {"text too large", "send less, or send a reference to it"},
}

// An Error says what is wrong with a JSON text, where, and how to fix it. It
// holds no value of the text; Pointer holds member names.
type Error struct {
	Kind    Kind
	Pointer string // JSON pointer (RFC 6901) to the value at fault or to the one around it; "" is the whole
	Offset  int64  // byte offset of the fault, from 0; len(text) where it ends early
	Limit   int    // the limit that was exceeded, for KindDepth and KindSize
}

// Error names the fault, its place and the remedy.
func (e *Error) Error() string {
	k := kinds[e.Kind]
	var b strings.Builder
	b.WriteString("json: ")
	b.WriteString(k.what)
	if e.Limit > 0 {
		fmt.Fprintf(&b, " (limit %d)", e.Limit)
	}
	if e.Pointer != "" {
		fmt.Fprintf(&b, " at %q", e.Pointer)
	}
	fmt.Fprintf(&b, ", byte %d: %s", e.Offset, k.hint)
	return b.String()
}

// Hint says how to fix the input, in one short sentence without the place.
func (e *Error) Hint() string { return kinds[e.Kind].hint }

// What names the fault in a few words, without the place.
func (e *Error) What() string { return kinds[e.Kind].what }

// diagnose finds the first fault of a text that was refused. It is slow and it
// allocates, which is fine for an error. It never returns nil: where the two
// walks disagree the text stays refused.
func diagnose(src []byte, o Options) error {
	if len(src) > o.maxBytes() {
		return &Error{Kind: KindSize, Offset: int64(max(o.maxBytes(), 0)), Limit: o.maxBytes()}
	}
	d := jsontext.NewDecoder(bytes.NewReader(src))
	for {
		tok, err := d.ReadToken()
		if err != nil {
			return syntaxError(src, d, err)
		}
		fault := Kind("")
		level := d.StackDepth()
		switch tok.Kind() {
		case '0':
			level++
			text := []byte(tok.String())
			_, integer, _ := numberEnd(text, 0)
			_, fault = numberValue(text, integer, o.BigIntegers)
		case '"', 't', 'f', 'n':
			level++
		case jsontext.KindInvalid, '{', '}', '[', ']': // the decoder has counted these
		}
		if level > o.maxDepth() {
			fault = KindDepth
		}
		if fault != "" {
			e := &Error{Kind: fault, Pointer: string(d.StackPointer()), Offset: start(src, d.InputOffset(), tok)}
			if fault == KindDepth {
				e.Limit = o.maxDepth()
			}
			return e
		}
		if d.StackDepth() == 0 {
			break
		}
	}
	rest := src[d.InputOffset():]
	if tail := bytes.TrimLeft(rest, " \t\r\n"); len(tail) > 0 {
		return &Error{Kind: KindTrailing, Offset: int64(len(src) - len(tail))}
	}
	return &Error{Kind: KindSyntax}
}

// start is the offset of the first byte of the token that ends at end.
func start(src []byte, end int64, tok jsontext.Token) int64 {
	switch tok.Kind() {
	case '0':
		return end - int64(len(tok.String()))
	case '"':
		for i := end - 2; i >= 0; i-- { // back to a quote that no backslash escapes
			if src[i] != '"' {
				continue
			}
			n := int64(0)
			for i-n-1 >= 0 && src[i-n-1] == '\\' {
				n++
			}
			if n%2 == 0 {
				return i
			}
		}
		return end
	case 't', 'n':
		return end - 4
	case 'f':
		return end - 5
	case jsontext.KindInvalid, '{', '}', '[', ']':
	}
	return end - 1
}

func syntaxError(src []byte, d *jsontext.Decoder, err error) error {
	out := &Error{Kind: KindSyntax, Offset: int64(len(src)), Pointer: string(d.StackPointer())}
	if se, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		out.Offset = se.ByteOffset
		out.Pointer = string(se.JSONPointer)
	}
	switch {
	case errors.Is(err, jsontext.ErrDuplicateName):
		out.Kind = KindDuplicate
		return out
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		out.Offset = int64(len(src))
		return out
	}
	at := src[min(max(out.Offset, 0), int64(len(src))):]
	switch {
	case len(at) == 0:
	case at[0] >= utf8.RuneSelf:
		if r, n := utf8.DecodeRune(at); r == utf8.RuneError && n <= 1 {
			out.Kind = KindUTF8
		}
	case len(at) >= 4 && at[0] == '\\' && at[1] == 'u' &&
		(at[2] == 'd' || at[2] == 'D') && strings.IndexByte("89abAB"+"cdefCDEF", at[3]) >= 0:
		out.Kind = KindSurrogate
	}
	return out
}
