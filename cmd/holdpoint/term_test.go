package main

import (
	"os"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestPrintable(t *testing.T) {
	tests := []struct{ in, want string }{
		{"plain — naïve ✓", "plain — naïve ✓"},
		{"\x1b[31mred\x1b[0m", `\x1b[31mred\x1b[0m`},
		{"a\tb\nc\rd", `a\tb\nc\rd`},
		{"rm \u202egnp.exe", `rm \u202egnp.exe`},
		{"zero\u200bwidth", `zero\u200bwidth`},
		{"fill\u3164\u034f\u2800\ufe0f", `fill\u3164\u034f\u2800\ufe0f`},
		{"bad \xff byte", `bad \xff byte`},
		{"tag \U000e0041", `tag \U000e0041`},
		{"", ""},
	}
	for _, tt := range tests {
		if got := printable(tt.in); got != tt.want {
			t.Errorf("printable(%q) = %q, want %q", tt.in, got, tt.want)
		}
	}
}

func TestCut(t *testing.T) {
	tests := []struct {
		in   string
		n    int
		want string
	}{{"abc", 3, "abc"}, {"abcd", 3, "ab…"}, {"äöüß", 4, "äöüß"}, {"äöüßx", 4, "äöü…"}, {"", 3, ""}, {"ab", 1, "…"}}
	for _, tt := range tests {
		if got := cut(tt.in, tt.n); got != tt.want || utf8.RuneCountInString(got) > tt.n {
			t.Errorf("cut(%q, %d) = %q, want %q", tt.in, tt.n, got, tt.want)
		}
	}
}

func TestWrap(t *testing.T) {
	got := wrap("one two  three fourfivesix", 9)
	if want := []string{"one two", "three", "fourfivesix"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestColourNeedsATerminal(t *testing.T) {
	f, err := os.CreateTemp(t.TempDir(), "out")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	none := func(string) string { return "" }
	if colourFor(f, none) || colourFor(&strings.Builder{}, none) {
		t.Error("a file or a buffer is taken for a terminal")
	}
	a := &app{}
	if got := a.paint(red, "x"); got != "x" {
		t.Errorf("without colour: %q", got)
	}
	a.colour = true
	if got := a.paint(red, "x"); got != "\x1b[31mx\x1b[0m" {
		t.Errorf("with colour: %q", got)
	}
}
