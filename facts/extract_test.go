package facts_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/facts"
	"github.com/holdpoint/holdpoint/internal/corpus"
	"github.com/holdpoint/holdpoint/shell"
)

func event(name string, kind ahp.ToolKind, input string) *ahp.Event {
	return &ahp.Event{
		ID: "e", Source: "urn:example:test", Type: ahp.ToolBefore, Time: "2026-01-01T00:00:00Z",
		Session: ahp.Session{ID: "s", CWD: "/home/dev/repo/sub", WorkspaceRoots: []string{"/home/dev/repo"}},
		Tool:    &ahp.Tool{CallID: "c", Name: name, Kind: kind, Input: ahp.Raw(input)},
	}
}

func extract(t testing.TB, ev *ahp.Event, o facts.Options) *facts.Facts {
	t.Helper()
	if o.Home == "" {
		o.Home = "/home/dev"
	}
	f, err := facts.Extract(t.Context(), ev, o)
	if err != nil {
		t.Fatal(err)
	}
	return f
}

func fileList(f *facts.Facts) string {
	var out []string
	for _, x := range f.Files {
		s := fmt.Sprintf("%s %s %s", x.Op, x.Path, x.Zone)
		if x.Recursive {
			s += " tree"
		}
		if x.Certainty == facts.Possible {
			s += " ?"
		}
		out = append(out, s)
	}
	return strings.Join(out, ", ")
}

