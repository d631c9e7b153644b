package shell

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// Characters that a reader does not see as what they are. In messages and file
// names people use many scripts; in the names of commands, in options and in
// paths these only hide.

// bidi reports marks that change the order in which text is shown.
func bidi(r rune) bool {
	return r >= 0x202A && r <= 0x202E || r >= 0x2066 && r <= 0x2069
}

func invisible(r rune) bool {
	switch {
	case r == 0x00AD, r >= 0x200B && r <= 0x200F, r >= 0x2060 && r <= 0x2064, r == 0xFEFF, r == 0x180E, r == 0x034F, r == 0x061C,
		r >= 0xE0000 && r <= 0xE007F, r >= 0x115F && r <= 0x1160, r == 0x3164, r == 0xFFA0, r >= 0xFE00 && r <= 0xFE0F:
		return true
	}
	return bidi(r)
}

// oddSpace reports spaces that the shell does not split at.
func oddSpace(r rune) bool {
	return r == 0x00A0 || r == 0x1680 || r >= 0x2000 && r <= 0x200A || r == 0x202F || r == 0x205F || r == 0x3000 || r == 0x85 || r == 0x2028 || r == 0x2029
}

// dashLike reports characters that look like the minus of an option.
func dashLike(r rune) bool {
	switch r {
	case 0x2010, 0x2011, 0x2012, 0x2013, 0x2014, 0x2015, 0x2212, 0xFE58, 0xFE63, 0xFF0D, 0x02D7, 0x06D4, 0x2043, 0x207B, 0x1806:
		return true
	}
	return false
}

// lookalikes has the letters and signs that look like a plain one: each word
// of the text is the plain one and those that look like it.
var lookalikes = sync.OnceValue(func() map[rune]rune {
	m := map[rune]rune{}
	for w := range strings.FieldsSeq("aаɑαạ cсϲⅽ dԁⅾɗ eеҽėẹ gɡց hһհ iіıɩιⅰί jјϳ kκк lⅼӏǀ∣ mмⅿ nոпη " +
		"oоοօọ᧐๐ pрρ qԛ rгᴦ sѕꜱ tтτ uυսᴜμ vνѵⅴ wѡԝω xхχⅹ yуγү zᴢ BВΒ " +
		"CСϹ AАΑ EЕΕ HНΗ KКΚ MМΜ OОΟ PРΡ TТΤ XХΧ /∕⁄⧸ .․‧。 ~˜∼～〜 ") {
		for i, r := range w {
			if i > 0 {
				m[r] = rune(w[0])
			}
		}
	}
	return m
})

// lookalike gives the plain character that r looks like, or 0.
func lookalike(r rune) rune {
	if r >= 0xFF01 && r <= 0xFF5E { // full width
		return r - 0xFEE0
	}
	if r >= 0x1D400 && r <= 0x1D7FF { // mathematical letters
		return 'x'
	}
	return lookalikes()[r]
}

func ascii(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// hides reports whether one word, read as a command name, an option or a path,
// holds characters that hide what it is. command is set for the first word.
func hides(s string, command, quoted bool) bool {
	if ascii(s) {
		return false
	}
	spaced := strings.ContainsRune(s, ' ')
	if quoted && spaced && !command {
		// A message. Only marks that turn the order around hide there.
		for _, r := range s {
			if bidi(r) {
				return true
			}
		}
		return false
	}
	emoji := false
	for _, r := range s {
		if r >= 0x1F000 && r < 0x1FB00 || r >= 0x2600 && r < 0x27C0 {
			emoji = true
		}
	}
	for i, r := range s {
		if invisible(r) && !(emoji && (r == 0x200D || r == 0xFE0F)) || oddSpace(r) {
			return true
		}
		if i == 0 && dashLike(r) && !quoted {
			return true
		}
		if (r == '∕' || r == '⁄' || r == '⧸') && !quoted {
			return true
		}
	}
	if strings.HasPrefix(s, "-") {
		for _, r := range s {
			if r == '=' {
				break
			}
			if r >= utf8.RuneSelf && (lookalike(r) != 0 || dashLike(r)) {
				return true
			}
		}
	}
	// A piece of a path, or the command, that mixes plain letters with ones
	// that look like them.
	for part := range strings.SplitSeq(s, "/") {
		plainLetters, alike, other := 0, 0, 0
		for _, r := range part {
			switch {
			case r < utf8.RuneSelf && unicode.IsLetter(r):
				plainLetters++
			case r >= utf8.RuneSelf && lookalike(r) != 0:
				alike++
			case r >= utf8.RuneSelf:
				other++
			}
		}
		if alike > 0 && other == 0 && (plainLetters > 0 || command) {
			return true
		}
		if alike > 0 && fullWidth(part) && !spaced {
			return true
		}
	}
	if command {
		for _, r := range s {
			if lookalike(r) != 0 || dashLike(r) {
				return true
			}
		}
	}
	return false
}

func fullWidth(s string) bool {
	for _, r := range s {
		if r >= 0xFF21 && r <= 0xFF5A {
			return true
		}
	}
	return false
}

// printsText reports commands whose arguments are mere text.
func printsText(name string) bool {
	switch name {
	case "echo", "printf", "grep", "rg", "egrep", "fgrep", "test", "[", ":", "say", "logger", "notify-send", "sed", "awk", "jq":
		return true
	}
	return false
}

// delimiters reports programs whose arguments are often single characters that
// can only be written with escapes.
func delimiters(name string) bool {
	switch name {
	case "cut", "sort", "tr", "paste", "join", "column", "xargs", "read", "mapfile", "readarray", "IFS", "tput", "curl", "nc":
		return true
	}
	return false
}

// disguised reports whether the words of a command hide what they are.
func (f *frame) disguised(args []value) bool {
	name := baseName(args[0].s)
	text := printsText(name)
	for i, a := range args {
		if a.has(tAnsi) && i > 0 && !text && !delimiters(name) && !(name == "git" && i > 1 && strings.HasPrefix(args[i-1].s, "-m")) && len(a.s) > 1 {
			return true
		}
		if a.has(tAnsi) && i > 0 && !text && (strings.HasPrefix(a.s, "-") || strings.HasPrefix(a.s, "/") || strings.HasPrefix(a.s, "~") || i == 1 && (name == "git" || name == "kubectl" || name == "terraform" || name == "docker")) {
			return true
		}
		if ascii(a.s) {
			continue
		}
		if text && i > 0 {
			if !a.has(tQuoted) && containsBidi(a.s) {
				return true
			}
			if containsBidi(a.s) {
				return true
			}
			continue
		}
		if hides(a.s, i == 0, a.has(tQuoted)) {
			return true
		}
	}
	return false
}

func containsBidi(s string) bool {
	for _, r := range s {
		if bidi(r) {
			return true
		}
	}
	return false
}
