package shell

import (
	"path"
	"strings"
	"time"
)

// mount maps a folder inside a container to one outside.
type mount struct{ inside, outside string }

var nullDevices = map[string]bool{
	"/dev/null": true, "/dev/stdout": true, "/dev/stderr": true, "/dev/stdin": true, "/dev/tty": true,
	"/dev/full": true, "/dev/zero": true, "/dev/random": true, "/dev/urandom": true, "/dev/ptmx": true,
	"NUL": true,
}

var defaultTemp = []string{"/tmp", "/var/tmp", "/private/tmp", "/private/var/tmp", "/dev/shm"}

func (m *machine) temps() []string {
	if m.opts.TempDirs != nil {
		return m.opts.TempDirs
	}
	return defaultTemp
}

// join makes name absolute below cwd; both may hold marks.
func join(cwd, name string) string {
	if name == "" {
		return cwd
	}
	if name[0] == '/' {
		return path.Clean(name)
	}
	if name[0] == markUnknown {
		// Nobody knows where this begins.
		return path.Clean(name)
	}
	if cwd == "" || cwd == unknownText {
		return unknownText + "/" + path.Clean(name)
	}
	return path.Clean(cwd + "/" + name)
}

const maxLinks = 16

// resolve judges a name as the current command would get it. A link at the end
// is followed, as reading and writing do.
func (f *frame) resolve(v value) Path { return f.resolveName(v, true) }

// resolveEntry judges a name whose folder entry is meant: what deletes or moves
// a link does not follow it.
func (f *frame) resolveEntry(v value) Path { return f.resolveName(v, false) }

func (f *frame) resolveName(v value, whole bool) Path {
	m := f.m
	if m.win {
		return f.resolveWin(v, whole)
	}
	name := v.s
	p := Path{Raw: plain(name), Slash: len(name) > 1 && strings.HasSuffix(name, "/")}
	if v.has(tScratch) && !strings.HasPrefix(name, "/") {
		name = "/tmp/" + name
	}
	if !f.posix() && windowsName(name) {
		name = drivePath(f.cwd, name)
	}
	abs := join(f.cwd, name)
	if strings.HasPrefix(name, "/dev/fd/") || strings.HasPrefix(abs, "/proc/self/fd/") {
		p.Abs, p.Place = plain(abs), PlaceNull
		return p
	}
	abs = f.mapMounts(abs)
	abs, sure := m.follow(abs, whole || p.Slash)
	p = m.place(p, abs)
	p.doubt(sure)
	return p
}

// doubt marks a place that only the text speaks for, because the disk gave no
// answer. What the text says is dangerous stays so; what it says is inside may lie
// elsewhere.
func (p *Path) doubt(sure bool) {
	if !sure && (p.Place == PlaceWorkspace || p.Place == PlaceTemp) {
		p.Unresolved = true
	}
}

func (f *frame) mapMounts(abs string) string {
	for _, mt := range f.mounts {
		if rest, ok := below(abs, mt.inside); ok {
			return path.Clean(mt.outside + "/" + rest)
		}
	}
	return abs
}

// follow replaces links: those made in the same text, and those on disk. It is
// not sure when the disk gave no answer; the name is then as far as it came.
func (m *machine) follow(abs string, whole bool) (to string, sure bool) {
	if len(m.links) > 0 {
		for range maxLinks {
			next, ok := m.followOnce(abs, whole)
			if !ok {
				break
			}
			abs = next
		}
	}
	if m.opts.FS != nil && strings.HasPrefix(abs, "/") {
		return m.followDisk(abs, whole)
	}
	return abs, true
}

func (m *machine) followOnce(abs string, whole bool) (string, bool) {
	for link, target := range m.links {
		if rest, ok := below(abs, link); ok && (rest != "" || whole) {
			return path.Clean(target + "/" + rest), true
		}
	}
	return abs, false
}

