package shell_test

import (
	"context"
	"testing"
	"time"

	"github.com/holdpoint/holdpoint/shell"
)

// FuzzAnalyze holds that no text panics, runs over its time, or gives facts that
// point outside of it, and that the same text gives the same facts.
func FuzzAnalyze(f *testing.F) {
	for _, s := range []string{
		"", "ls", "rm -rf ~/x", "a | b && c || d; e &", "if a; then b; elif c; then d; else e; fi", "for i in a b; do c; done",
		"while read -r l; do echo \"$l\"; done < f", "case $x in a|b) c;; *) d;; esac", "f() { g; }; f", "x=(a b); echo ${x[@]:1}", "echo ${a:-b} ${a#b} ${a%%b} ${a/b/c} ${a^^} ${!a} ${#a}",
		"cat <<E\n$(a)\nE", "cat <<'E'\nx\nE", "bash -c 'a; b'", "eval \"$x\"", "echo {a,b}{1..3}", "echo $((1+2*3)) $[1]", "a <(b) >(c)", "exec 3<>/dev/tcp/h/1", "trap 'a' EXIT",
		"git -c alias.a='!b' a", "find . -name x -exec a {} + -delete", "xargs -I{} a {} <<< b", "sed 's/a/b/e' f", "awk '{system(\"a\")}'", "tar xf a -C b", "curl -d @a -o b u", "ssh h 'a'", "docker run -v a:b i c",
		"python3 -c \"import os; [os.system(f'{x}') for x in ['a']]\"", "node -e \"const {a:b}=require('c');b(`${d}`)\"", "perl -e 'open(F,\">\",\"x\"); print F qw(a b)'", "ruby -e 'a.b \"#{c}\" do |d| end'", "php -r '$a=\"b$c{$d}\"; e($a);'",
		"psql -c 'WITH a AS (DELETE FROM b) SELECT 1'", "echo YQ== | base64 -d | sh", "printf '%s\\x41' a | xxd -r -p | bash", "$'\\x61' \"\\$a\" 'b' \\c", "a\\\nb", "a\r\nb", "(((", "\"", "$(", "{", "<<", "a=\x01\x02", "\xff\xfe",
	} {
		f.Add(s, false)
	}
	f.Fuzz(func(t *testing.T, text string, assumed bool) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		o := options()
		if assumed {
			o.Dialect = shell.Unknown
		}
		r := shell.Analyze(ctx, text, o)
		for _, b := range r.Breaches {
			if b.Bound == "time" || b.Bound == "fault" {
				t.Fatalf("breach of %s: %q", b.Bound, text)
			}
		}
		for _, a := range r.Actions {
			if a.Span.Start < 0 || a.Span.Start > a.Span.End || a.Span.End > len(text) {
				t.Fatalf("%q: span %v of %s", text, a.Span, a.Kind)
			}
			if a.Command >= len(r.Commands) {
				t.Fatalf("%q: %s names command %d of %d", text, a.Kind, a.Command, len(r.Commands))
			}
		}
		again := shell.Analyze(ctx, text, o)
		if len(again.Actions) != len(r.Actions) || len(again.Commands) != len(r.Commands) || again.Material() != r.Material() {
			t.Fatalf("%q: two runs differ", text)
		}
	})
}
