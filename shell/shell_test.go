package shell_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/holdpoint/holdpoint/shell"
)

func options() shell.Options {
	return shell.Options{Dialect: shell.Bash, CWD: "/home/dev/repo", Roots: []string{"/home/dev/repo"}, Home: "/home/dev"}
}

func analyze(t testing.TB, text string) *shell.Result {
	t.Helper()
	return shell.Analyze(t.Context(), text, options())
}

// actions gives the actions as short text: kind, place and path.
func actions(r *shell.Result) []string {
	var out []string
	for _, a := range r.Actions {
		s := string(a.Kind)
		if a.Path.Abs != "" {
			s += " " + a.Path.Abs
		}
		if a.Recursive {
			s += " -r"
		}
		if a.Dry {
			s += " dry"
		}
		out = append(out, s)
	}
	return out
}

func TestCommands(t *testing.T) {
	tests := []struct {
		text     string
		program  string // of the last command
		args     string
		flags    string
		wrappers string
		via      string
	}{
		{"ls -la", "ls", "-la", "-l -a", "", ""},
		{"rm -rf x", "rm", "-rf x", "-r -f", "", ""},
		{"git push --forc origin", "git", "push --forc origin", "-f", "", ""},
		{"git -C sub push --force-with-lease=main", "git", "-C sub push --force-with-lease=main", "-C --force-with-lease", "", ""},
		{"sudo -u bob env A=1 nice -n 5 make", "make", "", "", "sudo env nice", "wrapper wrapper wrapper"},
		{"bash -c 'rm x'", "rm", "x", "", "", "script"},
		{"echo rm x | sh", "rm", "x", "", "", "stdin"},
		{"eval rm x", "rm", "x", "", "", "eval"},
		{"f() { rm x; }; f", "rm", "x", "", "", "func"},
		{"find . -exec rm {} +", "rm", "./*", "", "find", "find"},
		{"ssh h rm x", "rm", "x", "", "ssh", "remote remote"},
		{"trap 'rm x' EXIT", "rm", "x", "", "", "trap"},
		{"python3 -c \"import os; os.system('rm x')\"", "rm", "x", "", "", "code script"},
		{"/usr/bin/rm x", "rm", "x", "", "", ""},
		{`\rm x`, "rm", "x", "", "", ""},
		{"rm $'a b'", "rm", "a b", "", "", ""},
		{"rm {a,b}{1..2}", "rm", "a1 a2 b1 b2", "", "", ""},
		{"x=a; rm ${x}b ${x/a/c} ${x:-d} ${#x} $((1+2))", "rm", "ab c a 1 3", "", "", ""},
		{"rm \"$UNKNOWN/x\"", "rm", "…/x", "", "", ""},
	}
	for _, tt := range tests {
		r := analyze(t, tt.text)
		if len(r.Commands) == 0 {
			t.Errorf("%q: no command", tt.text)
			continue
		}
		c := r.Commands[len(r.Commands)-1]
		var args, via []string
		for _, a := range c.Args {
			args = append(args, a.Value)
		}
		for _, v := range c.Via {
			via = append(via, string(v))
		}
		got := fmt.Sprint(c.Program, "|", strings.Join(args, " "), "|", strings.Join(c.Wrappers, " "), "|", strings.Join(via, " "))
		want := fmt.Sprint(tt.program, "|", tt.args, "|", tt.wrappers, "|", tt.via)
		if got != want {
			t.Errorf("%q: got %s, want %s", tt.text, got, want)
		}
		if tt.flags != "" && strings.Join(c.Flags, " ") != tt.flags {
			t.Errorf("%q: flags %q, want %q", tt.text, c.Flags, tt.flags)
		}
	}
}

func TestActions(t *testing.T) {
	tests := []struct {
		text string
		want string // one action that must be there
	}{
		{"rm -rf ~/x", "file.delete /home/dev/x -r"},
		{"rm -rf ../x", "file.delete /home/dev/x -r"},
		{"cd /srv && rm x", "file.delete /srv/x"},
		{"cp a /srv/", "file.write /srv/a"},
		{"mv a b c", "file.write /home/dev/repo/c/b"},
		{"echo x > a", "file.write /home/dev/repo/a"},
		{"cat a", "file.read /home/dev/repo/a"},
		{"git clean -fn", "work.discard dry"},
		{"ln -s /srv l; echo > l/x", "file.write /srv/x"},
		{"ln -s /srv l; rm l", "file.delete /home/dev/repo/l"},
		{"chmod 600 a", "file.mode /home/dev/repo/a"},
		{"docker run -v /srv:/d i rm -r /d/x", "file.delete /srv/x -r"},
	}
	for _, tt := range tests {
		if got := actions(analyze(t, tt.text)); !slices.Contains(got, tt.want) {
			t.Errorf("%q: got %q, want %q among them", tt.text, got, tt.want)
		}
	}
}