// Each tool of the agents in the contract, with the members that it really sends.
func TestToolFiles(t *testing.T) {
	tests := []struct {
		name  string
		kind  ahp.ToolKind
		input string
		want  string
	}{
		{"Read", "file_read", `{"file_path":"/home/dev/repo/a.go"}`, "read /home/dev/repo/a.go workspace"},
		{"Read", "file_read", `{"file_path":"/home/dev/.ssh/id_rsa"}`, "read /home/dev/.ssh/id_rsa outside"},
		{"Read", "file_read", `{"file_path":"~/.ssh/id_rsa"}`, "read /home/dev/.ssh/id_rsa outside"},
		{"read_file", "file_read", `{"absolute_path":"/etc/passwd"}`, "read /etc/passwd outside"},
		{"read", "file_read", `{"filePath":"../../x"}`, "read /home/dev/x outside"},
		{"read_many_files", "file_read", `{"paths":["a","/etc/shadow"],"include":["*.go"]}`, "read /home/dev/repo/sub/a workspace, read /etc/shadow outside"},
		{"fs_read", "file_read", `{"operations":[{"mode":"Line","path":"/etc/hosts"},{"mode":"Directory","path":"/etc"}]}`, "read /etc/hosts outside, list /etc outside"},
		{"ReadFile", "file_read", `{"path":"file:///etc/hosts"}`, "read /etc/hosts outside"},
		{"Write", "file_write", `{"file_path":"x.txt","content":"/etc/passwd"}`, "write /home/dev/repo/sub/x.txt workspace"},
		{"Write", "file_write", `{"file_path":"/tmp/x","content":""}`, "write /tmp/x scratch"},
		{"Delete", "file_write", `{"path":"/home/dev/x"}`, "delete /home/dev/x outside"},
		{"create_directory", "file_write", `{"dirPath":"/opt/x"}`, "write /opt/x outside"},
		{"Edit", "file_edit", `{"file_path":"/home/dev/.bashrc","old_string":"a","new_string":"b"}`, "write /home/dev/.bashrc outside"},
		{"MultiEdit", "file_edit", `{"file_path":"a","edits":[{"old_string":"a","new_string":"b"}]}`, "write /home/dev/repo/sub/a workspace"},
		{"NotebookEdit", "file_edit", `{"notebook_path":"/home/dev/n.ipynb","new_source":"!rm -rf /"}`, "write /home/dev/n.ipynb outside"},
		{"multi_replace_string_in_file", "file_edit", `{"explanation":"x","replacements":[{"filePath":"/home/dev/repo/a"},{"filePath":"/etc/b"}]}`, "write /home/dev/repo/a workspace, write /etc/b outside"},
		{"str_replace_based_edit_tool", "file_edit", `{"command":"view","path":"/etc/x"}`, "read /etc/x outside"},
		{"str_replace_editor", "file_edit", `{"command":"create","path":"/etc/x","file_text":"y"}`, "write /etc/x outside"},
		{"edit", "file_edit", `{"filePath":"a.txt","oldString":"--- a/x","newString":"*** Begin Patch"}`, "write /home/dev/repo/sub/a.txt workspace"},
		{"apply_patch", "file_edit", `{"command":"*** Begin Patch\n*** Add File: n.txt\n+x\n*** Update File: /etc/hosts\n@@\n-a\n+b\n*** End Patch\n"}`, "write /home/dev/repo/sub/n.txt workspace, write /etc/hosts outside"},
		{"apply_patch", "file_edit", `{"input":"--- a/x\n+++ b/x\n@@ -1 +1 @@\n-a\n+b\n"}`, "write /home/dev/repo/sub/x workspace"},
		{"apply_patch", "file_edit", `{"command":["apply_patch","*** Begin Patch\n*** Delete File: ../../../x\n*** End Patch"]}`, "delete /home/x outside"},
		{"patch", "file_edit", `{"patchText":"diff --git a/q b/q\ndeleted file mode 100644\n"}`, "delete /home/dev/repo/sub/q workspace"},
		{"Grep", "search", `{"pattern":"/etc/passwd","path":"/home/dev"}`, "read /home/dev root tree"},
		{"Grep", "search", `{"pattern":"x"}`, "read /home/dev/repo/sub workspace tree"},
		{"Glob", "search", `{"pattern":"/home/dev/.ssh/*"}`, "list /home/dev/.ssh outside tree"},
		{"Glob", "search", `{"pattern":"**/*.go"}`, "list /home/dev/repo/sub workspace tree"},
		{"LS", "search", `{"path":"/"}`, "list / root"},
		{"view_image", "other", `{"path":"README.md"}`, "read /home/dev/repo/sub/README.md workspace"},
		{"mcp__filesystem__read_text_file", "mcp", `{"path":"/etc/shadow"}`, "read /etc/shadow outside"},
		{"mcp__filesystem__write_file", "mcp", `{"path":"/etc/cron.d/x","content":"y"}`, "write /etc/cron.d/x outside"},
		{"mcp__filesystem__move_file", "mcp", `{"source":"/home/dev/repo/a","destination":"/home/dev/a"}`, "write /home/dev/a outside, delete /home/dev/repo/a workspace"},
		{"mcp__fs__copy_file", "mcp", `{"source":"/etc/shadow","destination":"s"}`, "write /home/dev/repo/sub/s workspace, read /etc/shadow outside"},
		{"mcp__fs__read_multiple_files", "mcp", `{"paths":["/etc/a","b"]}`, "read /etc/a outside, read /home/dev/repo/sub/b workspace"},
		{"mcp__notes__lookup", "mcp", `{"path":"/etc/shadow","query":"/etc/passwd"}`, "read /etc/shadow outside ?"},
		{"mcp__notes__lookup", "mcp", `{"path":"chapter-1","file":"x"}`, ""},
		{"use_mcp_tool", "mcp", `{"server_name":"fs","tool_name":"write_file","arguments":"{\"path\":\"/etc/x\"}"}`, "write /etc/x outside"},
		{"use_mcp_tool", "mcp", `{"server_name":"fs","tool_name":"read_file","arguments":{"path":"/etc/x"}}`, "read /etc/x outside"},
		{"WebFetch", "fetch", `{"url":"file:///etc/passwd"}`, "read /etc/passwd outside"},
		{"Task", "task", `{"prompt":"read /etc/passwd","path":"/etc/passwd"}`, ""},
		{"TodoWrite", "other", `{"todos":[{"content":"/etc/passwd"}]}`, ""},
	}
	for _, tt := range tests {
		f := extract(t, event(tt.name, tt.kind, tt.input), facts.Options{})
		if got := fileList(f); got != tt.want {
			t.Errorf("%s %s:\n got %s\nwant %s", tt.name, tt.input, got, tt.want)
		}
	}
}

