package policy

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/holdpoint/holdpoint/facts"
)

// A PathPattern is a compiled path pattern. In one segment, `*` stands for any
// characters, `?` for one, `[a-z]` for a class; `**` as a whole segment stands
// for any number of segments, also none; `{a,b}` for alternatives. A pattern
// that starts with `/` (or a drive) is absolute, `~/` starts at the user's home,
// `**/` matches at any depth, and any other pattern is below a workspace root.
// It is immutable.
type PathPattern struct {
	text string
	base patternBase
	alts [][]string // segments of each alternative
}

type patternBase int

const (
	baseAbsolute patternBase = iota
	baseHome
	baseRoots
)

// The limits of patterns.
const (
	maxPatternBytes        = 1024
	maxPatternAlternatives = 64
	maxPatternDeep         = 16 // `**` segments in one pattern
)

// CompilePath compiles a path pattern.
func CompilePath(text string) (*PathPattern, error) {
	switch {
	case text == "":
		return nil, fmt.Errorf("path pattern is empty")
	case len(text) > maxPatternBytes:
		return nil, fmt.Errorf("path pattern is longer than %d bytes", maxPatternBytes)
	case strings.ContainsRune(text, 0):
		return nil, fmt.Errorf("path pattern holds a NUL")
	}
	p := &PathPattern{text: text}
	rest := slashed(text)
	switch {
	case strings.HasPrefix(rest, "/") || drive(rest) != "":
		p.base = baseAbsolute
	case rest == "~" || strings.HasPrefix(rest, "~/"):
		p.base, rest = baseHome, strings.TrimPrefix(rest, "~")
	case rest == "**" || strings.HasPrefix(rest, "**/"):
		p.base = baseAbsolute
	case strings.HasPrefix(rest, "~"):
		return nil, fmt.Errorf("path pattern %q: the home of another user is not known; write the path", text)
	default:
		p.base = baseRoots
	}
	alts, err := expandBraces(rest)
	if err != nil {
		return nil, fmt.Errorf("path pattern %q: %w", text, err)
	}
	for _, alt := range alts {
		segs, err := splitPattern(alt)
		if err != nil {
			return nil, fmt.Errorf("path pattern %q: %w", text, err)
		}
		p.alts = append(p.alts, segs)
	}
	return p, nil
}

// String returns the pattern as it was written.
func (p *PathPattern) String() string { return p.text }

func splitPattern(s string) ([]string, error) {
	var segs []string
	deep := 0
	for seg := range strings.SplitSeq(s, "/") {
		switch seg {
		case "", ".":
			continue
		case "..":
			return nil, fmt.Errorf("`..` is not allowed")
		case "**":
			if len(segs) > 0 && segs[len(segs)-1] == "**" {
				continue
			}
			deep++
		default:
			if strings.Contains(seg, "**") {
				return nil, fmt.Errorf("`**` must be a whole segment")
			}
			if _, err := path.Match(seg, ""); err != nil {
				return nil, fmt.Errorf("bad character class in %q", seg)
			}
		}
		segs = append(segs, seg)
	}
	if deep > maxPatternDeep {
		return nil, fmt.Errorf("more than %d `**`", maxPatternDeep)
	}
	return segs, nil
}

// expandBraces gives the alternatives of {a,b}, nested ones too.
func expandBraces(s string) ([]string, error) {
	open := strings.IndexByte(s, '{')
	if open < 0 {
		if strings.IndexByte(s, '}') >= 0 {
			return nil, fmt.Errorf("`}` without `{`")
		}
		return []string{s}, nil
	}
	depth, start := 0, open+1
	var parts []string
	for i := open; i < len(s); i++ {
		switch s[i] {
		case '{':
			depth++
		case ',':
			if depth == 1 {
				parts = append(parts, s[start:i])
				start = i + 1
			}
		case '}':
			if depth--; depth > 0 {
				continue
			}
			parts = append(parts, s[start:i])
			var out []string
			for _, part := range parts {
				more, err := expandBraces(s[:open] + part + s[i+1:])
				if err != nil {
					return nil, err
				}
				if out = append(out, more...); len(out) > maxPatternAlternatives {
					return nil, fmt.Errorf("more than %d alternatives", maxPatternAlternatives)
				}
			}
			return out, nil
		}
	}
	return nil, fmt.Errorf("`{` without `}`")
}

// Match reports whether f may be, or may hold, a file that the pattern names: a
// path that is itself a pattern matches when the two can meet, and an operation
// on a whole tree matches when the pattern lies in that tree. Rules use it.
func (p *PathPattern) Match(f *facts.File, in *facts.Facts) bool {
	return p.match(f.Path, in, f.Glob, f.Recursive)
}

// MatchString is [PathPattern.Match] for a plain path.
func (p *PathPattern) MatchString(name string, in *facts.Facts) bool {
	return p.match(name, in, false, false)
}

// Covers reports whether everything that name can mean is named by the pattern.
// Allow-lists use it: a path that is not wholly known is never covered.
func (p *PathPattern) Covers(name string, glob bool, in *facts.Facts) bool {
	if name == "" || strings.Contains(name, "…") || !absolute(slashed(name)) {
		return false
	}
	segs := pathSegments(name, in.FoldCase)
	if p.base == baseHome && in.Session.Home == "" {
		return false
	}
	return p.each(in, func(pat []string) bool {
		return matchSegments(pat, segs, func(pat, seg string) bool {
			if glob && strings.ContainsAny(seg, "*?[{") {
				return pat == "*" || pat == seg
			}
			ok, _ := path.Match(pat, seg)
			return ok
		})
	})
}

