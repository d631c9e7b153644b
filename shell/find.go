package shell

import (
	"slices"
	"strings"
)

// find runs commands on the files it finds.
func (x *inv) find() value {
	f := x.f
	fd := x.name == "fd" || x.name == "fdfind"
	args := x.args[1:]
	var starts []value
	i := 0
	if fd {
		return x.fd()
	}
	for ; i < len(args); i++ {
		s := args[i].text()
		switch s {
		case "-L", "-H", "-P", "-E", "-X", "-d", "-s", "-x":
			continue
		case "-f":
			if i+1 < len(args) {
				i++
				starts = append(starts, args[i])
			}
			continue
		}
		if strings.HasPrefix(s, "-O") || s == "-D" {
			continue
		}
		if s != "" && (s[0] == '-' || s == "(" || s == "!" || s == ")") {
			break
		}
		starts = append(starts, args[i])
	}
	if len(starts) == 0 {
		starts = []value{{s: ".", span: x.span}}
	}
	// What the files found look like, for the commands run on them.
	pattern := ""
	maxdepth0, typeFile, filtered, dotgit := false, false, false, false
	var first string
	for j := i; j < len(args); j++ {
		s := args[j].text()
		next := func() string {
			if j+1 < len(args) {
				return args[j+1].text()
			}
			return ""
		}
		switch s {
		case "-name", "-iname":
			if j == i || args[j-1].s != "!" && args[j-1].s != "-not" {
				if pattern == "" {
					pattern = next()
				}
				filtered = true
			}
		case "-path", "-wholename", "-ipath", "-regex", "-newer", "-mtime", "-size", "-user", "-mmin", "-atime", "-ctime", "-perm", "-empty":
			if args[max(j-1, 0)].s != "!" && args[max(j-1, 0)].s != "-not" {
				filtered = true
			}
		case "-type":
			typeFile = next() == "f"
			if next() != "d" {
				filtered = filtered || next() == "l"
			}
		case "-maxdepth":
			maxdepth0 = next() == "0"
		}
		if first == "" {
			first = s
		}
	}
	_ = first
	_ = typeFile
	if strings.Contains(pattern, ".git") && !strings.HasPrefix(pattern, "*.git") && pattern != ".gitignore" && pattern != ".gitkeep" && pattern != ".gitattributes" && pattern != ".github" {
		dotgit = true
	}
	out := value{s: unknownText, t: tNames}
	if len(starts) == 1 {
		p := f.resolve(starts[0])
		if !p.Unresolved && !p.Glob && p.Abs != "" && p.Abs[0] == '/' {
			out.s = p.Abs + "/" + string([]byte{markStar})
			if pattern != "" {
				out.s = p.Abs + "/" + string([]byte{markStar}) + "/" + activate(literal(pattern))
			} else if filtered {
				out.s += "/" + unknownText
			}
		}
	}
	if len(starts) > 1 {
		var names []value
		for _, st := range starts {
			names = append(names, st.with(strings.TrimSuffix(st.s, "/")+"/"+string([]byte{markStar})))
		}
		out.s = joinMarked(names, '\n')
	}
	found := func(st value) value {
		v := st
		if maxdepth0 {
			v.t |= tNames
			return v // the start alone
		}
		base := strings.TrimSuffix(st.s, "/")
		switch {
		case pattern != "" && !hasGlob(activate(pattern)):
			v.s = base + "/" + string([]byte{markStar}) + "/" + literal(pattern)
			v.t |= tNames
		case pattern != "":
			v.s = base + "/" + string([]byte{markStar}) + "/" + activate(literal(pattern))
			v.t |= tNames
		case filtered:
			v.s = base + "/" + string([]byte{markStar}) + "/" + unknownText
			v.t |= tNames
		default:
			v.s = base + "/" + string([]byte{markStar})
		}
		return v
	}
	for j := i; j < len(args); j++ {
		s := args[j].text()
		switch s {
		case "-delete":
			for _, st := range starts {
				p := f.resolve(st)
				if (filtered || maxdepth0) && !dotgit && (p.Place == PlaceRoot || p.Place == PlaceWorkspace) {
					// Some files of the workspace, by name.
					f.emit(Action{Kind: FileDelete, Path: p, Detail: "some", Broad: true, Span: x.span, Command: x.cmd + 1})
					continue
				}
				f.emit(Action{Kind: FileDelete, Path: p, Recursive: true, Broad: filtered, Span: x.span, Command: x.cmd + 1})
				if p.Unresolved {
					f.m.undecided(PathUnresolved, st.s, true, x.cmd, x.span)
				}
			}
		case "-fprint", "-fls", "-fprint0", "-fprintf":
			if j+1 < len(args) {
				j++
				x.writes(args[j], value{s: unknownText, t: tCmd})
			}
		case "-exec", "-execdir", "-ok", "-okdir":
			end := j + 1
			for end < len(args) && args[end].s != ";" && args[end].s != "+" {
				end++
			}
			cmd := args[j+1 : end]
			j = end
			if len(cmd) == 0 {
				continue
			}
			for _, st := range starts {
				g := f.under(x.name)
				g.via = append(slices.Clip(g.via), ViaFind)
				g.hasIn, g.in = false, value{}
				target := found(st)
				if s == "-execdir" || s == "-okdir" {
					if d := f.resolve(st); !d.Unresolved && strings.HasPrefix(d.Abs, "/") {
						target.s = strings.Replace(target.s, st.s, d.Abs, 1)
					}
				}
				list := make([]value, 0, len(cmd))
				for _, a := range cmd {
					if strings.Contains(a.s, "{}") {
						n := target
						n.s = strings.ReplaceAll(a.s, "{}", target.s)
						if baseName(list0(cmd)) == "sh" || baseName(list0(cmd)) == "bash" {
							n.t = a.t
						}
						n.span = a.span
						list = append(list, n)
						continue
					}
					list = append(list, a)
				}
				y := &inv{f: g, args: list, span: x.span, noFunc: true}
				r := y.dispatch()
				out.t |= r.t & (tFile | tCmd | tNet | tDecoded)
				out.src = append(out.src, r.src...)
			}
		}
	}
	return out
}