func TestToolURLs(t *testing.T) {
	tests := []struct {
		name  string
		kind  ahp.ToolKind
		input string
		want  string
	}{
		{"WebFetch", "fetch", `{"url":"https://example.com/","prompt":"see https://other.example/x."}`, "fetch other.example 443 public, fetch example.com 443 public"},
		{"web_fetch", "fetch", `{"prompt":"summarize (http://169.254.169.254/latest) please"}`, "fetch 169.254.169.254 80 metadata"},
		{"fetch_webpage", "fetch", `{"urls":["http://localhost:3000","example.com"],"query":"https://not.example"}`, "fetch localhost 3000 loopback, fetch example.com 0 public"},
		{"mcp__http__http_request", "mcp", `{"method":"POST","url":"https://up.example/x","body":"y"}`, "upload up.example 443 public"},
		{"mcp__browser__browser_navigate", "mcp", `{"url":"http://0x7f.1:8080/"}`, "fetch 127.0.0.1 8080 loopback"},
		{"mcp__x__y", "mcp", `{"url":"https://a.example","link":"page-3"}`, "fetch a.example 443 public ?"},
		{"WebSearch", "fetch", `{"query":"https://a.example"}`, ""},
	}
	for _, tt := range tests {
		f := extract(t, event(tt.name, tt.kind, tt.input), facts.Options{})
		var out []string
		for _, u := range f.URLs {
			s := fmt.Sprintf("%s %s %d %s", u.Use, u.Host, u.Port, u.Class)
			if u.Certainty == facts.Possible {
				s += " ?"
			}
			out = append(out, s)
		}
		if got := strings.Join(out, ", "); got != tt.want {
			t.Errorf("%s %s:\n got %s\nwant %s", tt.name, tt.input, got, tt.want)
		}
	}
}

func TestShellTools(t *testing.T) {
	tests := []struct {
		name        string
		kind        ahp.ToolKind
		input       string
		text        string
		dialect     string
		undecidable bool
	}{
		{"Bash", "shell", `{"command":"ls -la","description":"x"}`, "ls -la", "bash", false},
		{"PowerShell", "shell", `{"command":"Get-ChildItem"}`, "Get-ChildItem", "powershell", false},
		{"shell", "shell", `{"command":["bash","-lc","echo 'a b'; ls"]}`, `bash -lc 'echo '\''a b'\''; ls'`, "", false},
		{"exec_command", "shell", `{"cmd":"ls","workdir":"/home/dev/repo"}`, "ls", "", false},
		{"run_commands", "shell", `{"commands":["ls","pwd"]}`, "ls\npwd", "", false},
		{"mcp__desktop__execute_command", "mcp", `{"command":"ls"}`, "ls", "", false},
		{"mcp__x__run", "mcp", `{"command":"ls"}`, "", "", false},
		{"write_stdin", "shell", `{"chars":"ls\n","session_id":1}`, "ls\n", "", true},
		{"read_bash", "shell", `{"shellId":"1"}`, "", "", false},
		{"Bash", "shell", `{"something":"ls"}`, "", "", true},
		{"Bash", "shell", `{"command":[1]}`, "", "", true},
		{"use_aws", "shell", `{"service_name":"s3api","operation_name":"delete_bucket","parameters":{"Bucket":"b"},"region":"x"}`, "aws s3api delete-bucket --bucket b", "", false},
		{"mcp__ide__executeCode", "mcp", `{"code":"print('x')"}`, `python3 -c 'print('\''x'\'')'`, "bash", false},
	}
	for _, tt := range tests {
		f := extract(t, event(tt.name, tt.kind, tt.input), facts.Options{})
		text, dialect := "", ""
		if f.Shell != nil {
			text, dialect = f.Shell.Text, f.Shell.Dialect
		}
		if text != tt.text || tt.dialect != "" && dialect != tt.dialect || f.Undecidable != tt.undecidable {
			t.Errorf("%s %s: got %q in %q, undecidable %v; want %q in %q, %v", tt.name, tt.input, text, dialect, f.Undecidable, tt.text, tt.dialect, tt.undecidable)
		}
	}
}

