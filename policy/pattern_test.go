package policy_test

import (
	"strings"
	"testing"

	"github.com/holdpoint/holdpoint/facts"
	"github.com/holdpoint/holdpoint/policy"
	"github.com/holdpoint/holdpoint/shell"
)

func TestPathPattern(t *testing.T) {
	in := &facts.Facts{Session: facts.Session{Home: "/home/dev", Roots: []string{"/home/dev/repo", "/srv/[x]"}}}
	tests := []struct {
		pattern, path string
		want          bool
	}{
		{"/etc/**", "/etc/hosts", true},
		{"/etc/**", "/etc/a/b/c", true},
		{"/etc/**", "/etc", false},
		{"/etc/**", "/etcetera/x", false},
		{"/etc/*", "/etc/a/b", false},
		{"/etc", "/etc/", true},
		{"~/.ssh/**", "/home/dev/.ssh/id", true},
		{"~/.ssh/**", "/home/devel/.ssh/id", false},
		{"~", "/home/dev", true},
		{"**/.env", "/a/b/.env", true},
		{"**/.env", "/.env", true},
		{"**/.env", "/a/.env/b", false},
		{"**/.git/**", "/a/.git/hooks/x", true},
		{"**", "/", false},
		{"**", "/a", true},
		{"src/**", "/home/dev/repo/src/a", true},
		{"src/**", "/srv/[x]/src/a", true},
		{"src/**", "/srv/x/src/a", false},
		{"./Makefile", "/home/dev/repo/Makefile", true},
		{"a/**/z", "/home/dev/repo/a/z", true},
		{"a/**/z", "/home/dev/repo/a/b/c/z", true},
		{"/x/{a,b{c,d}}/*.go", "/x/bd/m.go", true},
		{"/x/{a,b}/*.go", "/x/c/m.go", false},
		{"/x/[a-c]?", "/x/b1", true},
		{`C:\Users\*`, `C:\Users\dev`, true},
		{"C:/Users/*", `C:\Users\dev`, true},
		{"/a", "", false},
		{"**/a/**/b/**/c", "/x/a/y/b/b/z/c", true},
		{"**/a/**/b/**/c", "/x/b/y/a/b/z", false},
		{"/x/**/a/b", "/x/a/a/a/b", true},
		{"/x/**/**/b/**", "/x/b", false},
		{"/x/**/**/b/**", "/x/b/b", true},
		{strings.Repeat("**/a/", 12) + "b", strings.Repeat("/a", 4000), false},
	}
	for _, tt := range tests {
		p, err := policy.CompilePath(tt.pattern)
		if err != nil {
			t.Errorf("%s: %v", tt.pattern, err)
			continue
		}
		if got := p.MatchString(tt.path, in); got != tt.want {
			t.Errorf("%s on %s: got %v, want %v", tt.pattern, tt.path, got, tt.want)
		}
	}
	fold := &facts.Facts{FoldCase: true}
	if p, _ := policy.CompilePath("/Users/Dev/.SSH/**"); !p.MatchString("/users/dev/.ssh/ID", fold) {
		t.Error("case is not folded")
	}
	// Without a known home, every home is meant, and none is exempt.
	ssh, _ := policy.CompilePath("~/.ssh/**")
	for path, want := range map[string]bool{"/home/ann/.ssh/id": true, "/root/.ssh/id": true, "/Users/ann/.ssh/id": true, "~/.ssh/id": true, "/srv/.ssh/id": false} {
		if got := ssh.MatchString(path, &facts.Facts{}); got != want {
			t.Errorf("home not known, %s: got %v, want %v", path, got, want)
		}
		if ssh.Covers(path, false, &facts.Facts{}) {
			t.Errorf("home not known, %s is covered", path)
		}
	}
	for _, bad := range []string{"", "a/../b", "a**b", "/x/[", "{a,b", "a}", "~bob/x", strings.Repeat("**/a/", 17) + "x", "/" + strings.Repeat("{a,b}", 10), strings.Repeat("x", 2000), "a\x00"} {
		if _, err := policy.CompilePath(bad); err == nil {
			t.Errorf("%q was compiled", bad)
		}
	}
}

// A rule's pattern must meet what a glob in a command may mean; an allow-list's
// pattern must hold all of it.
func TestPathPatternOnGlobs(t *testing.T) {
	in := &facts.Facts{Session: facts.Session{Home: "/home/dev"}}
	tests := []struct {
		pattern, glob string
		meets, covers bool
	}{
		{"/home/dev/.ssh/**", "/home/dev/.ssh/*", true, true},
		{"/home/dev/.ssh/id_rsa", "/home/dev/.ssh/id_*", true, false},
		{"/home/dev/.ssh/id_rsa", "/home/dev/.s*/id_rsa", true, false},
		{"/home/dev/.ssh/id_rsa", "/home/dev/.ssh/*.pub", false, false},
		{"/tmp/a?", "/tmp/a*", true, false},
		{"/tmp/*", "/tmp/a*", true, true},
		{"/tmp/a*", "/tmp/a*", true, true},
		{"/tmp/*.log", "/tmp/x*", true, false},
		{"/tmp/x*.log", "/tmp/y*", false, false},
	}
	for _, tt := range tests {
		p, err := policy.CompilePath(tt.pattern)
		if err != nil {
			t.Fatal(err)
		}
		if got := p.Match(&facts.File{Path: tt.glob, Glob: true}, in); got != tt.meets {
			t.Errorf("%s meets %s: got %v", tt.pattern, tt.glob, got)
		}
		if got := p.Covers(tt.glob, true, in); got != tt.covers {
			t.Errorf("%s covers %s: got %v", tt.pattern, tt.glob, got)
		}
	}
	all, _ := policy.CompilePath("**")
	for _, name := range []string{"", "relative", "/a/…/b", "~/x"} {
		if all.Covers(name, false, in) {
			t.Errorf("%q is covered though it is not known", name)
		}
	}
}