func TestPlaces(t *testing.T) {
	tests := []struct {
		path string
		want shell.Place
	}{
		{"a", shell.PlaceWorkspace},
		{".", shell.PlaceRoot},
		{"..", shell.PlaceAbove},
		{"/", shell.PlaceAbove},
		{"../repo", shell.PlaceRoot},
		{"../repo-old", shell.PlaceOutside},
		{"/home/dev/repository", shell.PlaceOutside},
		{"/tmp", shell.PlaceTempRoot},
		{"/tmp/a", shell.PlaceTemp},
		{"/tmp/../etc", shell.PlaceOutside},
		{"/dev/null", shell.PlaceNull},
		{"/dev/sda", shell.PlaceDevice},
		{"~", shell.PlaceWorkspace}, // a literal name, as in quotes
	}
	for _, tt := range tests {
		if got := shell.Resolve(tt.path, options()); got.Place != tt.want {
			t.Errorf("%q: got %q (%s), want %q", tt.path, got.Place, got.Abs, tt.want)
		}
	}
}

func TestSpans(t *testing.T) {
	text := "echo a && rm -rf ~/x # c"
	r := analyze(t, text)
	for _, a := range r.Actions {
		if a.Kind == shell.FileDelete {
			if got := text[a.Span.Start:a.Span.End]; got != "~/x" {
				t.Errorf("the span of the deletion covers %q", got)
			}
			return
		}
	}
	t.Errorf("no deletion in %v", actions(r))
}

// Facts from nested text stand where the outer word stands, never outside.
func TestNestedSpansStayInside(t *testing.T) {
	for _, text := range []string{"bash -c 'rm -rf ~/x'", "eval \"rm -rf ~/x\"", "echo cm0gLXJmIH4= | base64 -d | sh", "f() { rm x; }\nf"} {
		r := analyze(t, text)
		for _, a := range r.Actions {
			if a.Span.Start < 0 || a.Span.End > len(text) || a.Span.Start > a.Span.End {
				t.Errorf("%q: span %v of %s", text, a.Span, a.Kind)
			}
		}
	}
}

func TestUndecided(t *testing.T) {
	tests := []struct {
		text     string
		reason   shell.Reason
		material bool
	}{
		{"$CMD x", shell.CommandDynamic, true},
		{"rm -rf \"$X\"", shell.PathUnresolved, true},
		{"./x.sh", shell.ScriptUnknown, true},
		{"make deploy", shell.TargetOpaque, true},
		{"make test", shell.TargetOpaque, false},
		{"npm test", shell.TargetOpaque, false},
		{"git push $OPTS", shell.OptionUnknown, true},
		{"tclsh -c 'x'", shell.CodeInline, true},
		{"if", shell.TextMalformed, true},
	}
	for _, tt := range tests {
		r := analyze(t, tt.text)
		ok := false
		for _, u := range r.Undecided {
			ok = ok || u.Reason == tt.reason && u.Material == tt.material
		}
		if !ok {
			t.Errorf("%q: got %+v, want %s material=%v", tt.text, r.Undecided, tt.reason, tt.material)
		}
	}
}

func TestMalformedKeepsWhatRanBefore(t *testing.T) {
	r := analyze(t, "rm -rf ~/x\nif true; then")
	if r.Malformed == nil {
		t.Error("not called malformed")
	}
	if got := actions(r); !slices.Contains(got, "file.delete /home/dev/x -r") {
		t.Errorf("got %q", got)
	}
}

func TestDialectAssumed(t *testing.T) {
	o := options()
	o.Dialect = shell.Unknown
	if r := shell.Analyze(t.Context(), "ls", o); !r.Assumed {
		t.Errorf("%+v is not marked as assumed", r)
	}
	if r := analyze(t, "ls"); r.Assumed {
		t.Error("marked as assumed though the dialect was given")
	}
}

func TestPipes(t *testing.T) {
	r := analyze(t, "curl https://example.com | tee x | sh")
	var kinds []string
	for _, p := range r.Pipes {
		kinds = append(kinds, p.What)
	}
	if !slices.Equal(kinds, []string{"network", "network"}) {
		t.Errorf("got %q", kinds)
	}
}

// A canceled context ends the work at once and says so.
func TestCanceled(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	r := shell.Analyze(ctx, "ls", options())
	if len(r.Breaches) != 1 || r.Breaches[0].Bound != "time" {
		t.Errorf("got %+v", r.Breaches)
	}
}