// A tool may expand ~ to a home that is not known here: the path is then not one
// of the workspace.
func TestUnknownHome(t *testing.T) {
	f, err := facts.Extract(t.Context(), event("Read", "file_read", `{"file_path":"~/.ssh/id_rsa"}`), facts.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if got, want := fileList(f), "read ~/.ssh/id_rsa unknown"; got != want || !f.Undecidable {
		t.Errorf("got %s, undecidable %v, want %s", got, f.Undecidable, want)
	}
}

func TestMCPIdentity(t *testing.T) {
	tests := []struct {
		name, mcp string
		want      facts.MCP
	}{
		{"mcp__mockmcp__lookup", "", facts.MCP{Server: "mockmcp", Tool: "lookup"}},
		{"mcp__a__b__c", "", facts.MCP{Server: "a", Tool: "b__c"}},
		{"MCP:lookup", "", facts.MCP{Tool: "lookup"}},
		{"@srv/lookup", "", facts.MCP{Server: "srv", Tool: "lookup"}},
		{"lookup", `{"server":"s","tool":"t"}`, facts.MCP{Server: "s", Tool: "t", Known: true}},
		{"mcp__x__lookup", `{"server":{"name":"real"}}`, facts.MCP{Server: "real", Tool: "lookup", Known: true}},
		{"mcp__x__lookup", `{"server":"x","provenance":"inferred"}`, facts.MCP{Server: "x", Tool: "lookup"}},
	}
	for _, tt := range tests {
		ev := event(tt.name, ahp.KindMCP, `{}`)
		if tt.mcp != "" {
			ev.Tool.MCP = ahp.Raw(tt.mcp)
		}
		if got := extract(t, ev, facts.Options{}).MCP; *got != tt.want {
			t.Errorf("%s %s: got %+v, want %+v", tt.name, tt.mcp, *got, tt.want)
		}
	}
}

// Every recorded call that an agent asked about becomes facts, and the dangerous
// ones a hazard.
func TestRecordedCalls(t *testing.T) {
	dir := corpus.Dir(t, "native")
	seen := 0
	for _, agent := range []string{"claude", "codex", "gemini", "qwen"} {
		names, err := filepath.Glob(filepath.Join(dir, agent, "*.json"))
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			base := filepath.Base(name)
			if !strings.HasPrefix(base, "PreToolUse.") && !strings.HasPrefix(base, "BeforeTool.") {
				continue
			}
			data, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			var p struct {
				CWD   string         `json:"cwd"`
				Tool  string         `json:"tool_name"`
				Input jsontext.Value `json:"tool_input"`
			}
			if err := json.Unmarshal(data, &p); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			seen++
			ev := event(p.Tool, facts.KindOf(p.Tool), string(p.Input))
			if strings.Contains(base, ".mcp") {
				ev.Tool.Kind = ahp.KindMCP
			}
			ev.Session.CWD, ev.Session.WorkspaceRoots = p.CWD, nil
			f := extract(t, ev, facts.Options{})
			var codes []string
			for _, h := range f.Hazards {
				codes = append(codes, h.Code)
			}
			want := ""
			if strings.Contains(base, "force-push") {
				want = facts.GitForcePush
			}
			if got := strings.Join(codes, " "); got != want || f.Breach != "" {
				t.Errorf("%s/%s: hazards %q, want %q; breach %q", agent, base, got, want, f.Breach)
			}
			switch ev.Tool.Kind {
			case ahp.KindShell:
				if f.Shell == nil || len(f.Shell.Result.Commands) == 0 {
					t.Errorf("%s/%s: no command", agent, base)
				}
			case ahp.KindFileRead, ahp.KindFileWrite, ahp.KindFileEdit:
				if len(f.Files) == 0 || f.Files[0].Zone != facts.ZoneWorkspace {
					t.Errorf("%s/%s: files %+v", agent, base, f.Files)
				}
			case ahp.KindFetch:
				if len(f.URLs) == 0 || f.URLs[0].Host == "" {
					t.Errorf("%s/%s: addresses %+v", agent, base, f.URLs)
				}
			}
		}
	}
	if seen < 25 {
		t.Errorf("%d recorded calls", seen)
	}
}

