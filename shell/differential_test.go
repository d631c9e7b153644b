package shell_test

import (
	"crypto/sha256"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/holdpoint/holdpoint/shell"
)

// diffCase is one command of testdata/differential.txt.
type diffCase struct {
	line    int
	command string
	idle    map[string]bool // named by the facts, not touched by the run
	differs string          // how the facts are known to differ from the run
}

func readDifferential(t *testing.T) []diffCase {
	t.Helper()
	data, err := os.ReadFile("testdata/differential.txt")
	if err != nil {
		t.Fatal(err)
	}
	var out []diffCase
	for i, line := range strings.Split(string(data), "\n") {
		if line == "" || strings.HasPrefix(line, "# ") {
			continue
		}
		c := diffCase{line: i + 1, idle: map[string]bool{}}
		line, c.differs, _ = strings.Cut(line, " #! ")
		text, idle, _ := strings.Cut(line, " ## ")
		c.command = strings.ReplaceAll(text, "⏎", "\n")
		for p := range strings.FieldsSeq(idle) {
			c.idle[p] = true
		}
		out = append(out, c)
	}
	return out
}

// driver runs the commands in a namespace of its own: no network, everything
// read-only but the folder of the command that runs.
const driver = `
set -u
base=$1
mount --make-rprivate /
awk '{print $2}' /proc/self/mounts | while read -r m; do
  mount -o remount,bind,ro "$m" 2>/dev/null || true
done
if touch "$base/probe" 2>/dev/null; then echo "the file system can still be written" >&2; exit 9; fi
for d in "$base"/case-*; do
  mount --bind "$d/ws" "$d/ws" && mount -o remount,bind,rw "$d/ws" || exit 8
  cd "$d/ws" || exit 7
  HOME="$base/home" timeout -k 1 20 bash --noprofile --norc -c "$(cat "$d/command")" >/dev/null 2>&1 </dev/null
  cd "$base" && umount -l "$d/ws"
done
echo complete
`

// isolation says why a namespace cannot be made here, or "".
func isolation() string {
	if runtime.GOOS != "linux" {
		return "needs Linux"
	}
	if _, err := exec.LookPath("unshare"); err != nil {
		return "needs unshare of util-linux"
	}
	if out, err := exec.Command("unshare", "-r", "-m", "-n", "true").CombinedOutput(); err != nil {
		return "namespaces are not permitted: " + strings.TrimSpace(string(out))
	}
	return ""
}

var longAgo = time.Date(2001, 2, 3, 4, 5, 6, 0, time.UTC)

