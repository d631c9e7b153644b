package policy

import (
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// The bounds on policy folders and files.
const (
	MaxFileBytes = 1 << 20
	MaxFiles     = 1_000
	MaxRules     = 10_000
	maxProblems  = 200 // of one file; more help nobody
	maxYAMLDepth = 32
)

// document is one YAML file on its way in. It collects problems with their place.
type document struct {
	file     string
	lines    []string
	problems []*Problem // the first ones
	faults   int        // how many there were in all
}

// parseYAML reads one document. Aliases, anchors, tags and further documents are
// refused: a policy says what it says where it stands.
func parseYAML(file string, data []byte) (*document, *yaml.Node) {
	d := &document{file: file}
	if len(data) > MaxFileBytes {
		d.failAt(0, 0, "", "file is %d bytes, want at most %d", len(data), MaxFileBytes)
		return d, nil
	}
	if !utf8.Valid(data) {
		d.failAt(0, 0, "", "file is not UTF-8")
		return d, nil
	}
	text := strings.TrimPrefix(string(data), "\ufeff")
	d.lines = strings.Split(text, "\n")
	for i, l := range d.lines {
		d.lines[i] = strings.TrimSuffix(l, "\r")
	}
	dec := yaml.NewDecoder(strings.NewReader(text))
	var root yaml.Node
	if err := dec.Decode(&root); err != nil {
		d.yamlError(err)
		return d, nil
	}
	var more yaml.Node
	if dec.Decode(&more) == nil {
		d.failAt(more.Line, more.Column, "", "found a second document, want one")
		return d, nil
	}
	if root.Kind != yaml.DocumentNode || len(root.Content) != 1 {
		d.failAt(1, 1, "", "file is empty, want a mapping")
		return d, nil
	}
	n := root.Content[0]
	d.plain(n, 0)
	if len(d.problems) > 0 {
		return d, nil
	}
	return d, n
}

var yamlPlace = regexp.MustCompile(`\b(?:line )?(\d+)(?::(\d+))?`)

func (d *document) yamlError(err error) {
	line, col := 0, 0
	msg := err.Error()
	if le, ok := errors.AsType[*yaml.LoadError](err); ok {
		line, col, msg = le.Mark.Line, le.Mark.Column, le.Message
	} else if m := yamlPlace.FindStringSubmatch(msg); m != nil {
		line, _ = strconv.Atoi(m[1])
	}
	if errors.Is(err, io.EOF) {
		d.failAt(1, 1, "", "file is empty, want a mapping")
		return
	}
	if line >= 1 && line <= len(d.lines) && strings.HasPrefix(strings.TrimLeft(d.lines[line-1], " "), "\t") {
		msg = "a tab, indent with spaces"
	}
	d.failAt(line, max(col, 1), "", "not well-formed YAML: %s", msg)
}

// plain refuses what makes the meaning of a node depend on another place.
func (d *document) plain(n *yaml.Node, depth int) {
	switch {
	case depth > maxYAMLDepth:
		d.fail(n, "", "nested deeper than %d", maxYAMLDepth)
		return
	case n.Kind == yaml.AliasNode:
		d.fail(n, "", "aliases are not supported; write the value out")
		return
	case n.Anchor != "":
		d.fail(n, "", "anchors are not supported")
	case n.Style&yaml.TaggedStyle != 0:
		d.fail(n, "", "tags are not supported; quote a text that starts with !")
	}
	for _, c := range n.Content {
		d.plain(c, depth+1)
	}
}

func (d *document) fail(n *yaml.Node, ptr, format string, args ...any) {
	d.failAt(n.Line, n.Column, ptr, format, args...)
}

func (d *document) failAt(line, col int, ptr, format string, args ...any) {
	d.faults++
	if len(d.problems) >= maxProblems {
		return
	}
	p := &Problem{File: d.file, Line: line, Column: col, Pointer: ptr, Message: fmt.Sprintf(format, args...)}
	p.Message = Escape(p.Message, 0)
	if line >= 1 && line <= len(d.lines) {
		p.Snippet = snippet(d.lines[line-1], col)
	}
	d.problems = append(d.problems, p)
}

// show puts a line of the text that the last problem is about in place of its own,
// where that problem is among those that are kept.
func (d *document) show(line string, col int) {
	if n := len(d.problems); n > 0 && n == d.faults {
		d.problems[n-1].Snippet = snippet(line, col)
	}
}

// snippet shows a line, cut around col, and a caret below it.
func snippet(line string, col int) string {
	const width = 100
	runes := []rune(strings.ReplaceAll(line, "\t", " "))
	if col < 1 {
		col = 1
	}
	start := 0
	if col > width-20 {
		start = col - width + 40
	}
	start = min(start, len(runes))
	end := min(len(runes), start+width)
	shown := make([]rune, 0, width)
	for _, r := range runes[start:end] {
		if hidden(r) {
			r = '\ufffd'
		}
		shown = append(shown, r)
	}
	return string(shown) + "\n" + strings.Repeat(" ", max(0, col-1-start)) + "^"
}

func kindOf(n *yaml.Node) string {
	switch n.Kind {
	case yaml.MappingNode:
		return "a mapping"
	case yaml.SequenceNode:
		return "a list"
	default:
	}
	switch n.ShortTag() {
	case "!!null":
		return "nothing"
	case "!!bool":
		return "a boolean"
	case "!!int", "!!float":
		return "a number"
	}
	return "a text"
}

// A member reads the value of one key.
type member func(n *yaml.Node, ptr string)

// object reads a mapping whose keys are all known.
func (d *document) object(n *yaml.Node, ptr string, members map[string]member, required ...string) {
	if n.Kind != yaml.MappingNode {
		d.fail(n, ptr, "found %s, want a mapping", kindOf(n))
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k, v := n.Content[i], n.Content[i+1]
		key := k.Value
		at := ptr + "/" + escapePointer(key)
		if k.Kind != yaml.ScalarNode {
			d.fail(k, ptr, "found %s as a key, want a text", kindOf(k))
			continue
		}
		if seen[key] {
			d.fail(k, at, "key %q is there twice", key)
			continue
		}
		seen[key] = true
		read, ok := members[key]
		if !ok {
			names := make([]string, 0, len(members))
			for m := range members {
				names = append(names, m)
			}
			slices.Sort(names)
			if near := Nearest(key, names); near != "" {
				d.fail(k, at, "unknown key %q; did you mean %q?", key, near)
			} else {
				d.fail(k, at, "unknown key %q, want one of %s", key, strings.Join(names, ", "))
			}
			continue
		}
		read(v, at)
	}
	for _, r := range required {
		if !seen[r] {
			d.fail(n, ptr, "key %q is missing", r)
		}
	}
}

// entries reads a mapping with free keys.
func (d *document) entries(n *yaml.Node, ptr string, each func(k, v *yaml.Node, ptr string)) {
	if n.Kind != yaml.MappingNode {
		d.fail(n, ptr, "found %s, want a mapping", kindOf(n))
		return
	}
	seen := map[string]bool{}
	for i := 0; i+1 < len(n.Content); i += 2 {
		k := n.Content[i]
		at := ptr + "/" + escapePointer(k.Value)
		switch {
		case k.Kind != yaml.ScalarNode:
			d.fail(k, ptr, "found %s as a key, want a text", kindOf(k))
		case seen[k.Value]:
			d.fail(k, at, "key %q is there twice", k.Value)
		default:
			seen[k.Value] = true
			each(k, n.Content[i+1], at)
		}
	}
}

func (d *document) list(n *yaml.Node, ptr string, each func(n *yaml.Node, ptr string)) {
	if n.Kind != yaml.SequenceNode {
		d.fail(n, ptr, "found %s, want a list", kindOf(n))
		return
	}
	for i, c := range n.Content {
		each(c, ptr+"/"+strconv.Itoa(i))
	}
}

func (d *document) text(n *yaml.Node, ptr string, maxBytes int) (string, bool) {
	if n.Kind != yaml.ScalarNode || n.ShortTag() != "!!str" {
		d.fail(n, ptr, "found %s, want a text", kindOf(n))
		return "", false
	}
	switch {
	case strings.TrimSpace(n.Value) == "":
		d.fail(n, ptr, "text is empty")
		return "", false
	case len(n.Value) > maxBytes:
		d.fail(n, ptr, "text is %d bytes, want at most %d", len(n.Value), maxBytes)
		return "", false
	}
	return n.Value, true
}

func (d *document) boolean(n *yaml.Node, ptr string) (bool, bool) {
	if n.Kind == yaml.ScalarNode && n.ShortTag() == "!!bool" {
		switch n.Value {
		case "true":
			return true, true
		case "false":
			return false, true
		}
	}
	d.fail(n, ptr, "found %s, want true or false", kindOf(n))
	return false, false
}

// choice reads one of a closed set of texts.
func choice[T ~string](d *document, n *yaml.Node, ptr string, values ...T) (T, bool) {
	s, ok := d.text(n, ptr, 256)
	if !ok {
		return "", false
	}
	all := names(values)
	if slices.Contains(all, s) {
		return T(s), true
	}
	hint := ""
	if near := Nearest(s, all); near != "" {
		hint = fmt.Sprintf("; did you mean %q?", near)
	}
	d.fail(n, ptr, "found %q, want one of %s%s", s, strings.Join(all, ", "), hint)
	return "", false
}

func (d *document) texts(n *yaml.Node, ptr string, maxBytes int, check func(string) error) []string {
	var out []string
	d.list(n, ptr, func(c *yaml.Node, ptr string) {
		s, ok := d.text(c, ptr, maxBytes)
		if !ok {
			return
		}
		if check != nil {
			if err := check(s); err != nil {
				d.fail(c, ptr, "%s", err)
				return
			}
		}
		out = append(out, s)
	})
	return out
}

// inScalar turns a place in the text of a scalar into a place in the file. exact
// is false when the way the scalar is written does not keep places, and the
// place is then where the scalar starts.
func (d *document) inScalar(n *yaml.Node, line, col int) (fileLine, fileCol int, exact bool) {
	switch {
	case n.Style&yaml.LiteralStyle != 0:
		at := n.Line + line // the text starts on the line below the |
		if at > len(d.lines) {
			return n.Line, n.Column, false
		}
		// The first line that is not blank sets the indentation.
		indent := 0
		for i := n.Line; i < len(d.lines); i++ {
			if strings.TrimSpace(d.lines[i]) != "" {
				indent = len(d.lines[i]) - len(strings.TrimLeft(d.lines[i], " "))
				break
			}
		}
		return at, indent + col, true
	case line == 1 && n.Line <= len(d.lines) && !strings.Contains(n.Value, "\n"):
		off := 0
		if n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) != 0 {
			off = 1
		}
		runes := []rune(d.lines[n.Line-1])
		from := n.Column - 1 + off
		value := []rune(n.Value)
		if n.Style&yaml.FoldedStyle == 0 && from >= 0 && from+len(value) <= len(runes) && string(runes[from:from+len(value)]) == n.Value {
			return n.Line, n.Column + off + col - 1, true
		}
	}
	return n.Line, n.Column, false
}

func escapePointer(s string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(s)
}
