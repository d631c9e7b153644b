package main

import (
	"bytes"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
)

// placeOf is the line and column, from 1 and in characters, of the value that a
// pointer names in a text that is JSON, or of the last value on the way to it that is
// there.
func placeOf(data []byte, pointer string) (line, column int) {
	dec := jsontext.NewDecoder(bytes.NewReader(data))
	off := 0
	for {
		isName := false
		if kind, n := dec.StackIndex(dec.StackDepth()); kind == '{' {
			isName = n%2 == 0
		}
		before := int(dec.InputOffset())
		token, err := dec.ReadToken()
		if err != nil {
			break
		}
		at := string(dec.StackPointer())
		if k := token.Kind(); isName || k == '}' || k == ']' || at != pointer && at != "" && !strings.HasPrefix(pointer, at+"/") {
			continue
		}
		off = before + len(data[before:]) - len(bytes.TrimLeft(data[before:], " \t\r\n:,"))
		if at == pointer {
			break
		}
	}
	head := data[:off]
	start := bytes.LastIndexByte(head, '\n') + 1
	return bytes.Count(head, []byte("\n")) + 1, utf8.RuneCount(head[start:]) + 1
}
