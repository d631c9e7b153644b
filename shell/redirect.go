package shell

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// output is one redirect of a command's output.
type output struct {
	fd     string
	target value
	add    bool
}

// peerIO looks at a command whose input or output is a live connection: a shell
// there is a remote shell.
func (f *frame) peerIO(c syntax.Command, out bool) {
	call, ok := c.(*syntax.CallExpr)
	if !ok || len(call.Args) == 0 {
		return
	}
	for _, w := range call.Args {
		name := w.Lit()
		if i := strings.LastIndexByte(name, '/'); i >= 0 {
			name = name[i+1:]
		}
		if isShellName(name) {
			if out {
				f.emit(Action{Kind: NetShell, Detail: name, Span: f.span(w)})
			}
			return
		}
	}
}

func (f *frame) copyFDs() {
	n := make(map[string]value, len(f.fds)+1)
	maps.Copy(n, f.fds)
	f.fds = n
}

func (f *frame) redirect(r *syntax.Redirect, outs *[]output, persist bool) {
	fd := ""
	if r.N != nil {
		fd = r.N.Value
	}
	word := func() value {
		if r.Word == nil {
			return value{}
		}
		ws := f.words(r.Word)
		if len(ws) == 0 {
			return value{span: f.span(r)}
		}
		return ws[0]
	}
	isOut := false
	var target value
	switch r.Op {
	case syntax.Hdoc, syntax.DashHdoc:
		quoted := false
		for _, p := range r.Word.Parts {
			if l, ok := p.(*syntax.Lit); !ok || strings.IndexByte(l.Value, '\\') >= 0 {
				quoted = true
			}
		}
		v := f.doc(r.Hdoc, quoted)
		if r.Op == syntax.DashHdoc {
			lines := strings.Split(v.s, "\n")
			for i := range lines {
				lines[i] = strings.TrimLeft(lines[i], "\t")
			}
			v.s = strings.Join(lines, "\n")
		}
		f.input(fd, v)
		return
	case syntax.WordHdoc:
		v := f.one(r.Word)
		v.s += "\n"
		f.input(fd, v)
		return
	case syntax.RdrIn:
		f.input(fd, f.readFile(word(), -1, false))
		return
	case syntax.RdrInOut:
		w := word()
		v := f.readFile(w, -1, false)
		if v.has(tPeer) {
			v.s = w.s
		} else {
			v.s = w.s
			v.t &^= tFile
		}
		f.input(fd, v)
		return
	case syntax.DplIn:
		w := word()
		if v, ok := f.fds[w.s]; ok {
			if v.has(tPeer) {
				v.s = unknownText
			}
			f.input(fd, v)
		}
		return
	case syntax.DplOut:
		w := word()
		if w.s == "-" {
			return
		}
		if _, err := strconv.Atoi(strings.TrimSuffix(w.s, "-")); err == nil {
			v, ok := f.fds[strings.TrimSuffix(w.s, "-")]
			if ok {
				*outs = append(*outs, output{fd: or(fd, "1"), target: v, add: true})
				return
			}
			if fd == "0" || fd == "" && w.s == "0" {
				// 0>&1: the input is whatever the output is.
				for _, o := range *outs {
					if o.target.has(tPeer) {
						f.input("0", o.target.with(unknownText))
					}
				}
			}
			if w.s == "1" && fd == "2" || w.s == "2" && fd == "1" || fd == "" {
				return
			}
			return
		}
		if w.opaque() && len(w.vars) > 0 && w.has(tQuoted) {
			if v, ok := f.fds[w.vars[0]]; ok {
				*outs = append(*outs, output{fd: or(fd, "1"), target: v, add: true})
				return
			}
		}
		target, isOut = w, true
	case syntax.RdrOut, syntax.AppOut, syntax.RdrClob, syntax.AppClob, syntax.RdrAll, syntax.AppAll, syntax.RdrAllClob, syntax.AppAllClob:
		target, isOut = word(), true
	}
	if !isOut {
		return
	}
	add := r.Op == syntax.AppOut || r.Op == syntax.AppAll || r.Op == syntax.AppClob || r.Op == syntax.AppAllClob
	if isNetPath(target.s) {
		target.t |= tPeer
	}
	if persist {
		f.copyFDs()
		key := or(fd, "1")
		f.fds[strings.Trim(key, "{}")] = target
		f.writeTo(target, value{}, add, -1, f.span(r))
		return
	}
	*outs = append(*outs, output{fd: or(fd, "1"), target: target, add: add})
}

// fromFifo reports whether a value was read from a named pipe made in the text.
func (m *machine) fromFifo(v value) bool {
	return slices.ContainsFunc(v.src, func(i int) bool { return m.fifos[m.res.Actions[i].Path.Abs] })
}

// fifoFilled says that what shells read from named pipes is a peer's orders: that
// is known, and no hole.
func (m *machine) fifoFilled() {
	for i := range m.res.Undecided {
		u := &m.res.Undecided[i]
		if u.Reason == ScriptUnknown && slices.Contains(m.fifoWaits, u.Command) {
			u.Material = false
		}
	}
}

// sources is a list of one action.
func (m *machine) sources(i int) []int { return append(m.s.indices.room(1), i) }

