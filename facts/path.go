package facts

import (
	"errors"
	"net/url"
	"strings"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/shell"
)

// resolve judges a path of a tool's input by the rules that commands go by.
// Tools differ on ~: some expand it. It is expanded, since the home is where the
// harm would be.
func (x *extractor) resolve(name string) shell.Path {
	p := name
	if len(p) > 7 && strings.EqualFold(p[:7], "file://") {
		if u, err := url.Parse(p); err == nil && (u.Host == "" || u.Host == "localhost") {
			p = u.Path
			if len(p) > 2 && p[0] == '/' && windowsPath(p[1:]) {
				p = p[1:]
			}
		}
	}
	if p == "~" || strings.HasPrefix(p, "~/") || strings.HasPrefix(p, `~\`) {
		if x.o.Home == "" {
			return shell.Path{Raw: name, Abs: strings.ReplaceAll(name, `\`, "/"), Unresolved: true}
		}
		p = x.o.Home + p[1:]
	}
	o := x.shellOptions()
	r := shell.Resolve(p, o)
	r.Raw = name
	return r
}

// zoneOf turns the place of a path into a zone.
func zoneOf(p shell.Place) Zone {
	switch p {
	case shell.PlaceWorkspace:
		return ZoneWorkspace
	case shell.PlaceRoot, shell.PlaceAbove:
		return ZoneRoot
	case shell.PlaceTemp, shell.PlaceTempRoot:
		return ZoneScratch
	case shell.PlaceNull, shell.PlaceDevice:
		return ZoneDevice
	case shell.PlaceOutside:
		return ZoneOutside
	default:
		return ZoneUnknown
	}
}

// addFile adds one path of a tool's input.
func (x *extractor) addFile(name string, op FileOp, tree bool, via string, c Certainty, span Span) {
	if name == "" {
		return
	}
	if len(x.f.Files) >= x.limits.Files {
		x.breach("facts.files")
		return
	}
	p := x.resolve(name)
	f := File{
		Path: p.Abs, Op: op, Zone: zoneOf(p.Place), Recursive: tree, Via: via, Certainty: c, Span: span,
	}
	if f.Path == "" {
		f.Path = name
	}
	if p.Unresolved {
		f.Zone = ZoneUnknown
		x.f.Undecidable = true
	}
	x.f.Files = append(x.f.Files, f)
}

// files reads the paths of a tool's input.
func (x *extractor) files(shape toolShape, via string, input map[string]any) {
	op, certainty := shape.op, Certain
	strict := false
	if op == "" {
		switch shape.kind {
		case ahp.KindMCP, ahp.KindOther, "":
			// What the tool does with a path is not known. It is told as a possible
			// read, and only for a value that can be nothing but a path.
			op, certainty, strict = FileRead, Possible, true
		case ahp.KindFetch:
			return
		default:
			op = FileRead
		}
	}
	// Editors with subcommands say in one member what they do.
	if s, ok := input["command"].(string); ok && shape.op != "" {
		switch s {
		case "view", "read", "list":
			op = FileRead
		case "delete", "remove":
			op = FileDelete
		}
	}
	r := fileReader{x: x, shape: shape, via: via, certainty: certainty, strict: strict}
	r.read(input, "", op, 0)
	if r.odd.set && len(x.f.Files) == 0 && fileKind(shape.kind) {
		x.unreadable(r.odd.pointer, r.odd.value, "a path")
	}
	if shape.kind == ahp.KindSearch && len(x.f.Files) == 0 {
		// A search without a path is in the working folder.
		x.addFile(".", op, shape.tree, via, certainty, Span{})
	}
}

// A fileReader reads the paths of one input.
type fileReader struct {
	x         *extractor
	shape     toolShape
	via       string
	certainty Certainty
	strict    bool   // only what can be nothing but a path
	odd       misfit // where a path should be
}

func (r *fileReader) add(name string, op FileOp, ptr string) {
	r.x.addFile(name, op, r.shape.tree, r.via, r.certainty, Span{Pointer: ptr, End: len(name)})
}

func (r *fileReader) read(obj map[string]any, at string, op FileOp, depth int) {
	if depth > 4 {
		return
	}
	shape, strict := r.shape, r.strict
	fromOp := FileRead
	name := strings.ToLower(r.x.f.Tool.Name)
	if r.x.f.MCP != nil {
		name = strings.ToLower(r.x.f.MCP.Tool)
	}
	if strings.Contains(name, "move") || strings.Contains(name, "rename") {
		fromOp = FileDelete
	}
	if mode, ok := obj["mode"].(string); ok && at != "" && strings.EqualFold(mode, "directory") && op == FileRead {
		op = FileList
	}
	for _, k := range sortedKeys(obj) {
		pk, ptr := plainKey(k), at+"/"+escapePointer(k)
		sure := surePathKeys[pk] && fileKind(shape.kind)
		switch v := obj[k].(type) {
		case string:
			switch {
			case strict && (!pathKeys[pk] && !fromKeys[pk] && !toKeys[pk] || !rooted(v)):
			case pathKeys[pk]:
				// A file pattern of a search is no path of its own.
				if pk == "include" {
					continue
				}
				if pk == "uri" && !strings.HasPrefix(strings.ToLower(v), "file:") && strings.Contains(v, "://") {
					continue
				}
				r.add(v, op, ptr)
			case fromKeys[pk] && (strict || shape.op == FileWrite && hasKey(obj, toKeys)):
				r.add(v, fromOp, ptr)
			case toKeys[pk] && (strict || shape.op == FileWrite && hasKey(obj, fromKeys)):
				r.add(v, FileWrite, ptr)
			case pk == "pattern" && shape.kind == ahp.KindSearch && shape.op == FileList:
				r.x.globPattern(v, shape, r.via, ptr)
			case nestedKeys[pk]:
				r.odd.note(ptr, v)
			}
		case []any:
			told := false // the first one says it; the others may be paths
			for i, e := range v {
				eptr := ptr + "/" + itoa(i)
				switch e := e.(type) {
				case string:
					if pathKeys[pk] && (!strict || rooted(e)) && pk != "include" {
						r.add(e, op, eptr)
					}
					continue
				case map[string]any:
					if nestedKeys[pk] {
						r.read(e, eptr, op, depth+1)
						continue
					}
				}
				if sure && !told {
					told = true
					r.x.unreadable(eptr, e, "a path")
				}
			}
		case map[string]any:
			switch {
			case nestedKeys[pk] || pk == "arguments" || pk == "args" || pk == "params":
				r.read(v, ptr, op, depth+1)
			case sure:
				r.x.unreadable(ptr, v, "a path")
			}
		default:
			if sure || nestedKeys[pk] {
				r.odd.note(ptr, v)
			}
		}
	}
}

// globPattern adds the folder that a file pattern starts in, when the pattern
// leaves the folder that it is given.
func (x *extractor) globPattern(pattern string, shape toolShape, via, ptr string) {
	if !rooted(pattern) && !strings.HasPrefix(pattern, "..") {
		return
	}
	base := pattern
	if i := strings.IndexAny(base, "*?[{"); i >= 0 {
		base = base[:strings.LastIndexByte(base[:i], '/')+1]
	}
	x.addFile(base, shape.op, true, via, Certain, Span{Pointer: ptr, End: len(pattern)})
}

// rooted reports whether s can be nothing but a path.
func rooted(s string) bool {
	return strings.HasPrefix(s, "/") && !strings.HasPrefix(s, "//") || strings.HasPrefix(s, "~/") || windowsPath(s) && len(s) > 2 && (s[2] == '\\' || s[2] == '/') ||
		len(s) > 7 && strings.EqualFold(s[:7], "file://")
}

func hasKey(obj map[string]any, keys map[string]bool) bool {
	for k := range obj {
		if keys[plainKey(k)] {
			return true
		}
	}
	return false
}

func itoa(i int) string {
	if i < 10 {
		return string(rune('0' + i))
	}
	return itoa(i/10) + string(rune('0'+i%10))
}

// patches reads the patch in a tool's input, and reports whether there was one.
func (x *extractor) patches(input map[string]any) bool {
	name := strings.ToLower(x.f.Tool.Name)
	if x.f.MCP != nil {
		name = strings.ToLower(x.f.MCP.Tool)
	}
	patchTool := name == "apply_patch" || name == "applypatch" || name == "patch"
	if !patchTool && hasKey(input, map[string]bool{"path": true, "filepath": true, "absolutepath": true, "notebookpath": true}) {
		return false
	}
	found := false
	var odd misfit
	for _, k := range sortedKeys(input) {
		text, ok := input[k].(string)
		if list, isList := input[k].([]any); isList {
			// ["apply_patch", "*** Begin Patch …"]
			if words, all := x.stringList(list); all && len(words) > 0 {
				text, ok = words[len(words)-1], true
			}
		}
		if !patchKeys[plainKey(k)] {
			continue
		}
		if !ok {
			if patchTool && holdsMore(input[k]) {
				x.unreadable("/"+escapePointer(k), input[k], "a patch")
			} else {
				odd.note("/"+escapePointer(k), input[k])
			}
			continue
		}
		files, err := ParsePatch(text, x.limits.Files)
		if errors.Is(err, ErrNoPatch) && !patchTool {
			continue
		}
		if errors.Is(err, ErrNoPatch) && plainKey(k) == "explanation" {
			continue
		}
		found = true
		switch {
		case errors.Is(err, ErrPatchTooLarge):
			x.breach("facts.files")
		case err != nil:
			x.f.Undecidable = true
		}
		for _, pf := range files {
			pf.Span.Pointer = "/" + escapePointer(k)
			x.addFile(pf.Path, pf.Op, false, "patch", Certain, pf.Span)
		}
	}
	if patchTool && !found {
		x.f.Undecidable = true
		if odd.set {
			x.unreadable(odd.pointer, odd.value, "a patch")
		}
	}
	return found
}

// holdsMore reports whether a value is of a kind that may hide what a tool makes
// something of.
func holdsMore(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		return len(v) > 0
	case []any:
		return len(v) > 0
	}
	return false
}

// fetch reads the addresses of a tool's input.
func (x *extractor) fetch(shape toolShape, input map[string]any) {
	use := UseFetch
	if m, ok := input["method"].(string); ok {
		switch strings.ToUpper(m) {
		case "POST", "PUT", "PATCH":
			use = UseUpload
		}
	}
	known := shape.kind == ahp.KindFetch
	add := func(text, ptr string, span Span, must bool) {
		span.Pointer = ptr
		if len(text) > 7 && strings.EqualFold(text[:5], "file:") {
			x.addFile(text, FileRead, false, "tool", Certain, span)
			return
		}
		if !must && !strings.Contains(text, "://") {
			return
		}
		for _, u := range ParseURL(text, use) {
			if len(x.f.URLs) >= x.limits.URLs {
				x.breach("facts.urls")
				return
			}
			u.Span = span
			if !known {
				u.Certainty = Possible
			}
			if u.Host == "" {
				x.f.Undecidable = true
			}
			x.f.URLs = append(x.f.URLs, u)
		}
	}
	var odd misfit
	for _, k := range sortedKeys(input) {
		pk, ptr := plainKey(k), "/"+escapePointer(k)
		sure := known && sureURLKeys[pk]
		switch v := input[k].(type) {
		case string:
			switch {
			case urlKeys[pk]:
				add(v, ptr, Span{End: len(v)}, known)
			case pk == "prompt" && known:
				for _, sp := range scanURLs(v, x.limits.URLs) {
					add(v[sp.Start:sp.End], ptr, sp, true)
				}
			}
		case []any:
			if !urlKeys[pk] {
				continue
			}
			told := false // as with paths
			for i, e := range v {
				switch e := e.(type) {
				case string:
					add(e, ptr+"/"+itoa(i), Span{End: len(e)}, known)
					continue
				case map[string]any:
					if s, ok := e["url"].(string); ok {
						add(s, ptr+"/"+itoa(i)+"/url", Span{End: len(s)}, known)
						continue
					}
				}
				if sure && !told {
					told = true
					x.unreadable(ptr+"/"+itoa(i), e, "an address")
				}
			}
		case map[string]any:
			switch {
			case pk == "request" || pk == "arguments" || pk == "args":
				if s, ok := v["url"].(string); ok {
					add(s, ptr+"/url", Span{End: len(s)}, known)
				}
			case sure:
				x.unreadable(ptr, v, "an address")
			}
		default:
			if sure {
				odd.note(ptr, v)
			}
		}
	}
	if odd.set && len(x.f.URLs) == 0 && len(x.f.Files) == 0 {
		x.unreadable(odd.pointer, odd.value, "an address")
	}
}