func TestHostPattern(t *testing.T) {
	tests := []struct {
		pattern, host string
		port          int
		want          bool
	}{
		{"example.com", "example.com", 443, true},
		{"Example.COM", "example.com", 443, true},
		{"example.com", "www.example.com", 443, false},
		{"*.example.com", "www.example.com", 443, true},
		{"*.example.com", "a.b.example.com", 443, true},
		{"*.example.com", "example.com", 443, false},
		{"*.example.com", "evilexample.com", 443, false},
		{".example.com", "example.com", 443, true},
		{".example.com", "x.example.com", 443, true},
		{"example.com:8443", "example.com", 8443, true},
		{"example.com:8443", "example.com", 443, false},
		{"example.com:8443", "example.com", 0, false},
		{"10.0.0.0/8", "10.1.2.3", 80, true},
		{"10.0.0.0/8", "11.1.2.3", 80, false},
		{"127.0.0.1", "127.0.0.1", 80, true},
		{"0x7f.1", "127.0.0.1", 80, true},
		{"::1", "::1", 80, true},
		{"[::1]:80", "::1", 80, true},
		{"bücher.example", "xn--bcher-kva.example", 443, true},
		{"example.com", "", 443, false},
	}
	for _, tt := range tests {
		p, err := policy.CompileHost(tt.pattern)
		if err != nil {
			t.Errorf("%s: %v", tt.pattern, err)
			continue
		}
		if got := p.Match(tt.host, tt.port); got != tt.want {
			t.Errorf("%s on %s:%d: got %v", tt.pattern, tt.host, tt.port, got)
		}
	}
	for _, bad := range []string{"", "*", "*.", "https://x", "a b", "a.*.com", "x:0", "x:y", "u@x"} {
		if _, err := policy.CompileHost(bad); err == nil {
			t.Errorf("%q was compiled", bad)
		}
	}
}

func TestShape(t *testing.T) {
	push := &shell.Command{Program: "git", Sub: []string{"push"}, Flags: []string{"--force", "-u"}, Args: words("push", "-uf", "origin", "feature/x")}
	push.Flags = []string{"-u", "-f"}
	tests := []struct {
		shape string
		want  bool
	}{
		{"git push ...", true},
		{"git ...", true},
		{"git push -u -f origin feature/x", true},
		{"git push -uf origin feature/*", true},
		{"git push origin feature/* -fu", true},
		{"git push -u origin feature/x", false}, // -f is too much
		{"git push -u ...", true},
		{"git push -x ...", false},
		{"git push * *", false},
		{"git push -uf * *", true},
		{"git push -uf origin", false},
		{"git push -uf origin feature/x main", false},
		{"git pull ...", false},
		{"hg push ...", false},
	}
	for _, tt := range tests {
		s, err := policy.CompileShape(tt.shape)
		if err != nil {
			t.Errorf("%s: %v", tt.shape, err)
			continue
		}
		if got := s.Match(push); got != tt.want {
			t.Errorf("%s: got %v, want %v", tt.shape, got, tt.want)
		}
	}
	for _, bad := range []string{"", "/usr/bin/git push", "g* push", "git ... push", "git push; rm x", "git 'a b'", "git [", "-x"} {
		if _, err := policy.CompileShape(bad); err == nil {
			t.Errorf("%q was compiled", bad)
		}
	}
}

func TestEscape(t *testing.T) {
	tests := []struct {
		in   string
		max  int
		want string
	}{
		{"plain text ä 漢 🙂", 0, "plain text ä 漢 🙂"},
		{"a\nb\tc\x1b[0m\x7f", 0, `a\u000ab\u0009c\u001b[0m\u007f`},
		{"x\u202ey\u2066z\u200b\ufeff", 0, `x\u202ey\u2066z\u200b\ufeff`},
		{"tag\U000e0041", 0, `tag\U000e0041`},
		{"bad \xff byte", 0, `bad \xff byte`},
		{"soft\u00adhyphen \u3164", 0, `soft\u00adhyphen \u3164`},
		{"joined\u034f \u2800", 0, `joined\u034f \u2800`},
		{"12345678", 8, "12345678"},
		{"123456789", 8, "12345…"},
		{"ääääää", 8, "ää…"},
		{strings.Repeat("\n", 10), 14, `\u000a…`},
	}
	for _, tt := range tests {
		if got := policy.Escape(tt.in, tt.max); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.in, got, tt.want)
		}
	}
}

// FuzzPathPattern holds that an exemption never goes further than a match.
func FuzzPathPattern(f *testing.F) {
	f.Add("~/.ssh/**", "/home/dev/.ssh/id_*", true)
	f.Add("**/{a,b}/*.go", "/x/a/m.go", false)
	f.Add("src/**/x", "/home/dev/repo/src/x", false)
	f.Fuzz(func(t *testing.T, pattern, name string, glob bool) {
		p, err := policy.CompilePath(pattern)
		if err != nil {
			return
		}
		in := &facts.Facts{Session: facts.Session{Home: "/home/dev", Roots: []string{"/home/dev/repo"}}}
		if p.Covers(name, glob, in) && !p.Match(&facts.File{Path: name, Glob: glob}, in) {
			t.Errorf("%q covers %q and does not match it", pattern, name)
		}
	})
}