func TestRoots(t *testing.T) {
	tests := []struct {
		roots, given []string
		cwd          string
		want         string
	}{
		{[]string{"/home/dev/repo/", "/home/dev/repo", "/srv/x"}, nil, "/y/z", "/home/dev/repo /srv/x"},
		{[]string{"/", "/home/dev", "/etc", "/home", "/tmp", "/Users", "/home/other", "relative", ""}, []string{"/opt/p"}, "/y/z", "/opt/p"},
		{nil, nil, "/y/z", "/y/z"},
		{nil, nil, "/home/dev", ""},
		{nil, nil, "", ""},
		{[]string{`C:\`, `C:\Users`, `c:\src\app`}, nil, "", `c:\src\app`},
	}
	for _, tt := range tests {
		ev := event("Read", "file_read", `{}`)
		ev.Session.WorkspaceRoots, ev.Session.CWD = tt.roots, tt.cwd
		got := extract(t, ev, facts.Options{Roots: tt.given}).Session.Roots
		if strings.Join(got, " ") != tt.want {
			t.Errorf("%v, %v, %s: got %v, want %s", tt.roots, tt.given, tt.cwd, got, tt.want)
		}
	}
}

func TestInputErrors(t *testing.T) {
	for _, input := range []string{`[]`, `"x"`, `1`, `{`, `{"a":1,"a":2}`} {
		_, err := facts.Extract(t.Context(), event("Read", "file_read", input), facts.Options{})
		if err == nil || !strings.Contains(err.Error(), "/tool/input: ") {
			t.Errorf("%s: got %v", input, err)
		}
	}
	f := extract(t, &ahp.Event{ID: "e", Type: ahp.SessionStart}, facts.Options{})
	if f.Tool != nil || f.Breach != "" {
		t.Errorf("session event: %+v", f)
	}
}

func TestBounds(t *testing.T) {
	list := func(n int, format string) string {
		var s []string
		for i := range n {
			s = append(s, fmt.Sprintf(format, i))
		}
		return strings.Join(s, ",")
	}
	find := func(_ context.Context, s string) ([]facts.SecretMatch, error) {
		return []facts.SecretMatch{{Kind: "k", Start: 0, End: min(1, len(s))}}, nil
	}
	limits := facts.Limits{Files: 10, URLs: 10, Strings: 10, Secrets: 5}
	tests := []struct {
		name, input, want string
		secrets           facts.SecretFinder
	}{
		{"Read", `{"paths":[` + list(10, `"f%d"`) + `]}`, "", nil},
		{"Read", `{"paths":[` + list(11, `"f%d"`) + `]}`, "facts.files", nil},
		{"WebFetch", `{"urls":[` + list(11, `"https://h%d.example"`) + `]}`, "facts.urls", nil},
		{"TodoWrite", `{"a":[` + list(6, `"x%d"`) + `]}`, "facts.secrets", find},
		{"apply_patch", `{"command":"*** Begin Patch\n` + strings.ReplaceAll(list(11, `*** Delete File: f%d`), ",", `\n`) + `\n*** End Patch"}`, "facts.files", nil},
	}
	for _, tt := range tests {
		f := extract(t, event(tt.name, facts.KindOf(tt.name), tt.input), facts.Options{Limits: limits, Secrets: tt.secrets})
		if f.Breach != tt.want {
			t.Errorf("%s: got breach %q, want %q", tt.name, f.Breach, tt.want)
		}
	}
	none := func(context.Context, string) ([]facts.SecretMatch, error) { return nil, nil }
	f := extract(t, event("TodoWrite", "other", `{"a":[`+list(11, `"x%d"`)+`]}`), facts.Options{Limits: limits, Secrets: none})
	if f.Breach != "facts.strings" {
		t.Errorf("strings: got breach %q", f.Breach)
	}
}

// Arguments that many commands share are not multiplied beyond what a text may hold.
func TestSharedArguments(t *testing.T) {
	args := strings.Repeat("x", 400<<10)
	var members strings.Builder
	for i := range 64 {
		fmt.Fprintf(&members, `"%scommand":"ls",`, strings.Repeat("_", i))
	}
	object := "{" + members.String() + `"args":["` + args + `"]}`
	for name, input := range map[string]string{
		"beside":   object,
		"object":   `{"command":` + object + `}`,
		"list":     `{"command":[` + object + `]}`,
		"commands": `{"commands":[` + strings.TrimSuffix(strings.Repeat(`{"command":"ls","args":"`+strings.Repeat("y", 30<<10)+`"},`, 64), ",") + `]}`,
	} {
		f := extract(t, event("run_command", ahp.KindShell, input), facts.Options{})
		if f.Breach != "shell.bytes" {
			t.Errorf("%s: breach %q", name, f.Breach)
		}
		if n := len(f.Shell.Text); n > 3<<20 {
			t.Errorf("%s: a text of %d bytes", name, n)
		}
	}
}

// Members that all hold commands are put together once, not again for each.
func TestManyCommands(t *testing.T) {
	var members strings.Builder
	for i := range 2000 {
		fmt.Fprintf(&members, `"%scommand":"echo %s",`, strings.Repeat("_", i), strings.Repeat("a", 200))
	}
	input := "{" + members.String() + `"cmd":"rm -rf /"}`
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f := extract(t, event("run_command", ahp.KindShell, input), facts.Options{})
	runtime.ReadMemStats(&after)
	if n := strings.Count(f.Shell.Text, "\n"); n != 2000 || f.Shell.Pointer != "" {
		t.Errorf("%d lines, at %q", n+1, f.Shell.Pointer)
	}
	if !slices.ContainsFunc(f.Hazards, func(h facts.Hazard) bool { return h.Code == facts.FSDeleteRecursive }) {
		t.Errorf("hazards %v", f.Hazards)
	}
	if n := (after.TotalAlloc - before.TotalAlloc) >> 20; n > 128 {
		t.Errorf("took %d MiB", n)
	}
}

func TestSecrets(t *testing.T) {
	boom := errors.New("boom")
	find := func(_ context.Context, s string) ([]facts.SecretMatch, error) {
		if strings.Contains(s, "fail") {
			return nil, boom
		}
		if i := strings.Index(s, "s3cr3t"); i >= 0 {
			return []facts.SecretMatch{{Kind: "test", Start: i, End: i + 6}}, nil
		}
		return nil, nil
	}
	f := extract(t, event("Edit", "file_edit", `{"file_path":"a","old_string":"s3cr3t","new_string":"x=s3cr3t","list":[{"a/b":"s3cr3t"}]}`), facts.Options{Secrets: find})
	var got []string
	for _, s := range f.Secrets {
		got = append(got, fmt.Sprintf("%s %d-%d %s", s.Span.Pointer, s.Span.Start, s.Span.End, s.Redacted))
	}
	if g, want := strings.Join(got, "; "), "/list/0/a~1b 0-6 … (6 bytes); /new_string 2-8 … (6 bytes)"; g != want {
		t.Errorf("got %s, want %s", g, want)
	}
	if r := f.Redact("/new_string", "x=s3cr3t"); r != "x=***" {
		t.Errorf("redacted to %s", r)
	}
	if r := facts.RedactSecret("abcdefghijklmnopqrstuvwxyz"); r != "abcd… (26 bytes)" {
		t.Errorf("redacted to %s", r)
	}
	if _, err := facts.Extract(t.Context(), event("Write", "file_write", `{"content":"fail"}`), facts.Options{Secrets: find}); !errors.Is(err, boom) {
		t.Errorf("a finder that fails gave %v", err)
	}
}

// diskView follows real links.
type diskView struct{}

func (diskView) Readlink(name string, _ time.Duration) (string, bool, error) {
	st, err := os.Lstat(name)
	if err != nil || st.Mode()&os.ModeSymlink == 0 {
		return "", false, nil
	}
	to, err := os.Readlink(name)
	return to, err == nil, err
}

// A link inside the workspace that leads out of it is outside, for tools as for
// commands.
func TestLinksAreFollowed(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	repo, out := filepath.Join(base, "repo"), filepath.Join(base, "out")
	for _, d := range []string{repo, out} {
		if err := os.Mkdir(d, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Symlink(out, filepath.Join(repo, "link")); err != nil {
		t.Fatal(err)
	}
	ev := event("Write", "file_write", `{"file_path":"link/x"}`)
	ev.Session.CWD, ev.Session.WorkspaceRoots = repo, []string{repo}
	o := facts.Options{FS: diskView{}, TempDirs: []string{"/nowhere"}}
	if got, want := fileList(extract(t, ev, o)), "write "+out+"/x outside"; got != want {
		t.Errorf("tool: got %s, want %s", got, want)
	}
	b, err := json.Marshal(map[string]string{"command": "echo x > link/x"})
	if err != nil {
		t.Fatal(err)
	}
	ev.Tool = &ahp.Tool{Name: "Bash", Kind: ahp.KindShell, Input: b}
	if got := fileList(extract(t, ev, o)); !strings.Contains(got, "write "+out+"/x outside") {
		t.Errorf("command: got %s", got)
	}
}

func FuzzExtract(f *testing.F) {
	f.Add("Bash", "shell", `{"command":"git push --force"}`)
	f.Add("apply_patch", "file_edit", `{"command":"*** Begin Patch\n*** Add File: a\n*** End Patch"}`)
	f.Add("mcp__fs__move_file", "mcp", `{"source":"/a","destination":"~/b"}`)
	f.Add("fs_read", "file_read", `{"operations":[{"mode":"Line","path":"/etc/hosts"}]}`)
	f.Fuzz(func(t *testing.T, name, kind, input string) {
		if len(input) > 4096 {
			return
		}
		got, err := facts.Extract(t.Context(), event(name, ahp.ToolKind(kind), input), facts.Options{Home: "/home/dev", Dialect: shell.Bash})
		if err != nil {
			return
		}
		for _, x := range got.Files {
			if x.Path == "" || x.Op == "" || x.Zone == "" || x.Certainty == "" || x.Via == "" {
				t.Errorf("incomplete fact %+v", x)
			}
		}
	})
}
