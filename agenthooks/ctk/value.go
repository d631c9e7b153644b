package ctk

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
)

// number is a JSON number as it was written: nothing goes through a float
// (AH-13.2-9).
type number string

func (n number) integer() bool { return !strings.ContainsAny(string(n), ".eE") }

// parse reads one JSON text into nil, bool, string, number, []any and
// map[string]any. Duplicate names, invalid UTF-8, lone surrogates and data
// behind the value are errors.
func parse(text []byte) (any, error) {
	d := jsontext.NewDecoder(bytes.NewReader(text))
	v, err := parseValue(d)
	if err != nil {
		return nil, syntaxError(text, err)
	}
	if _, err := d.ReadToken(); !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("offset %d: found data behind the JSON value, expected the end", d.InputOffset())
	}
	return v, nil
}

// syntaxError names the place without the text there.
func syntaxError(text []byte, err error) error {
	if errors.Is(err, io.EOF) && len(bytes.TrimSpace(text)) == 0 {
		return errors.New("found nothing, expected a JSON value")
	}
	if syntactic, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		upTo := text[:min(int(syntactic.ByteOffset), len(text))]
		line := 1 + bytes.Count(upTo, []byte("\n"))
		column := len(upTo) - bytes.LastIndexByte(upTo, '\n')
		return fmt.Errorf("%d:%d: %w", line, column, syntactic.Err)
	}
	return err
}

func parseValue(d *jsontext.Decoder) (any, error) {
	tok, err := d.ReadToken()
	if err != nil {
		return nil, err
	}
	switch tok.Kind() {
	case 'n':
		return nil, nil
	case 't', 'f':
		return tok.Bool(), nil
	case '"':
		return tok.String(), nil
	case '0':
		return number(tok.String()), nil
	case '[':
		out := []any{}
		for d.PeekKind() != ']' {
			v, err := parseValue(d)
			if err != nil {
				return nil, err
			}
			out = append(out, v)
		}
		_, err := d.ReadToken()
		return out, err
	case '{':
		out := map[string]any{}
		for d.PeekKind() != '}' {
			name, err := d.ReadToken()
			if err != nil {
				return nil, err
			}
			key := name.String()
			if out[key], err = parseValue(d); err != nil {
				return nil, err
			}
		}
		_, err := d.ReadToken()
		return out, err
	default: // the decoder gives an error before
		return nil, errors.New("unexpected token")
	}
}

// appendValue writes v without white space, members in byte order, strings
// with no more escapes than JSON needs.
func appendValue(b []byte, v any) []byte {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...)
	case bool:
		return strconv.AppendBool(b, v)
	case string:
		b, _ = jsontext.AppendQuote(b, v)
		return b
	case number:
		return append(b, v...)
	case []any:
		b = append(b, '[')
		for i, e := range v {
			if i > 0 {
				b = append(b, ',')
			}
			b = appendValue(b, e)
		}
		return append(b, ']')
	case map[string]any:
		b = append(b, '{')
		for i, k := range slices.Sorted(maps.Keys(v)) {
			if i > 0 {
				b = append(b, ',')
			}
			b, _ = jsontext.AppendQuote(b, k)
			b = appendValue(append(b, ':'), v[k])
		}
		return append(b, '}')
	}
	panic(fmt.Sprintf("ctk: %T is no JSON value", v))
}

func textOf(v any) jsontext.Value { return appendValue(nil, v) }

// equal is JSON equality (AH-13.2-9).
func equal(a, b any) bool {
	switch a := a.(type) {
	case number:
		b, ok := b.(number)
		return ok && a.equal(b)
	case []any:
		b, ok := b.([]any)
		return ok && slices.EqualFunc(a, b, equal)
	case map[string]any:
		b, ok := b.(map[string]any)
		return ok && maps.EqualFunc(a, b, equal)
	case nil:
		return b == nil
	case bool:
		b, ok := b.(bool)
		return ok && a == b
	case string:
		b, ok := b.(string)
		return ok && a == b
	}
	return false
}

// equal compares integers exactly and others as doubles.
func (n number) equal(m number) bool {
	if n == m {
		return true
	}
	if n.integer() && m.integer() {
		return (n == "-0" || n == "0") && (m == "-0" || m == "0")
	}
	x, err := strconv.ParseFloat(string(n), 64)
	y, err2 := strconv.ParseFloat(string(m), 64)
	return err == nil && err2 == nil && x == y
}

// A step is one part of a dotted path: a name, or an index where name is "".
type step struct {
	name  string
	index int
}

// parsePath reads a dotted path such as response.tool_calls[0].name
// (AH-13.2-5). Empty names are skipped.
func parsePath(path string) ([]step, error) {
	var out []step
	for rest := path; rest != ""; {
		switch rest[0] {
		case '.':
			rest = rest[1:]
		case '[':
			digits, after, ok := strings.Cut(rest[1:], "]")
			n, err := strconv.ParseUint(digits, 10, 31)
			if !ok || err != nil {
				return nil, fmt.Errorf("path %q: expected [n] at %q", path, rest)
			}
			out, rest = append(out, step{index: int(n)}), after
		default:
			end := strings.IndexAny(rest, ".[")
			if end < 0 {
				end = len(rest)
			}
			out, rest = append(out, step{name: rest[:end]}), rest[end:]
		}
	}
	return out, nil
}

// lookup finds the value at path and says whether it is there.
func lookup(v any, path []step) (any, bool) {
	for _, s := range path {
		if s.name != "" {
			o, ok := v.(map[string]any)
			if !ok {
				return nil, false
			}
			if v, ok = o[s.name]; !ok {
				return nil, false
			}
			continue
		}
		a, ok := v.([]any)
		if !ok || s.index >= len(a) {
			return nil, false
		}
		v = a[s.index]
	}
	return v, true
}

// A predicate is a path with the value that has to be there.
type predicate struct {
	text string
	path []step
	want any
}

// all reports whether every predicate holds (AH-13.2-2).
func all(ps []predicate, v any) bool {
	for _, p := range ps {
		if got, ok := lookup(v, p.path); !ok || !equal(got, p.want) {
			return false
		}
	}
	return true
}

// kind names the JSON type of v for messages; never the value.
func kind(v any) string {
	switch v.(type) {
	case nil:
		return "null"
	case bool:
		return "a bool"
	case string:
		return "a string"
	case number:
		return "a number"
	case []any:
		return "an array"
	case map[string]any:
		return "an object"
	}
	return "nothing"
}
