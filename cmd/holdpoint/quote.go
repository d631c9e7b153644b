package main

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/holdpoint/holdpoint/shell"
)

// quoteArgv writes an argument vector as the text of one simple command: a shell
// of that dialect that reads it starts exactly these words, expands nothing in
// them, and takes none for a keyword or an assignment.
func quoteArgv(argv []string, d shell.Dialect) (string, error) {
	quoted := make([]string, len(argv))
	for i, arg := range argv {
		if strings.IndexByte(arg, 0) >= 0 {
			return "", fmt.Errorf("argument %d holds a NUL byte, which no command line can carry", i+1)
		}
		switch d {
		case shell.Cmd:
			return "", errors.New("cmd.exe has no quoting that every program reads alike: give the text with -c")
		case shell.PowerShell:
			quoted[i] = quotePowerShell(arg, i == 0)
		default:
			quoted[i] = quotePOSIX(arg, i == 0)
		}
	}
	return strings.Join(quoted, " "), nil
}

func quotePOSIX(s string, first bool) string {
	if plain(s, first) && (!first || !slices.Contains(posixKeywords, s)) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

func quotePowerShell(s string, first bool) string {
	if plain(s, first) && !strings.HasPrefix(s, "-") && !first {
		return s
	}
	if !first && strings.HasPrefix(s, "-") && plain(s, false) {
		return s // quoted, it would be no parameter name any more
	}
	// PowerShell takes typographic single quotes for the plain one.
	s = "'" + strings.NewReplacer("'", "''", "\u2018", "\u2018\u2018", "\u2019", "\u2019\u2019",
		"\u201a", "\u201a\u201a", "\u201b", "\u201b\u201b").Replace(s) + "'"
	if first {
		return "& " + s // a quoted first word is a string, not a command
	}
	return s
}

// plain reports whether every shell takes s as it stands. A first word with "="
// would be an assignment.
func plain(s string, first bool) bool {
	for i := range len(s) {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', strings.IndexByte("_-./:+", c) >= 0:
		case c == '=' && !first && i > 0: // zsh expands a leading "="
		default:
			return false
		}
	}
	return s != ""
}

var posixKeywords = []string{
	"case", "coproc", "do", "done", "elif", "else", "end", "esac", "fi", "for", "foreach", "function", "if", "in",
	"nocorrect", "noglob", "repeat", "select", "then", "time", "until", "while",
}
