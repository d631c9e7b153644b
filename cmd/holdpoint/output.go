package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
)

// A page is what a command writes on stdout, gathered so that an error of
// writing is seen once and becomes the command's own.
type page struct {
	bytes.Buffer
}

// line adds one line, made fit to be shown. Styles go on parts of it, after
// [printable].
func (p *page) line(format string, args ...any) {
	fmt.Fprintf(p, format+"\n", args...)
}

// emit writes the page.
func (a *app) emit(p *page) error {
	if _, err := a.out.Write(p.Bytes()); err != nil {
		return fmt.Errorf("stdout: %w", err)
	}
	p.Reset()
	return nil
}

// jsonLine adds v as one line of JSON.
func (p *page) jsonLine(v any) error {
	enc := json.NewEncoder(p)
	enc.SetEscapeHTML(false)
	return enc.Encode(v)
}

// errSaid ends a command with a code when its output has said why.
func errSaid(code int) error { return &exitError{code, nil} }

// plural is "1 file" or "2 files".
func plural(n int, one string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %ss", n, one)
}

// oneOf reports a flag whose value is outside of a closed set.
func oneOf[T ~string](flag string, v T, of ...T) error {
	words := make([]string, len(of))
	for i, x := range of {
		if v == x {
			return nil
		}
		words[i] = string(x)
	}
	return usagef("--%s: %q is not one of %s", flag, v, strings.Join(words, ", "))
}
