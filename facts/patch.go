package facts

import (
	"errors"
	"strconv"
	"strings"
)

// A PatchFile is one file that a patch changes.
type PatchFile struct {
	Path string // as written, without the a/ and b/ of git
	Op   FileOp // write or delete
	Span Span   // the path, in the patch
}

// Errors of [ParsePatch]. With each of them the files that were found so far are
// returned, and the patch must be taken as not understood.
var (
	ErrNoPatch       = errors.New("no patch")
	ErrPatchBroken   = errors.New("patch is not well formed")
	ErrPatchTooLarge = errors.New("patch names too many files")
)

// ParsePatch returns the files that a patch changes, in order. It reads unified
// diffs (plain, git, with renames and copies) and the envelope of apply_patch
// (`*** Begin Patch`). It counts the lines of each hunk, so that content that
// looks like a header is content. limit bounds the files; 0 means
// [DefaultFiles]. It is safe for concurrent use.
func ParsePatch(text string, limit int) ([]PatchFile, error) {
	if limit <= 0 {
		limit = DefaultFiles
	}
	p := &patchParser{text: text, limit: limit}
	for p.next() {
		if strings.TrimSpace(p.line) == "*** Begin Patch" {
			p.envelope()
			return p.done()
		}
		if diffHeader(p.line) {
			break
		}
	}
	p.pos = 0
	p.diff()
	return p.done()
}

func diffHeader(line string) bool {
	return strings.HasPrefix(line, "diff --git ") || strings.HasPrefix(line, "--- ") || strings.HasPrefix(line, "@@ ")
}

type patchParser struct {
	text  string
	pos   int // where the next line starts
	start int // where line starts
	line  string
	limit int
	files []PatchFile
	err   error
}

// next reads one line, without its end.
func (p *patchParser) next() bool {
	if p.pos >= len(p.text) || p.err != nil {
		return false
	}
	p.start = p.pos
	end := strings.IndexByte(p.text[p.pos:], '\n')
	if end < 0 {
		p.line, p.pos = p.text[p.pos:], len(p.text)
	} else {
		p.line, p.pos = p.text[p.pos:p.pos+end], p.pos+end+1
	}
	p.line = strings.TrimSuffix(p.line, "\r")
	return true
}

// back gives the current line to the next call of next.
func (p *patchParser) back() { p.pos = p.start }

func (p *patchParser) done() ([]PatchFile, error) {
	if p.err == nil && len(p.files) == 0 {
		return nil, ErrNoPatch
	}
	return p.files, p.err
}

func (p *patchParser) add(path string, op FileOp) {
	if path == "" {
		p.err = errors.Join(p.err, ErrPatchBroken)
		return
	}
	if len(p.files) >= p.limit {
		p.err = ErrPatchTooLarge
		return
	}
	sp := Span{}
	if i := strings.Index(p.line, path); i >= 0 {
		sp = Span{Start: p.start + i, End: p.start + i + len(path)}
	}
	p.files = append(p.files, PatchFile{Path: path, Op: op, Span: sp})
}

// envelope reads the format of apply_patch. Content lines start with a space, +,
// - or @@ and so cannot be taken for a header; an empty line is empty context.
func (p *patchParser) envelope() {
	current := -1
	for p.next() {
		// Agents that take this format trim the header line.
		line := strings.TrimSpace(p.line)
		if p.line != "" && (p.line[0] == '+' || p.line[0] == '-' || p.line[0] == ' ' && !strings.HasPrefix(line, "*** ")) {
			continue
		}
		switch {
		case line == "*** End Patch":
			return
		case strings.HasPrefix(line, "*** Add File:"):
			p.add(strings.TrimSpace(line[len("*** Add File:"):]), FileWrite)
			current = -1
		case strings.HasPrefix(line, "*** Delete File:"):
			p.add(strings.TrimSpace(line[len("*** Delete File:"):]), FileDelete)
			current = -1
		case strings.HasPrefix(line, "*** Update File:"):
			p.add(strings.TrimSpace(line[len("*** Update File:"):]), FileWrite)
			current = len(p.files) - 1
		case strings.HasPrefix(line, "*** Move to:"):
			if current >= 0 && p.err == nil {
				p.files[current].Op = FileDelete
			}
			p.add(strings.TrimSpace(line[len("*** Move to:"):]), FileWrite)
		case line == "" || line == "*** End of File" || strings.HasPrefix(line, "@@"):
		case strings.HasPrefix(line, "*** "):
			p.err = errors.Join(p.err, ErrPatchBroken)
		default:
			// Some readers accept context without its leading space.
		}
	}
	if p.err == nil {
		p.err = ErrPatchBroken // no end: a reader may refuse it, or take all of it
	}
}

