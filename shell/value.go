package shell

import (
	"slices"
	"strings"
)

// Inside values, four control characters stand for what plain text cannot say.
// Input that holds them is mapped away before it gets here, see literal.
const (
	markUnknown = '\x01' // some text that is not known
	markStar    = '\x02' // an active *
	markAny     = '\x03' // an active ?
	markSet     = '\x04' // an active [
)

const unknownText = "\x01"

// taint says where the text of a value comes from.
type taint uint32

const (
	tNet      taint = 1 << iota // fetched from the network
	tPeer                       // a live connection
	tFile                       // content of a local file
	tCmd                        // output of a local command
	tDecoded                    // went through a decoder
	tSubst                      // made by a substitution
	tGlued                      // put together from pieces
	tAnsi                       // written with escapes that spell plain characters
	tShell                      // output of a shell that takes orders from its input
	tEndless                    // never ends
	tEnv                        // the environment
	tMany                       // may be any number of words
	tQuoted                     // written inside quotes
	tScratch                    // a name made by mktemp
	tInit                       // output of a program whose job is to print shell code
	tKillList                   // process ids found by name
	tOwnPid                     // ids of own children
	tVar                        // went through a variable
	tNames                      // names only
	tAll                        // names of all containers, images or objects
	tOptional                   // may be empty
)

// value is a piece of text as far as it is known. It is used for words, for
// variables, and for what flows through pipes and files.
type value struct {
	s    string
	t    taint
	vars []string // variables without a known value
	src  []int    // actions whose data it carries
	span Span
	from int // 1 + index of the command that made it; 0 for none
}

func lit(s string) value { return value{s: s} }

func unknownVal(t taint) value { return value{s: unknownText, t: t} }

func (v value) known() bool      { return strings.IndexByte(v.s, markUnknown) < 0 }
func (v value) opaque() bool     { return v.s == unknownText }
func (v value) has(t taint) bool { return v.t&t != 0 }

func (v value) glob() bool { return hasGlob(v.s) }

func hasGlob(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c >= markStar && c <= markSet {
			return true
		}
	}
	return false
}

func clean(s string) bool {
	for i := 0; i < len(s); i++ {
		if c := s[i]; c >= markUnknown && c <= markSet {
			return false
		}
	}
	return true
}

// plain gives the text for people: unknown parts as `…`, globs as written.
func plain(s string) string {
	if clean(s) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case markUnknown:
			b.WriteString("…")
		case markStar:
			b.WriteByte('*')
		case markAny:
			b.WriteByte('?')
		case markSet:
			b.WriteByte('[')
		default:
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// text is the value as a program gets it when no file matches its globs.
func (v value) text() string {
	if !hasGlob(v.s) {
		return v.s
	}
	return unglob(v.s)
}

func unglob(s string) string {
	b := []byte(s)
	for i, c := range b {
		switch c {
		case markStar:
			b[i] = '*'
		case markAny:
			b[i] = '?'
		case markSet:
			b[i] = '['
		}
	}
	return string(b)
}

// activate turns glob characters of unquoted text into marks.
func activate(s string) string {
	if !strings.ContainsAny(s, "*?[") {
		return s
	}
	b := []byte(s)
	for i, c := range b {
		switch c {
		case '*':
			b[i] = markStar
		case '?':
			b[i] = markAny
		case '[':
			// A lone bracket is literal.
			if strings.IndexByte(s[i+1:], ']') > 0 {
				b[i] = markSet
			}
		}
	}
	return string(b)
}

// literal maps the mark characters of outside text to an unknown part, so that
// no input can forge a mark.
func literal(s string) string {
	if clean(s) {
		return s
	}
	b := []byte(s)
	for i, c := range b {
		if c >= markUnknown && c <= markSet {
			b[i] = markUnknown
		}
	}
	return string(b)
}

func (v *value) add(o value) {
	v.s += o.s
	v.t |= o.t
	v.vars = union(v.vars, o.vars)
	v.src = union(v.src, o.src)
	if o.from != 0 {
		v.from = o.from
	}
}

// maxOrigins bounds the names and actions that a value remembers.
const maxOrigins = 64

// union adds to a what it lacks of b, without changing a's array.
func union[T comparable](a, b []T) []T {
	if len(b) == 0 {
		return a
	}
	if len(a) == 0 {
		return b
	}
	out := slices.Clip(a)
	for _, x := range b {
		if len(out) >= maxOrigins {
			break
		}
		if !slices.Contains(out, x) {
			out = append(out, x)
		}
	}
	return out
}

func (v value) with(s string) value { v.s = s; return v }

// varSet is a small set of variables; most lines set none.
type varSet map[string]*variable

type variable struct {
	v     value
	list  []value // array elements
	array bool
	alts  []value // other values it may have, after branches
	unset bool
	assoc map[string]value
	ref   string // the variable that this one is another name of
}

func wordSplit(s, ifs string) []string {
	return strings.FieldsFunc(s, func(r rune) bool { return strings.ContainsRune(ifs, r) })
}

// matchMarks reports whether the marked pattern pat may match the plain text s.
// Unknown parts match anything. A set is taken to match any one character that
// it could.
func matchMarks(pat, s string) bool {
	return matchMarksN(pat, s, 0)
}

func matchMarksN(pat, s string, depth int) bool {
	for len(pat) > 0 {
		switch pat[0] {
		case markStar, markUnknown:
			if depth > 6 {
				return true
			}
			for len(pat) > 0 && (pat[0] == markStar || pat[0] == markUnknown) {
				pat = pat[1:]
			}
			if pat == "" {
				return true
			}
			for i := 0; i <= len(s); i++ {
				if matchMarksN(pat, s[i:], depth+1) {
					return true
				}
			}
			return false
		case markAny:
			if s == "" {
				return false
			}
			pat, s = pat[1:], s[1:]
		case markSet:
			if s == "" {
				return false
			}
			end := strings.IndexByte(pat[1:], ']')
			if end < 0 {
				return false
			}
			if !inSet(pat[1:1+end], s[0]) {
				return false
			}
			pat, s = pat[end+2:], s[1:]
		default:
			if s == "" || pat[0] != s[0] {
				return false
			}
			pat, s = pat[1:], s[1:]
		}
	}
	return s == ""
}

func inSet(set string, c byte) bool {
	neg := false
	if set != "" && (set[0] == '!' || set[0] == '^') {
		neg, set = true, set[1:]
	}
	if strings.HasPrefix(set, ":") || strings.HasPrefix(set, string([]byte{markSet})) {
		return true
	}
	in := false
	for i := 0; i < len(set); i++ {
		if i+2 < len(set) && set[i+1] == '-' {
			if set[i] <= c && c <= set[i+2] {
				in = true
			}
			i += 2
			continue
		}
		if set[i] == c {
			in = true
		}
	}
	return in != neg
}

// globMatch matches a table pattern, where * is any text, against s.
func globMatch(pat, s string) bool {
	if strings.Contains(pat, `\*`) {
		// A star of the text itself.
		pat = strings.ReplaceAll(pat, `\*`, "\x7f")
		s = strings.ReplaceAll(s, "*", "\x7f")
	}
	for {
		i := strings.IndexByte(pat, '*')
		if i < 0 {
			return pat == s
		}
		if !strings.HasPrefix(s, pat[:i]) {
			return false
		}
		s, pat = s[i:], pat[i+1:]
		if pat == "" {
			return true
		}
		j := strings.IndexByte(pat, '*')
		if j < 0 {
			return strings.HasSuffix(s, pat)
		}
		k := strings.Index(s, pat[:j])
		if k < 0 {
			return false
		}
		s = s[k:]
	}
}
