package policy

import (
	"slices"
	"strings"

	"github.com/holdpoint/holdpoint/facts"
	"github.com/holdpoint/holdpoint/shell"
)

func (a *Allow) empty() bool {
	return len(a.Paths) == 0 && len(a.Hosts) == 0 && len(a.Commands) == 0
}

// key identifies the content of an allow-list.
func (a *Allow) key() string {
	return strings.Join(a.Paths, "\x00") + "\x01" + strings.Join(a.Hosts, "\x00") + "\x01" + strings.Join(a.Commands, "\x00")
}

// filter takes out of the facts what an allow-list exempts. A rule that has one
// sees the rest, and so still holds for everything else in the same call.
type filter struct {
	paths  []*PathPattern
	hosts  []*HostPattern
	shapes []*Shape
}

// newFilter compiles a list. The loader has checked the patterns.
func newFilter(a Allow) *filter {
	f := &filter{}
	for _, s := range a.Paths {
		if p, err := CompilePath(s); err == nil {
			f.paths = append(f.paths, p)
		}
	}
	for _, s := range a.Hosts {
		if p, err := CompileHost(s); err == nil {
			f.hosts = append(f.hosts, p)
		}
	}
	for _, s := range a.Commands {
		if p, err := CompileShape(s); err == nil {
			f.shapes = append(f.shapes, p)
		}
	}
	return f
}

func (f *filter) path(name string, glob bool, in *facts.Facts) bool {
	for _, p := range f.paths {
		if p.Covers(name, glob, in) {
			return true
		}
	}
	return false
}

func (f *filter) host(host string, port int) bool {
	for _, p := range f.hosts {
		if p.Match(host, port) {
			return true
		}
	}
	return false
}

// everyHost reports whether all addresses of the call are named. Code that comes
// from the network does not say from which of them, so it is exempt only then.
func (f *filter) everyHost(in *facts.Facts) bool {
	for i := range in.URLs {
		if u := &in.URLs[i]; u.Certainty != facts.Certain || !f.host(u.Host, u.Port) {
			return false
		}
	}
	if in.Shell != nil && in.Shell.Result != nil {
		for i := range in.Shell.Result.Commands {
			c := &in.Shell.Result.Commands[i]
			// An argument that is not known may be one more address.
			if c.Dynamic || slices.ContainsFunc(c.Args, func(a shell.Arg) bool { return !a.Known }) {
				return false
			}
		}
	}
	return len(in.URLs) > 0 && !in.Undecidable
}

func (f *filter) command(c *shell.Command) bool {
	for _, s := range f.shapes {
		if s.Covers(c) {
			return true
		}
	}
	return false
}

// apply returns facts without what is exempt. The lists of the result share
// nothing with those of in where they differ.
func (f *filter) apply(in *facts.Facts) *facts.Facts {
	out := *in
	out.Files = keep(in.Files, func(x *facts.File) bool {
		return !f.path(x.Path, x.Glob, in) && !f.command(x.Command)
	})
	out.URLs = keep(in.URLs, func(x *facts.URL) bool {
		return !f.host(x.Host, x.Port) && !f.command(x.Command)
	})
	out.Hazards = keep(in.Hazards, func(x *facts.Hazard) bool {
		if x.Code == facts.NetPipeToShell && x.Host == "" && f.everyHost(in) {
			return false
		}
		return (x.Path == "" || !f.path(x.Path, strings.ContainsAny(x.Path, "*?["), in)) &&
			(x.Host == "" || !f.host(x.Host, 0)) && !f.command(x.Command)
	})
	if len(f.shapes) > 0 && in.Shell != nil && in.Shell.Result != nil {
		sh, res := *in.Shell, *in.Shell.Result
		gone := map[int]bool{}
		res.Commands = nil
		for i := range in.Shell.Result.Commands {
			if c := &in.Shell.Result.Commands[i]; f.command(c) {
				gone[i] = true
			} else {
				res.Commands = append(res.Commands, *c)
			}
		}
		if len(gone) > 0 {
			res.Actions = keep(in.Shell.Result.Actions, func(a *shell.Action) bool { return !gone[a.Command] })
			sh.Result = &res
			out.Shell = &sh
		}
	}
	return &out
}

// keep returns list itself when nothing goes.
func keep[T any](list []T, want func(*T) bool) []T {
	for i := range list {
		if want(&list[i]) {
			continue
		}
		out := append([]T(nil), list[:i]...)
		for j := i + 1; j < len(list); j++ {
			if want(&list[j]) {
				out = append(out, list[j])
			}
		}
		return out
	}
	return list
}