func (p *PathPattern) match(name string, in *facts.Facts, glob, tree bool) bool {
	if name == "" {
		return false
	}
	segs := pathSegments(name, in.FoldCase)
	return p.each(in, func(pat []string) bool {
		one := func(pat, seg string) bool {
			if glob && strings.ContainsAny(seg, "*?[{") {
				return meet(pat, seg)
			}
			ok, _ := path.Match(pat, seg)
			return ok
		}
		if matchSegments(pat, segs, one) {
			return true
		}
		if !tree {
			return false
		}
		// The tree below name holds what the pattern names when name is on the way
		// to it. Only the part before `**` counts: `**/x` would be in every tree.
		fixed := pat
		if i := slices.Index(pat, "**"); i >= 0 {
			fixed = pat[:i]
		}
		if len(segs) > len(fixed) {
			return false
		}
		for i, seg := range segs {
			if !one(fixed[i], seg) {
				return false
			}
		}
		return true
	})
}

// each calls f with the segments of every absolute form of the pattern.
func (p *PathPattern) each(in *facts.Facts, f func(pat []string) bool) bool {
	under := func(prefix []string) bool {
		for _, alt := range p.alts {
			pat := append(slices.Clip(prefix), alt...)
			if in.FoldCase {
				pat = slices.Clone(pat)
				for i := range pat {
					pat[i] = strings.ToLower(pat[i])
				}
			}
			if f(pat) {
				return true
			}
		}
		return false
	}
	try := func(base string) bool {
		prefix := pathSegments(base, false)
		for i, s := range prefix {
			prefix[i] = quoteGlob(s)
		}
		return under(prefix)
	}
	switch p.base {
	case baseHome:
		if in.Session.Home != "" {
			return try(in.Session.Home)
		}
		// Without a known home every home is meant: a rule must not lose its hold
		// because of that.
		return under([]string{"~"}) || under([]string{"home", "*"}) || under([]string{"Users", "*"}) || under([]string{"root"})
	case baseRoots:
		return slices.ContainsFunc(in.Session.Roots, try)
	case baseAbsolute:
	}
	if in.FoldCase {
		return try("")
	}
	return slices.ContainsFunc(p.alts, f)
}

// matchSegments matches pattern segments against path segments; one compares a
// segment. Only the last `**` is ever tried again: what stands before it has
// matched as early as it can, and a later place gains nothing.
func matchSegments(pat, segs []string, one func(pat, seg string) bool) bool {
	i, j := 0, 0
	deep, mark := -1, 0 // the last `**`, and where it gave way
	for {
		switch {
		case i < len(pat) && pat[i] == "**":
			if i == len(pat)-1 {
				// `dir/**` names what is in dir, not dir itself.
				return j < len(segs)
			}
			deep, mark = i, j
			i++
			continue
		case i < len(pat) && j < len(segs) && one(pat[i], segs[j]):
			i++
			j++
			continue
		case i == len(pat) && j == len(segs):
			return true
		}
		if deep < 0 || mark >= len(segs) {
			return false
		}
		mark++
		i, j = deep+1, mark
	}
}

// meet reports whether some name matches both one-segment patterns. It may say
// yes too often, never no too often: it compares what is literal at both ends.
func meet(a, b string) bool {
	head := func(s string) string {
		if i := strings.IndexAny(s, `*?[{\`); i >= 0 {
			return s[:i]
		}
		return s
	}
	tail := func(s string) string {
		if i := strings.LastIndexAny(s, `*?]}\`); i >= 0 {
			return s[i+1:]
		}
		return s
	}
	if head(a) == a {
		if !strings.ContainsAny(b, `{\`) {
			ok, err := path.Match(b, a)
			return ok || err != nil
		}
		return true
	}
	ha, hb, ta, tb := head(a), head(b), tail(a), tail(b)
	return (strings.HasPrefix(ha, hb) || strings.HasPrefix(hb, ha)) &&
		(strings.HasSuffix(ta, tb) || strings.HasSuffix(tb, ta))
}

func quoteGlob(s string) string {
	if !strings.ContainsAny(s, `*?[\`) {
		return s
	}
	var b strings.Builder
	for _, r := range s {
		if strings.ContainsRune(`*?[\`, r) {
			b.WriteByte('\\')
		}
		b.WriteRune(r)
	}
	return b.String()
}

func pathSegments(name string, fold bool) []string {
	name = slashed(name)
	if fold {
		name = strings.ToLower(name)
	}
	segs := make([]string, 0, strings.Count(name, "/")+1)
	for seg := range strings.SplitSeq(name, "/") {
		if seg != "" && seg != "." {
			segs = append(segs, seg)
		}
	}
	return segs
}

// slashed turns the separators of a Windows path. A backslash is an ordinary
// character in every other path.
func slashed(s string) string {
	if drive(s) != "" || strings.HasPrefix(s, `\\`) || strings.HasPrefix(s, `~\`) {
		return strings.ReplaceAll(s, `\`, "/")
	}
	return s
}

func drive(s string) string {
	if len(s) >= 2 && s[1] == ':' && (s[0] >= 'a' && s[0] <= 'z' || s[0] >= 'A' && s[0] <= 'Z') {
		return s[:2]
	}
	return ""
}

func absolute(s string) bool { return strings.HasPrefix(s, "/") || drive(s) != "" }
