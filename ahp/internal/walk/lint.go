package walk

import (
	"bytes"
	"iter"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// Lines reports whether each line of the file is a document: by the file's name,
// else if the first of several lines is a JSON value by itself.
func Lines(name string, data []byte) bool {
	if strings.HasSuffix(name, ".jsonl") {
		return true
	}
	if strings.HasSuffix(name, ".json") {
		return false
	}
	first, rest, ok := bytes.Cut(data, []byte("\n"))
	return ok && len(bytes.TrimSpace(rest)) > 0 && jsontext.Value(first).IsValid(jsontext.AllowDuplicateNames(true))
}

// Names gives the member names of the outermost object in their order, as far as the
// text can be read; none if it is no object.
func Names(data []byte) iter.Seq[string] {
	return func(yield func(string) bool) {
		d := jsontext.NewDecoder(bytes.NewReader(data), jsontext.AllowDuplicateNames(true))
		if t, err := d.ReadToken(); err != nil || t.Kind() != '{' {
			return
		}
		for {
			t, err := d.ReadToken()
			if err != nil || t.Kind() != '"' || !yield(t.String()) || d.SkipValue() != nil {
				return
			}
		}
	}
}

// Sorted returns a copy of list in the order of the text, without what stands there
// twice because it was read twice.
func Sorted(list []Problem) []Problem {
	list = slices.Clone(list)
	slices.SortStableFunc(list, func(a, b Problem) int { return a.Off - b.Off })
	return slices.Compact(list)
}

// A Place is a line and a column of it, both from 1; columns count code points.
type Place struct{ Line, Column int }

// Places gives each problem its place in data. The list is in the order of the text.
func Places(data []byte, list []Problem) iter.Seq2[*Problem, Place] {
	return func(yield func(*Problem, Place) bool) {
		at, off := Place{1, 1}, 0
		for i := range list {
			for off < list[i].Off && off < len(data) {
				_, n := utf8.DecodeRune(data[off:])
				if data[off] == '\n' {
					at.Line, at.Column = at.Line+1, 0
				}
				at.Column++
				off += n
			}
			if !yield(&list[i], at) {
				return
			}
		}
	}
}
