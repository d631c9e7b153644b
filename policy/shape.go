package policy

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/holdpoint/holdpoint/shell"
)

// A Shape is a compiled command shape: a program and the arguments that it may
// have, such as `git push --force origin feature/*` or `npm publish ...`.
// Options may come in any order; other arguments must match word by word, with
// `*`, `?` and classes as in a path segment (`*` also crosses slashes). A final
// `...` allows any further options and arguments. It is immutable.
type Shape struct {
	text  string
	prog  string
	words []string
	flags []string
	more  bool
}

// CompileShape compiles a command shape.
func CompileShape(text string) (*Shape, error) {
	words := strings.Fields(text)
	if len(words) == 0 {
		return nil, fmt.Errorf("command shape is empty")
	}
	if len(text) > maxPatternBytes {
		return nil, fmt.Errorf("command shape is longer than %d bytes", maxPatternBytes)
	}
	s := &Shape{text: text, prog: words[0]}
	if strings.ContainsAny(s.prog, "*?[/") || strings.HasPrefix(s.prog, "-") {
		return nil, fmt.Errorf("command shape %q: the program must be a plain name, not a path or a pattern", text)
	}
	for i, w := range words[1:] {
		switch {
		case w == "...":
			if i != len(words)-2 {
				return nil, fmt.Errorf("command shape %q: `...` must be the last word", text)
			}
			s.more = true
		case strings.HasPrefix(w, "-") && w != "-" && w != "--":
			s.flags = append(s.flags, w)
		case strings.ContainsAny(w, "|&;<>$`\"'"):
			return nil, fmt.Errorf("command shape %q: %q is shell syntax; a shape is one command, in plain words", text, w)
		default:
			if _, err := path.Match(w, ""); err != nil {
				return nil, fmt.Errorf("command shape %q: bad character class in %q", text, w)
			}
			s.words = append(s.words, w)
		}
	}
	return s, nil
}

// String returns the shape as it was written.
func (s *Shape) String() string { return s.text }

// Program returns the program that the shape starts with.
func (s *Shape) Program() string { return s.prog }

// Match reports whether c has the shape, however it was wrapped or disguised.
// Rules use it.
func (s *Shape) Match(c *shell.Command) bool {
	return c != nil && c.Program == s.prog && s.match(c, wordMatch)
}

// Covers reports whether c is wholly of the shape: it runs on this machine,
// under no wrapper, with no variable of its own, and nothing in it is unknown
// unless the shape allows anything there. A `*` in a word then stands for no
// colon and no `..`: `feature/*` is not to cover `feature/x:main`. Allow-lists use
// it.
func (s *Shape) Covers(c *shell.Command) bool {
	if c == nil || c.Program != s.prog || c.Dynamic || c.Disguised || c.Host != "" ||
		len(c.Wrappers) > 0 || len(c.Env) > 0 || c.Path != "" {
		return false
	}
	return s.match(c, wordCover)
}

func (s *Shape) match(c *shell.Command, word func(pat, word string) bool) bool {
	w := 0
	for i := range c.Args {
		a := &c.Args[i]
		if a.Known && strings.HasPrefix(a.Value, "-") && a.Value != "-" && a.Value != "--" {
			if !s.more && !s.hasFlag(a.Value) {
				return false
			}
			continue
		}
		if a.Known && a.Value == "--" && !slices.Contains(s.words, "--") {
			continue
		}
		if w == len(s.words) {
			if !s.more {
				return false
			}
			continue
		}
		pat := s.words[w]
		w++
		if pat == "*" {
			continue
		}
		if !a.Known || a.Glob && pat != a.Value {
			return false
		}
		if !word(pat, a.Value) {
			return false
		}
	}
	if w < len(s.words) {
		return false
	}
	for _, f := range s.flags {
		if !commandHasFlag(c, f) {
			return false
		}
	}
	return true
}

// wordMatch is path.Match in which `*` crosses slashes.
func wordMatch(pat, word string) bool {
	if !strings.ContainsAny(pat, `*?[\`) {
		return pat == word
	}
	ok, _ := path.Match(strings.ReplaceAll(pat, "/", "\x01"), strings.ReplaceAll(word, "/", "\x01"))
	return ok
}

// wordCover is the stricter wordMatch of allow-lists.
func wordCover(pat, word string) bool {
	if !wordMatch(pat, word) {
		return false
	}
	return pat == word || strings.Count(pat, ":") == strings.Count(word, ":") &&
		!slices.Contains(strings.FieldsFunc(word, func(r rune) bool { return r == '/' || r == '\\' }), "..")
}

// hasFlag reports whether the shape lists the option a, whole or letter by
// letter.
func (s *Shape) hasFlag(a string) bool {
	if slices.ContainsFunc(s.flags, func(f string) bool { return f == a || wordMatch(f, a) }) {
		return true
	}
	letters, ok := cluster(a)
	if !ok {
		return false
	}
	for _, l := range letters {
		if !slices.ContainsFunc(s.flags, func(f string) bool {
			own, ok := cluster(f)
			return ok && strings.ContainsRune(own, l)
		}) {
			return false
		}
	}
	return true
}

func commandHasFlag(c *shell.Command, f string) bool {
	if slices.Contains(c.Flags, f) ||
		slices.ContainsFunc(c.Args, func(a shell.Arg) bool { return a.Known && wordMatch(f, a.Value) }) {
		return true
	}
	letters, ok := cluster(f)
	if !ok {
		return false
	}
	for _, l := range letters {
		if !slices.Contains(c.Flags, "-"+string(l)) {
			return false
		}
	}
	return true
}

// cluster returns the letters of a single-dash option.
func cluster(f string) (string, bool) {
	if len(f) < 2 || f[0] != '-' || f[1] == '-' {
		return "", false
	}
	return f[1:], true
}