func list0(v []value) string {
	if len(v) == 0 {
		return ""
	}
	return v[0].s
}

// fd is the find of others: fd PATTERN DIR -x CMD.
func (x *inv) fd() value {
	f := x.f
	args := x.args[1:]
	start := lit(".")
	pos := 0
	all, narrowed := true, false
	for i := 0; i < len(args); i++ {
		s := args[i].s
		switch s {
		case "-x", "--exec", "-X", "--exec-batch":
			cmd := args[i+1:]
			for k, a := range cmd {
				if a.s == ";" {
					cmd = cmd[:k]
					break
				}
			}
			if len(cmd) == 0 {
				return value{}
			}
			g := f.under(x.name)
			g.via = append(slices.Clip(g.via), ViaFind)
			target := start.with(strings.TrimSuffix(start.s, "/") + "/" + string([]byte{markStar}) + "/" + unknownText)
			if all && !narrowed {
				target.s = strings.TrimSuffix(start.s, "/") + "/" + string([]byte{markStar})
			}
			target.t |= tNames
			list := []value{}
			used := false
			for _, a := range cmd {
				if strings.Contains(a.s, "{}") {
					used = true
					a = target.with(strings.ReplaceAll(a.s, "{}", target.s))
				}
				list = append(list, a)
			}
			if !used {
				list = append(list, target)
			}
			y := &inv{f: g, args: list, span: x.span, noFunc: true}
			return y.dispatch()
		case "-e", "-t", "-d", "-E", "--extension", "--type", "--max-depth", "--exclude", "-S", "--size":
			narrowed = true
			i++
			continue
		case "--base-directory", "--search-path":
			if i+1 < len(args) {
				i++
				start = args[i]
			}
			continue
		}
		if strings.HasPrefix(s, "-") {
			continue
		}
		pos++
		if pos == 1 {
			all = s == "." || s == "" || s == ".*"
		}
		if pos == 2 {
			start = args[i]
		}
	}
	return value{s: unknownText, t: tNames}
}