// diff reads unified diffs, with any text around them.
func (p *patchParser) diff() {
	var old string // path of the last --- line
	var oldSpan Span
	haveOld := false
	for p.next() {
		switch {
		case strings.HasPrefix(p.line, "diff --git "):
			haveOld = false
			p.gitHeader(p.line[len("diff --git "):])
		case strings.HasPrefix(p.line, "--- "):
			old, haveOld = diffPath(p.line[4:], "a/"), true
			oldSpan = p.span(old)
		case strings.HasPrefix(p.line, "+++ ") && haveOld:
			haveOld = false
			path := diffPath(p.line[4:], "b/")
			switch {
			case path == devNull && old == devNull:
				p.err = errors.Join(p.err, ErrPatchBroken)
			case path == devNull:
				p.replaceLast(PatchFile{Path: old, Op: FileDelete, Span: oldSpan})
			case old != devNull && old != path:
				// patch picks one of the two names by rules of its own.
				p.replaceLast(PatchFile{Path: old, Op: FileWrite, Span: oldSpan})
				p.replaceLast(PatchFile{Path: path, Op: FileWrite, Span: p.span(path)})
			default:
				p.replaceLast(PatchFile{Path: path, Op: FileWrite, Span: p.span(path)})
			}
		case strings.HasPrefix(p.line, "@@ "):
			p.hunk()
		}
		// The data of a binary patch needs no care: its lines start with a letter that
		// is their length.
	}
}

const devNull = "/dev/null"

func (p *patchParser) span(path string) Span {
	if i := strings.Index(p.line, path); i >= 0 && path != "" {
		return Span{Start: p.start + i, End: p.start + i + len(path)}
	}
	return Span{Start: p.start, End: p.start + len(p.line)}
}

// replaceLast adds a file, unless the header of the same change named it before.
func (p *patchParser) replaceLast(f PatchFile) {
	for i := len(p.files) - 1; i >= 0 && i >= len(p.files)-2; i-- {
		if p.files[i].Path == f.Path {
			p.files[i] = f
			return
		}
	}
	if f.Path == "" {
		p.err = errors.Join(p.err, ErrPatchBroken)
		return
	}
	if len(p.files) >= p.limit {
		p.err = ErrPatchTooLarge
		return
	}
	p.files = append(p.files, f)
}

// gitHeader reads the extended header of one file.
func (p *patchParser) gitHeader(names string) {
	header, headerAt := p.line, p.start
	from, to, deleted, renamed, copied := "", "", false, false, false
	body := false
loop:
	for p.next() {
		switch {
		case strings.HasPrefix(p.line, "deleted file mode "):
			deleted = true
		case strings.HasPrefix(p.line, "rename from "):
			from, renamed = unquoteGit(p.line[len("rename from "):]), true
			p.add(from, FileDelete)
		case strings.HasPrefix(p.line, "rename to "):
			to = unquoteGit(p.line[len("rename to "):])
			p.add(to, FileWrite)
		case strings.HasPrefix(p.line, "copy from "):
			copied = true
		case strings.HasPrefix(p.line, "copy to "):
			to = unquoteGit(p.line[len("copy to "):])
			p.add(to, FileWrite)
		case strings.HasPrefix(p.line, "old mode "), strings.HasPrefix(p.line, "new mode "),
			strings.HasPrefix(p.line, "new file mode "), strings.HasPrefix(p.line, "index "),
			strings.HasPrefix(p.line, "similarity index "), strings.HasPrefix(p.line, "dissimilarity index "):
		default:
			body = strings.HasPrefix(p.line, "--- ")
			p.back()
			break loop
		}
	}
	if renamed || copied || body {
		return // named above, or by the --- and +++ lines
	}
	a, b := splitGitNames(names)
	p.line, p.start = header, headerAt
	op := FileWrite
	if deleted {
		op = FileDelete
	}
	p.add(b, op)
	if a != b && a != "" {
		p.add(a, op)
	}
}

