package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"unicode"

	"github.com/mattn/go-isatty"
)

// colourFor reports whether w is a terminal that wants colour. NO_COLOR with any
// value and TERM=dumb turn it off.
func colourFor(w io.Writer, env func(string) string) bool {
	f, ok := w.(*os.File)
	return ok && isatty.IsTerminal(f.Fd()) && env("NO_COLOR") == "" && env("TERM") != "dumb"
}

// A style is the parameter of one SGR sequence.
type style string

const (
	bold   style = "1"
	dim    style = "2"
	red    style = "31"
	green  style = "32"
	yellow style = "33"
)

// paint returns s in a style where the output is a terminal, else s itself.
func (a *app) paint(st style, s string) string {
	if !a.colour || s == "" || st == "" {
		return s
	}
	return "\x1b[" + string(st) + "m" + s + "\x1b[0m"
}

// printable returns s with every character escaped that could act on a terminal
// or deceive the eye: controls, bidirectional and other format characters, and
// bytes that are no UTF-8. What people read may come from an agent or a peer.
func printable(s string) string {
	clean := true
	for _, r := range s {
		if unsafeRune(r) {
			clean = false
			break
		}
	}
	if clean {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch {
		case r == unicode.ReplacementChar && !strings.HasPrefix(s[i:], string(unicode.ReplacementChar)):
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case !unsafeRune(r):
			b.WriteRune(r)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r < 0x100:
			fmt.Fprintf(&b, `\x%02x`, r)
		case r < 0x10000:
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			fmt.Fprintf(&b, `\U%08x`, r)
		}
	}
	return b.String()
}

func unsafeRune(r rune) bool {
	return unicode.IsControl(r) || unicode.In(r, unicode.Cf, unicode.Zl, unicode.Zp, unicode.Co, unicode.Cs,
		unicode.Variation_Selector, unicode.Other_Default_Ignorable_Code_Point) || r == 0x2800 || r == unicode.ReplacementChar
}

// cut shortens s to at most n columns, counting one for each character, and
// marks the cut.
func cut(s string, n int) string {
	count := 0
	for i := range s {
		if count == n-1 && len(s[i:]) > 0 {
			rest := []rune(s[i:])
			if len(rest) > 1 {
				return s[:i] + "…"
			}
		}
		count++
	}
	return s
}

// textWidth is the width of what is written for people, for terminals of the usual one.
const textWidth = 80

// wrap breaks s into lines of at most n characters, at spaces.
func wrap(s string, n int) []string {
	var lines []string
	line := ""
	for word := range strings.FieldsSeq(s) {
		switch {
		case line == "":
			line = word
		case len([]rune(line))+1+len([]rune(word)) > n:
			lines = append(lines, line)
			line = word
		default:
			line += " " + word
		}
	}
	if line != "" {
		lines = append(lines, line)
	}
	return lines
}
