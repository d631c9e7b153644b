package shell_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/holdpoint/holdpoint/shell"
)

// Every hostile text must come back, with a breach where it is over a bound.
func TestBounds(t *testing.T) {
	tests := []struct {
		name   string
		text   string
		breach string // "" when the text must pass
	}{
		{"a mebibyte of words", strings.Repeat("a ", 1<<19-8), ""},
		{"over the size", strings.Repeat("a", 1<<20+1), "bytes"},
		{"100,000 arguments", "rm " + strings.Repeat("a ", 100_000), ""},
		{"long chain", strings.Repeat("a && ", 20_000) + "a", ""},
		{"long pipeline", strings.Repeat("a | ", 5_000) + "a", ""},
		{"parentheses", strings.Repeat("(", 100_000), "depth"},
		{"substitutions", strings.Repeat("$(", 50_000), "depth"},
		{"ifs", strings.Repeat("if ", 100_000), "depth"},
		{"bangs", "[[ " + strings.Repeat("! ", 100_000) + "a ]]", "depth"},
		{"minuses", "echo $(( " + strings.Repeat("- ", 100_000) + "1 ))", "depth"},
		{"brace product", "echo " + strings.Repeat("{a,b}", 30), "expansion"},
		{"brace sequence", "echo {1..999999999}", "expansion"},
		{"nested scripts", nestedShell(24), "depth"},
		{"many quotes", "eval " + strings.Repeat(`'a'\''b'`, 30_000), ""},
		{"recursive function", "f() { f; }; f", ""},
		{"mutual recursion", "f() { g; }; g() { f; }; f", ""},
		{"alias loop", "alias a=b\nalias b=a\na", ""},
		{"eval loop", `x='eval "$x"'; eval "$x"`, "depth"},
		{"script that runs itself", "echo 'sh x.sh' > x.sh; sh x.sh", ""},
		{"git alias loop", "git config alias.a '!git a'; git a", ""},
		{"growing variable", "x=aaaaaaaa;" + strings.Repeat("x=$x$x;", 40), "expansion"},
		{"nested loops", strings.Repeat("for i in 1 2 3 4 5 6 7 8 9; do ", 9) + "rm $i" + strings.Repeat("; done", 9), "nodes"},
		{"links in a circle", "ln -s a b; ln -s b a; rm -rf a/x", ""},
		{"null bytes", "rm -rf \x00\x01\x02\x03\x04 ~/x", ""},
		{"bad UTF-8", "rm -rf \xff\xfe ~/x", ""},
		{"deep python", "python3 -c '" + strings.Repeat("(", 5000) + "'", "depth"},
		{"long python", "python3 -c '" + strings.Repeat("a=1;", 50_000) + "'", ""},
		{"awk braces", "awk '" + strings.Repeat("{", 300) + "'", ""},
		{"deep SQL", "psql -c '" + strings.Repeat("WITH a AS (", 300) + "'", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := shell.Analyze(t.Context(), tt.text, options())
			got := ""
			for _, b := range r.Breaches {
				got += b.Bound
			}
			if tt.breach == "" && got != "" || tt.breach != "" && !strings.Contains(got, tt.breach) {
				t.Errorf("breaches %q, want %q", got, tt.breach)
			}
		})
	}
}

// nestedShell puts scripts into scripts by here-documents, which need no quotes.
func nestedShell(n int) string {
	s := "rm x\n"
	for i := range n {
		s = fmt.Sprintf("sh <<'E%d'\n%sE%d\n", i, s, i)
	}
	return s
}

// slowFS is a mount that hangs for as long as it may.
type slowFS struct{ asked int }

func (s *slowFS) Readlink(string, time.Duration) (string, bool, error) {
	s.asked++
	return "", false, fmt.Errorf("no answer in time")
}

func TestHungMountIsUnresolved(t *testing.T) {
	o := options()
	fs := &slowFS{}
	o.FS = fs
	r := shell.Analyze(t.Context(), "rm -rf build", o)
	if fs.asked == 0 {
		t.Fatal("the disk was not looked at")
	}
	if !r.Material() {
		t.Errorf("a path that could not be followed is called decided: %+v", r.Actions)
	}
}

// What the text says is dangerous does not depend on a disk that is slow.
func TestHungMountHidesNoDanger(t *testing.T) {
	tests := []struct {
		text  string
		place shell.Place
	}{
		{"rm -rf ~/x", shell.PlaceOutside},
		{"rm -rf /", shell.PlaceAbove},
		{"rm -rf ..", shell.PlaceAbove},
		{"rm -rf .", shell.PlaceRoot},
		{"cd /etc && rm -rf ssh", shell.PlaceOutside},
	}
	for _, tt := range tests {
		o := options()
		o.FS = &slowFS{}
		found := false
		for _, a := range shell.Analyze(t.Context(), tt.text, o).Actions {
			found = found || a.Kind == shell.FileDelete && a.Path.Place == tt.place && a.Certainty == shell.Certain
		}
		if !found {
			t.Errorf("%s: no certain deletion at %q", tt.text, tt.place)
		}
	}
}

// mapFS holds links by name.
type mapFS map[string]string

func (m mapFS) Readlink(name string, _ time.Duration) (string, bool, error) {
	t, ok := m[name]
	return t, ok, nil
}

func TestLinksOnDisk(t *testing.T) {
	o := options()
	o.FS = mapFS{"/home/dev/repo/current": "/srv/app", "/home/dev/repo/loop": "loop"}
	tests := []struct{ text, want string }{
		{"rm -rf current/", "/srv/app"},
		{"rm -rf current/x", "/srv/app/x"},
		{"rm current", "/home/dev/repo/current"},
		{"echo x > current/a", "/srv/app/a"},
	}
	for _, tt := range tests {
		r := shell.Analyze(t.Context(), tt.text, o)
		if len(r.Actions) == 0 || r.Actions[0].Path.Abs != tt.want {
			t.Errorf("%q: got %+v, want %s", tt.text, r.Actions, tt.want)
		}
	}
	if r := shell.Analyze(t.Context(), "rm -rf loop/x", o); !r.Material() {
		t.Error("a link that leads to itself is called decided")
	}
}

// A makefile whose variables multiply costs steps like everything else.
func TestMakeVariablesAreBounded(t *testing.T) {
	var b strings.Builder
	b.WriteString("cat > Makefile <<'EOF'\n")
	for c := 'A'; c < 'P'; c++ {
		fmt.Fprintf(&b, "%c = %s\n", c, strings.Repeat(fmt.Sprintf("$(%c)", c+1), 40))
	}
	b.WriteString("all:\n\techo $(A)\nEOF\nmake\n")
	r := shell.Analyze(t.Context(), b.String(), shell.Options{CWD: "/w", Roots: []string{"/w"}})
	if len(r.Breaches) == 0 {
		t.Error("no bound was reached")
	}
}