func fixture(t *testing.T, dir string) {
	t.Helper()
	for _, d := range []string{"dir/sub", "empty"} {
		if err := os.MkdirAll(filepath.Join(dir, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, text := range map[string]string{
		"a.txt": "alpha\nab\n", "b.txt": "beta\n", "sp ace.txt": "space\n", "data.csv": "k,v\nb,2\na,1\n", "dir/c.txt": "c\n", "dir/sub/d.txt": "d\n",
	} {
		name = filepath.Join(dir, name)
		if err := os.WriteFile(name, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if err := os.Chtimes(name, longAgo, longAgo); err != nil {
			t.Fatal(err)
		}
	}
}

// state is what a snapshot keeps of one name.
type state struct {
	mode fs.FileMode
	time time.Time
	body string
	dir  bool
}

func snapshot(t *testing.T, dir string) map[string]state {
	t.Helper()
	out := map[string]state{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		rel, _ := filepath.Rel(dir, name)
		if rel == "." {
			return nil
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		s := state{mode: info.Mode(), dir: d.IsDir()}
		switch {
		case d.IsDir():
		case info.Mode()&fs.ModeSymlink != 0:
			s.body, _ = os.Readlink(name)
		case info.Mode().IsRegular():
			s.time = info.ModTime()
			data, err := os.ReadFile(name)
			if err != nil {
				return err
			}
			s.body = fmt.Sprintf("%x", sha256.Sum256(data))
		}
		out[rel] = s
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// TestDifferential compares what a real bash did with what the facts said.
func TestDifferential(t *testing.T) {
	cases := readDifferential(t)
	if len(cases) < 200 {
		t.Fatalf("%d commands, want at least 200", len(cases))
	}
	required := os.Getenv("HOLDPOINT_REQUIRE_CORPUS") == "1"
	if why := isolation(); why != "" {
		if required {
			t.Fatal(why)
		}
		t.Skip(why)
	}
	base := t.TempDir()
	if real, err := filepath.EvalSymlinks(base); err == nil {
		base = real
	}
	if err := os.Mkdir(filepath.Join(base, "home"), 0o755); err != nil {
		t.Fatal(err)
	}
	dir := func(i int) string { return filepath.Join(base, fmt.Sprintf("case-%04d", i)) }
	for i, c := range cases {
		if err := os.MkdirAll(filepath.Join(dir(i), "ws"), 0o755); err != nil {
			t.Fatal(err)
		}
		fixture(t, filepath.Join(dir(i), "ws"))
		if err := os.WriteFile(filepath.Join(dir(i), "command"), []byte(c.command), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	before := snapshot(t, filepath.Join(dir(0), "ws"))
	cmd := exec.CommandContext(t.Context(), "unshare", "-r", "-m", "-n", "bash", "-c", driver, "driver", base)
	cmd.Env = append(os.Environ(), "LC_ALL=C")
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.HasSuffix(string(out), "complete\n") {
		t.Fatalf("the namespace: %v\n%s", err, out)
	}
	for i, c := range cases {
		t.Run(fmt.Sprintf("line_%d", c.line), func(t *testing.T) {
			if tool := missingTool(c.command); tool != "" {
				if required {
					t.Fatalf("%s is not installed", tool)
				}
				t.Skipf("%s is not installed", tool)
			}
			ws := filepath.Join(dir(i), "ws")
			r := shell.Analyze(t.Context(), c.command, shell.Options{
				Dialect: shell.Bash, CWD: ws, Roots: []string{ws}, Home: filepath.Join(base, "home"), TempDirs: []string{}, FS: diskView{},
			})
			bad := compare(c, before, snapshot(t, ws), r, ws)
			switch {
			case c.differs == "":
				for _, b := range bad {
					t.Errorf("%q: %s", c.command, b)
				}
			case len(bad) == 0:
				t.Errorf("%q: the facts agree with the run now: take the mark out of the file", c.command)
			}
		})
	}
}

// missingTool names a program that the command starts with and that is not here.
func missingTool(command string) string {
	for _, tool := range []string{"zip", "unzip", "xz", "zstd", "bzip2", "python3", "perl", "node", "git", "openssl", "patch", "xxd", "shred", "csplit", "fallocate"} {
		for _, w := range strings.FieldsFunc(command, func(r rune) bool { return strings.ContainsRune(" ;&|\n(", r) }) {
			if w != tool {
				continue
			}
			if _, err := exec.LookPath(tool); err != nil {
				return tool
			}
		}
	}
	return ""
}

// diskView follows no links: the files are judged as they were before the run.
type diskView struct{}

func (diskView) Readlink(string, time.Duration) (string, bool, error) { return "", false, nil }

type named struct {
	rel     string
	tree    bool
	glob    bool
	write   bool
	certain bool
}

// compare gives the differences between the facts and the run.
func compare(c diffCase, before, after map[string]state, r *shell.Result, ws string) (bad []string) {
	var names []named
	for _, a := range r.Actions {
		if a.Dry {
			continue
		}
		switch a.Kind {
		case shell.FileWrite, shell.FileDelete, shell.FileMode, shell.FileOwner, shell.FileWipe, shell.FileLink:
		default:
			continue
		}
		if a.Path.Place == shell.PlaceNull {
			continue
		}
		rel, err := filepath.Rel(ws, a.Path.Abs)
		if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
			bad = append(bad, fmt.Sprintf("the facts name %s %s, outside of the workspace", a.Kind, a.Path.Abs))
			continue
		}
		names = append(names, named{rel: rel, tree: a.Recursive, glob: a.Path.Glob, write: a.Kind == shell.FileWrite || a.Kind == shell.FileLink, certain: a.Certainty == shell.Certain && !a.Path.Unresolved})
	}
	touched := map[string]string{}
	for p, s := range after {
		switch b, was := before[p]; {
		case !was:
			touched[p] = "created"
		case b != s:
			touched[p] = "changed"
		}
	}
	for p := range before {
		if _, is := after[p]; !is {
			touched[p] = "removed"
		}
	}
	for p, how := range touched {
		if !covered(p, how, names, before, after) {
			bad = append(bad, fmt.Sprintf("%s was %s, the facts do not name it; they name %s", p, how, list(names)))
		}
	}
	for _, n := range names {
		if !n.certain || n.glob || c.idle[n.rel] || happened(n, names, touched, before, after) {
			continue
		}
		bad = append(bad, fmt.Sprintf("the facts name %s, the run did not touch it; it touched %v", n.rel, touched))
	}
	return bad
}

// covered reports whether a name that was touched is among those of the facts.
func covered(p, how string, names []named, before, after map[string]state) bool {
	for _, n := range names {
		switch {
		case n.rel == p, n.rel == ".":
			return true
		case n.tree && strings.HasPrefix(p, n.rel+"/"):
			return true
		case n.glob && globCovers(n.rel, p):
			return true
		case strings.Contains(n.rel, "…") && globCovers(strings.ReplaceAll(n.rel, "…", "*"), p):
			return true
		case n.write && strings.HasPrefix(p, n.rel+"/") && (after[n.rel].dir || before[n.rel].dir):
			// What is written is a folder with all that is in it.
			return true
		case n.write && how == "created" && after[p].dir && strings.HasPrefix(n.rel, p+"/"):
			// The folders above what is written are made for it.
			return true
		case !n.write && how == "removed" && before[n.rel].dir && strings.HasPrefix(p, n.rel+"/"):
			// A folder that is moved takes along all that is in it.
			return true
		}
	}
	return false
}

// globCovers reports whether a pattern matches p or a folder above it.
func globCovers(pattern, p string) bool {
	// A star in the place of a folder stands for any depth, none among them.
	for _, pat := range []string{pattern, strings.Replace(pattern, "*/", "", 1)} {
		for q := p; q != "."; q = path.Dir(q) {
			if ok, err := path.Match(pat, q); err == nil && ok {
				return true
			}
		}
	}
	return pattern == "*"
}

// happened reports whether the run shows what the facts named.
func happened(n named, names []named, touched map[string]string, before, after map[string]state) bool {
	if _, ok := touched[n.rel]; ok {
		return true
	}
	for p := range touched {
		if n.rel == "." || strings.HasPrefix(p, n.rel+"/") {
			return true
		}
	}
	// A folder that is written to was there already, or a tree had its modes set.
	if before[n.rel].dir && after[n.rel].dir {
		return true
	}
	// What is written and then removed leaves nothing.
	_, was := before[n.rel]
	_, is := after[n.rel]
	if was == is {
		wrote, removed := false, false
		for _, o := range names {
			if o.rel == n.rel || o.write && o.rel == "." || o.tree && strings.HasPrefix(n.rel, o.rel+"/") {
				wrote = wrote || o.write
				removed = removed || !o.write
			}
		}
		return wrote && removed
	}
	return false
}

func list(names []named) string {
	var out []string
	for _, n := range names {
		out = append(out, n.rel)
	}
	return strings.Join(out, ", ")
}
