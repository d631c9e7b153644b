package facts_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/holdpoint/holdpoint/facts"
)

func TestParsePatch(t *testing.T) {
	tests := []struct {
		name, text string
		want       string
		err        error
	}{
		{"envelope", "*** Begin Patch\n*** Add File: new.txt\n+alpha\n*** Update File: notes.txt\n@@\n one\n-two\n+TWO\n*** Delete File: old.txt\n*** End Patch\n", "write new.txt, write notes.txt, delete old.txt", nil},
		{"envelope move", "*** Begin Patch\n*** Update File: a\n*** Move to: ../b\n@@ x\n-1\n+2\n*** End Patch", "delete a, write ../b", nil},
		{"envelope content is no header", "*** Begin Patch\n*** Add File: doc.md\n+*** Delete File: /etc/passwd\n+--- a/x\n+++ b/y\n*** End Patch\n", "write doc.md", nil},
		{"envelope context is no header", "*** Begin Patch\n*** Update File: d\n@@\n --- a/x\n-*** Add File: y\n+z\n*** End Patch\n", "write d", nil},
		{"envelope, CRLF", "*** Begin Patch\r\n*** Add File: a b.txt\r\n+x\r\n*** End Patch\r\n", "write a b.txt", nil},
		{"envelope in a heredoc", "apply_patch <<'EOF'\n*** Begin Patch\n*** Delete File: x\n*** End Patch\nEOF\n", "delete x", nil},
		{"envelope, indented header", "*** Begin Patch\n  *** Add File: x\n+1\n*** End Patch", "write x", nil},
		{"envelope without end", "*** Begin Patch\n*** Add File: x\n+1\n", "write x", facts.ErrPatchBroken},
		{"envelope, unknown header", "*** Begin Patch\n*** Copy File: x\n*** End Patch\n", "", facts.ErrPatchBroken},
		{"envelope, no path", "*** Begin Patch\n*** Add File:\n*** End Patch\n", "", facts.ErrPatchBroken},
		{"unified", "--- a/x.go\t2026-01-01\n+++ b/x.go\n@@ -1,2 +1,2 @@\n a\n-b\n+c\n", "write x.go", nil},
		{"unified, two files", "--- x\n+++ x\n@@ -1 +1 @@\n-a\n+b\n--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+n\n", "write x, write new", nil},
		{"unified, deleted", "--- a/x\n+++ /dev/null\n@@ -1 +0,0 @@\n-a\n", "delete x", nil},
		{"unified, names differ", "--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n", "write x, write y", nil},
		{"content that looks like headers", "--- a/x\n+++ b/x\n@@ -1,3 +1,3 @@\n ctx\n---- a/etc\n-++ b\n+--- a/q\n++++ b/q\n", "write x", nil},
		{"removed line that looks like a header", "--- a/x\n+++ b/x\n@@ -1,2 +0,0 @@\n--- a/evil\n-++ b/evil\n", "write x", nil},
		{"hunk shorter than it says", "--- a/x\n+++ b/x\n@@ -1,9 +1,9 @@\n a\ndiff --git a/y b/y\n--- a/y\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n", "write x, write y", facts.ErrPatchBroken},
		{"git", "diff --git a/x b/x\nindex 1..2 100644\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n", "write x", nil},
		{"git rename", "diff --git a/x b/sub/y\nsimilarity index 100%\nrename from x\nrename to sub/y\n", "delete x, write sub/y", nil},
		{"git rename with change", "diff --git a/x b/y\nsimilarity index 90%\nrename from x\nrename to y\n--- a/x\n+++ b/y\n@@ -1 +1 @@\n-a\n+b\n", "write x, write y", nil},
		{"git copy", "diff --git a/x b/y\nsimilarity index 100%\ncopy from x\ncopy to y\n", "write y", nil},
		{"git mode only", "diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n", "write run.sh", nil},
		{"git deleted, empty", "diff --git a/x b/x\ndeleted file mode 100644\nindex e69de29..0000000\n", "delete x", nil},
		{"git binary", "diff --git a/i.png b/i.png\nindex 1..2\nGIT binary patch\nliteral 3\nKcmZQzU|?i\n\nliteral 0\nHcmV?d00001\n\n", "write i.png", nil},
		{"git, quoted", "diff --git \"a/\\303\\244 b\" \"b/\\303\\244 b\"\nnew file mode 100644\n", "write ä b", nil},
		{"git, spaces", "diff --git a/my file b/my file\nnew file mode 100644\n", "write my file", nil},
		{"prose around", "Here is the change:\n\n--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n\nthanks\n", "write x", nil},
		{"no newline marker", "--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n\\ No newline at end of file\n+b\n", "write x", nil},
		{"none", "hello\nworld\n", "", facts.ErrNoPatch},
		{"empty", "", "", facts.ErrNoPatch},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := facts.ParsePatch(tt.text, 0)
			if !errors.Is(err, tt.err) {
				t.Errorf("error: got %v, want %v", err, tt.err)
			}
			var list []string
			for _, f := range got {
				list = append(list, fmt.Sprintf("%s %s", f.Op, f.Path))
				if s := tt.text[f.Span.Start:f.Span.End]; s != f.Path && !strings.Contains(tt.text, `"`) {
					t.Errorf("span of %s holds %q", f.Path, s)
				}
			}
			if g := strings.Join(list, ", "); g != tt.want {
				t.Errorf("got %s, want %s", g, tt.want)
			}
		})
	}
}

func TestParsePatchBound(t *testing.T) {
	var b strings.Builder
	b.WriteString("*** Begin Patch\n")
	for i := range 10 {
		fmt.Fprintf(&b, "*** Delete File: f%d\n", i)
	}
	b.WriteString("*** End Patch\n")
	got, err := facts.ParsePatch(b.String(), 5)
	if !errors.Is(err, facts.ErrPatchTooLarge) || len(got) != 5 {
		t.Errorf("got %d files, %v", len(got), err)
	}
}

func FuzzParsePatch(f *testing.F) {
	f.Add("*** Begin Patch\n*** Update File: a\n*** Move to: b\n@@\n-1\n+2\n*** End Patch", "x")
	f.Add("diff --git a/x b/x\n--- a/x\n+++ b/x\n@@ -1,2 +1 @@\n a\n-b\n", "y z")
	f.Add("--- x\n+++ /dev/null\n@@ -1 +0,0 @@\n--- q\n", "q")
	f.Fuzz(func(t *testing.T, text, name string) {
		files, err := facts.ParsePatch(text, 100)
		if err == nil && len(files) == 0 {
			t.Error("no file and no error")
		}
		for _, p := range files {
			if p.Path == "" || p.Span.Start < 0 || p.Span.End > len(text) || p.Span.Start > p.Span.End {
				t.Errorf("%+v in %d bytes", p, len(text))
			}
		}
		// Added content can never name a file: every line of it is prefixed.
		if strings.ContainsAny(name, "\n\r") || strings.TrimSpace(name) == "" {
			return
		}
		body := "+" + strings.ReplaceAll(text, "\n", "\n+")
		n := strings.Count(body, "\n") + 1
		for _, wrapped := range []string{
			"*** Begin Patch\n*** Add File: safe\n" + body + "\n*** End Patch\n",
			fmt.Sprintf("--- /dev/null\n+++ b/safe\n@@ -0,0 +1,%d @@\n%s\n", n, body),
		} {
			got, err := facts.ParsePatch(wrapped, 100)
			if err != nil || len(got) != 1 || got[0].Path != "safe" {
				t.Errorf("%q: got %+v, %v", wrapped, got, err)
			}
		}
	})
}