// splitGitNames splits `a/x b/x`. Without quotes the two are equal but for the
// prefix when they hold spaces.
func splitGitNames(s string) (a, b string) {
	if strings.HasPrefix(s, `"`) {
		if q, err := strconv.QuotedPrefix(s); err == nil {
			return stripPrefix(unquoteGit(q), "a/"), stripPrefix(unquoteGit(strings.TrimSpace(s[len(q):])), "b/")
		}
	}
	for i := 0; i < len(s); i++ {
		if s[i] != ' ' {
			continue
		}
		l, r := stripPrefix(s[:i], "a/"), stripPrefix(unquoteGit(s[i+1:]), "b/")
		if l == r {
			return l, r
		}
	}
	l, r, _ := strings.Cut(s, " ")
	return stripPrefix(l, "a/"), stripPrefix(unquoteGit(r), "b/")
}

func stripPrefix(s, prefix string) string { return strings.TrimPrefix(s, prefix) }

// diffPath reads the path of a --- or +++ line: up to a tab, with the quotes of
// git undone.
func diffPath(s, prefix string) string {
	s, _, _ = strings.Cut(s, "\t")
	s = unquoteGit(strings.TrimRight(s, " "))
	if s == devNull {
		return s
	}
	return stripPrefix(s, prefix)
}

func unquoteGit(s string) string {
	if !strings.HasPrefix(s, `"`) {
		return s
	}
	// Git writes C escapes; octal ones are bytes, as in Go.
	if u, err := strconv.Unquote(s); err == nil {
		return u
	}
	return strings.Trim(s, `"`)
}

// hunk skips the lines that the current @@ line counts.
func (p *patchParser) hunk() {
	oldLines, newLines, ok := hunkCounts(p.line)
	if !ok {
		return // not a hunk: text that starts alike
	}
	for (oldLines > 0 || newLines > 0) && p.next() {
		c := byte(' ')
		if p.line != "" {
			c = p.line[0]
		}
		switch c {
		case ' ', '\t':
			oldLines--
			newLines--
		case '-':
			oldLines--
		case '+':
			newLines--
		case '\\':
		default:
			// The hunk is shorter than it says. A reader may stop here or go on;
			// what follows is read as headers.
			p.err = errors.Join(p.err, ErrPatchBroken)
			p.back()
			p.resync()
			return
		}
		if oldLines < 0 || newLines < 0 {
			p.err = errors.Join(p.err, ErrPatchBroken)
			p.resync()
			return
		}
	}
}

// resync lets the rest of a broken patch be read for its headers: next stops at
// an error, and a file that is not found is worse than one too many.
func (p *patchParser) resync() {
	rest := &patchParser{text: p.text[p.pos:], limit: p.limit - len(p.files)}
	if rest.limit <= 0 {
		return
	}
	for rest.next() {
		switch {
		case strings.HasPrefix(rest.line, "--- "), strings.HasPrefix(rest.line, "+++ "):
			if path := diffPath(rest.line[4:], rest.line[:1]); path != devNull {
				path = stripPrefix(stripPrefix(path, "a/"), "b/")
				sp := rest.span(path)
				p.replaceLast(PatchFile{Path: path, Op: FileWrite, Span: Span{Start: p.pos + sp.Start, End: p.pos + sp.End}})
			}
		}
	}
}

func hunkCounts(line string) (o, n int, ok bool) {
	rest, found := strings.CutPrefix(line, "@@ -")
	if !found {
		return 0, 0, false
	}
	oldRange, rest, found := strings.Cut(rest, " +")
	if !found {
		return 0, 0, false
	}
	newRange, _, found := strings.Cut(rest, " @@")
	if !found {
		return 0, 0, false
	}
	o, ok1 := rangeCount(oldRange)
	n, ok2 := rangeCount(newRange)
	return o, n, ok1 && ok2
}

func rangeCount(s string) (int, bool) {
	start, count, has := strings.Cut(s, ",")
	if _, err := strconv.ParseUint(start, 10, 31); err != nil {
		return 0, false
	}
	if !has {
		return 1, true
	}
	n, err := strconv.ParseUint(count, 10, 31)
	return int(n), err == nil
}