func (m *machine) followDisk(abs string, whole bool) (to string, sure bool) {
	limit := m.opts.FSLimit
	if limit <= 0 {
		limit = DefaultFSLimit
	}
	deadline := time.Now().Add(limit)
	hops := 0
	for i := 1; i <= len(abs); i++ {
		if i < len(abs) && abs[i] != '/' {
			continue
		}
		prefix := abs[:i]
		if !clean(prefix) {
			return abs, true
		}
		if i == len(abs) && !whole {
			return abs, true
		}
		left := time.Until(deadline)
		if left <= 0 {
			return abs, false
		}
		target, ok, err := m.opts.FS.Readlink(prefix, left)
		if err != nil {
			return abs, false
		}
		if !ok {
			continue
		}
		if hops++; hops > maxLinks {
			return abs, false
		}
		abs = path.Clean(join(path.Dir(prefix), literal(target)) + "/" + abs[i:])
		i = 0
	}
	return abs, true
}

// below reports whether abs is dir or lies in it, and the rest of it.
func below(abs, dir string) (string, bool) {
	if dir == "/" {
		return strings.TrimPrefix(abs, "/"), strings.HasPrefix(abs, "/")
	}
	if !strings.HasPrefix(abs, dir) {
		return "", false
	}
	if len(abs) == len(dir) {
		return "", true
	}
	if abs[len(dir)] != '/' {
		return "", false
	}
	return abs[len(dir)+1:], true
}

// place fills in where abs lies.
func (m *machine) place(p Path, abs string) Path {
	p.Glob = hasGlob(abs)
	p.Abs = plain(abs)
	if i := strings.IndexByte(abs, markUnknown); i >= 0 {
		p.Unresolved = true
		// The known front part decides what it can.
		if i == 0 {
			return p
		}
	}
	if m.opts.CaseInsensitive {
		abs = strings.ToLower(abs)
	}
	if nullDevices[abs] {
		p.Place = PlaceNull
		return p
	}
	if rest, ok := below(abs, "/dev"); ok && rest != "" {
		if _, shm := below(abs, "/dev/shm"); !shm {
			p.Place = PlaceDevice
			if strings.HasPrefix(rest, "tty") || strings.HasPrefix(rest, "pts/") || strings.HasPrefix(rest, "fd/") {
				p.Place = PlaceNull
			}
			return p
		}
	}
	for _, root := range m.roots {
		rest, ok := below(abs, root)
		if !ok {
			continue
		}
		p.Rel = plain(rest)
		p.Place = PlaceWorkspace
		if rest == "" || wholeGlob(rest) {
			p.Place = PlaceRoot
		}
		return p
	}
	for _, t := range m.temps() {
		if rest, ok := below(abs, t); ok {
			p.Place = PlaceTemp
			if rest == "" || wholeGlob(rest) {
				p.Place = PlaceTempRoot
			}
			return p
		}
	}
	p.Place = PlaceOutside
	for _, root := range m.roots {
		if _, ok := below(root, abs); ok {
			p.Place = PlaceAbove
			return p
		}
	}
	if p.Glob {
		for _, root := range m.roots {
			if globHolds(abs, root) {
				p.Place = PlaceAbove
			}
		}
	}
	return p
}

// wholeGlob reports whether rest, relative to a folder, matches all in it: only
// stars in its first element, such as `*`, `.*`, `**/*` or `*/`.
func wholeGlob(rest string) bool {
	if !hasGlob(rest) {
		return false
	}
	for i := 0; i < len(rest); i++ {
		switch rest[i] {
		case markStar, markAny, markSet, '/', '.':
		case '[', ']', '!', '^':
			// part of a set
		default:
			if strings.IndexByte(rest[:i], markSet) < 0 {
				return false
			}
		}
	}
	return strings.IndexByte(rest, markStar) >= 0
}

// globHolds reports whether the pattern abs may match root or a folder above it.
func globHolds(abs, root string) bool {
	n := strings.Count(strings.TrimSuffix(abs, "/"), "/")
	parts := strings.Split(root, "/")
	if n+1 > len(parts) {
		return false
	}
	return matchMarks(abs, strings.Join(parts[:n+1], "/"))
}