func or(a, b string) string {
	if a == "" {
		return b
	}
	return a
}

// input binds a descriptor for reading.
func (f *frame) input(fd string, v value) {
	if fd == "" || fd == "0" {
		f.in, f.hasIn = v, true
		return
	}
	f.copyFDs()
	f.fds[strings.Trim(fd, "{}")] = v
}

func isNetPath(s string) bool {
	return strings.HasPrefix(s, "/dev/tcp/") || strings.HasPrefix(s, "/dev/udp/")
}

// readFile reads a file: records it and gives what is known of the content.
func (f *frame) readFile(v value, cmd int, quiet bool) value {
	m := f.m
	if isNetPath(v.s) {
		f.connect(v)
		return value{s: unknownText, t: tPeer, span: v.span}
	}
	if strings.HasPrefix(v.s, "/dev/fd/proc") {
		if c, ok := m.files[v.s]; ok {
			return c
		}
		return unknownVal(0)
	}
	p := f.resolve(v)
	switch p.Abs {
	case "/dev/stdin", "/dev/fd/0", "/proc/self/fd/0":
		if f.hasIn {
			return f.in
		}
	case "/dev/zero", "/dev/urandom", "/dev/random", "/dev/full":
		return value{s: unknownText, t: tEndless, span: v.span}
	}
	if p.Place == PlaceNull {
		return value{}
	}
	i := f.emit(Action{Kind: FileRead, Path: p, Quiet: quiet, Span: v.span, Command: cmd + 1})
	if c, ok := m.files[p.Abs]; ok && !p.Glob {
		c.src = append(append([]int(nil), c.src...), i)
		return c
	}
	if m.fromNet(p.Abs) {
		return value{s: unknownText, t: tFile | tNet, src: m.sources(i), span: v.span}
	}
	return value{s: unknownText, t: tFile, src: m.sources(i), span: v.span}
}

// fromNet reports whether abs lies in a folder that was filled from the network
// in this text.
func (m *machine) fromNet(abs string) bool {
	for _, d := range m.netDirs {
		if _, ok := below(abs, d); ok {
			return true
		}
	}
	return false
}

func (f *frame) connect(v value) {
	rest := v.s[len("/dev/tcp/"):]
	host, _, _ := strings.Cut(rest, "/")
	f.emit(Action{Kind: NetConnect, Host: plain(host), Span: v.span})
}

const dataTaints = tFile | tCmd | tEnv

// writeTo records that content goes to a file.
func (f *frame) writeTo(target, content value, add bool, cmd int, at Span) {
	m := f.m
	if target.has(tPeer) {
		if isNetPath(target.s) {
			f.connect(target)
		}
		host := ""
		if isNetPath(target.s) {
			host, _, _ = strings.Cut(target.s[len("/dev/tcp/"):], "/")
		}
		switch {
		case content.has(tShell) && (content.has(tPeer) || f.in.has(tPeer) || content.from > 0):
			f.emit(Action{Kind: NetShell, Host: plain(host), Span: target.span, Command: cmd + 1})
		case content.t&dataTaints != 0:
			f.emit(Action{Kind: NetUpload, Host: plain(host), Span: target.span, Command: cmd + 1})
		}
		return
	}
	if target.s == "" {
		return
	}
	if strings.HasPrefix(target.s, "/dev/fd/proc") {
		m.drain(target.s, content)
		return
	}
	p := f.resolve(target)
	if content.has(tShell) && content.has(tPeer) && m.fifos[p.Abs] {
		f.emit(Action{Kind: NetShell, Span: target.span, Command: cmd + 1})
	}
	if p.Place == PlaceNull {
		if p.Abs == "/dev/null" {
			m.quiet(content)
		}
		return
	}
	detail := detailIf(add, "append")
	if !add && content.s == "" && content.t == 0 {
		detail = "empty"
	}
	f.emit(Action{Kind: FileWrite, Path: p, Span: target.span, Command: cmd + 1, Detail: detail})
	if p.Unresolved {
		m.undecided(PathUnresolved, target.s, target.openEnded() && !m.makesFolder(cmd), cmd, target.span)
	}
	if (content.has(tEndless) || f.loops > 0) && !f.bounded && p.Place != PlaceDevice {
		f.emit(Action{Kind: Exhaust, Detail: "endless output to a file", Path: p, Span: target.span, Command: cmd + 1})
	}
	if !p.Unresolved && !p.Glob {
		if old, ok := m.files[p.Abs]; ok && add {
			content = concat(old, content)
		} else if add {
			content = concat(unknownVal(tFile), content)
			content.s = strings.TrimPrefix(content.s, unknownText)
		}
		m.putFile(p.Abs, content)
	}
}

func detailIf(cond bool, s string) string {
	if cond {
		return s
	}
	return ""
}

// quiet marks what v carries as not shown.
func (m *machine) quiet(v value) {
	for _, i := range v.src {
		m.res.Actions[i].Quiet = true
	}
}

func (m *machine) putFile(abs string, v value) {
	if m.files == nil {
		m.files = map[string]value{}
	}
	if len(m.files) > 1024 {
		return
	}
	m.files[abs] = v
	delete(m.built, abs)
}
