package facts_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/facts"
)

// Input that is there but cannot be read in the member that matters is a hazard;
// input that is absent, or that something else makes up for, is none.
func TestUnreadableInput(t *testing.T) {
	tests := []struct {
		name  string
		kind  ahp.ToolKind
		input string
		want  string // pointers, and what was found there
	}{
		{"Bash", "shell", `{"command":5}`, "/command a number"},
		{"Bash", "shell", `{"command":true,"timeout":5}`, "/command a boolean"},
		{"Bash", "shell", `{"command":null}`, "/command null"},
		{"Bash", "shell", `{"command":{"line":"rm -rf /"}}`, "/command an object"},
		{"Bash", "shell", `{"command":{"line":"x"},"cmd":"ls"}`, "/command an object"},
		{"Bash", "shell", `{"command":{"command":"ls"}}`, ""},
		{"Bash", "shell", `{"command":{"command":"ls","args":[]}}`, ""},
		{"Bash", "shell", `{"command":{"command":"ls","args":{"0":"x"}}}`, "/command an object"},
		{"Bash", "shell", `{"command":{"cmd":"ls","command":["rm","x"]}}`, "/command an object"},
		{"Bash", "shell", `{"command":"ls","script":null}`, ""},
		{"Bash", "shell", `{"description":"nothing to run"}`, ""},
		{"local_shell", "shell", `{"command":["rm","-rf",7]}`, "/command an array"},
		{"local_shell", "shell", `{"command":["bash",["-c","id"]]}`, "/command an array"},
		{"local_shell", "shell", `{"command":[]}`, ""},
		{"run_commands", "shell", `{"commands":[{"command":"ls","args":[1]}]}`, "/commands an array"},
		{"run_commands", "shell", `{"commands":[{"command":"ls","args":[]}]}`, ""},
		{"run_commands", "shell", `{"commands":[{"command":["rm","x"],"cmd":"ls"}]}`, "/commands an array"},
		{"write_stdin", "shell", `{"chars":7}`, "/chars a number"},
		{"run_code", "shell", `{"code":["a",{}]}`, "/code an array"},
		{"use_aws", "shell", `{"service_name":["s3"],"operation_name":"ls"}`, "/service_name an array"},
		{"Read", "file_read", `{"file_path":{"path":"/etc/shadow"}}`, "/file_path an object"},
		{"Read", "file_read", `{"file_path":12}`, "/file_path a number"},
		{"Read", "file_read", `{"file_path":null}`, "/file_path null"},
		{"Read", "file_read", `{"file_path":"a","path":null,"limit":5}`, ""},
		{"read_many_files", "file_read", `{"paths":["a",["b"],["c"]]}`, "/paths/1 an array"},
		{"fs_read", "file_read", `{"operations":[{"mode":"Line","path":{"x":1}}]}`, "/operations/0/path an object"},
		{"fs_read", "file_read", `{"operations":"all of them"}`, "/operations a string"},
		{"Write", "file_write", `{"file_path":["/etc/motd"],"content":"x"}`, ""},
		{"Write", "file_write", `{"file_path":"x","content":{"a":1}}`, ""},
		{"MultiEdit", "file_edit", `{"file_path":"x","edits":"[]"}`, ""},
		{"multi_replace_string_in_file", "file_edit", `{"replacements":7}`, "/replacements a number"},
		{"Grep", "search", `{"pattern":"x","path":{"in":"/"}}`, "/path an object"},
		{"Grep", "search", `{"pattern":"x","path":null}`, "/path null"},
		{"Glob", "search", `{"pattern":"*.go","include":true}`, ""},
		{"apply_patch", "file_edit", `{"input":{"patch":"*** Begin Patch"}}`, "/input an object"},
		{"apply_patch", "file_edit", `{"command":["apply_patch",5]}`, "/command an array"},
		{"apply_patch", "file_edit", `{"input":"*** Begin Patch\n*** Delete File: a\n*** End Patch","diff":null}`, ""},
		{"apply_patch", "file_edit", `{"input":"*** Begin Patch\n*** Delete File: a\n*** End Patch","patch":{"text":"x"}}`, "/patch an object"},
		{"apply_patch", "file_edit", `{"input":"*** Begin Patch\n*** Delete File: a\n*** End Patch","patch":{},"diff":[]}`, ""},
		{"WebFetch", "fetch", `{"url":["https://example.com",9]}`, "/url/1 a number"},
		{"WebFetch", "fetch", `{"url":{"host":"169.254.169.254"}}`, "/url an object"},
		{"WebFetch", "fetch", `{"url":false}`, "/url a boolean"},
		{"WebFetch", "fetch", `{"url":"https://example.com","prompt":"x"}`, ""},
		{"WebSearch", "fetch", `{"query":5}`, ""},
		{"use_mcp_tool", "mcp", `{"server_name":"fs","tool_name":"read_file","arguments":7}`, "/arguments a number"},
		{"use_mcp_tool", "mcp", `{"server_name":"fs","tool_name":"read_file","arguments":"[1]"}`, "/arguments a string"},
		{"use_mcp_tool", "mcp", `{"server_name":"fs","tool_name":"list"}`, ""},
		{"TodoWrite", "other", `{"path":{"a":1},"url":5,"command":{"x":1}}`, ""},
	}
	for _, tt := range tests {
		f := extract(t, event(tt.name, tt.kind, tt.input), facts.Options{})
		var got []string
		for _, h := range f.Hazards {
			if h.Code == facts.InputUnreadable {
				found, _, _ := strings.Cut(strings.TrimPrefix(h.Detail, "found "), ",")
				got = append(got, h.Span.Pointer+" "+found)
			}
		}
		if g := strings.Join(got, "; "); g != tt.want {
			t.Errorf("%s %s: got %q, want %q", tt.name, tt.input, g, tt.want)
		}
		if tt.want != "" && !f.Undecidable {
			t.Errorf("%s %s: called decidable", tt.name, tt.input)
		}
	}
}

// Each command of an object is judged, with its arguments, and so is what stands in a
// list behind something that could not be read.
func TestOddInputHidesNothing(t *testing.T) {
	tests := []struct {
		name  string
		kind  ahp.ToolKind
		input string
		want  string // a hazard
	}{
		{"Bash", "shell", `{"command":{"cmd":"ls","command":"rm -rf /"}}`, facts.FSDeleteRecursive},
		{"Bash", "shell", `{"command":{"command":"ls","script":"rm -rf /"}}`, facts.FSDeleteRecursive},
		{"Bash", "shell", `{"command":{"command":"rm","args":["-rf","/"]}}`, facts.FSDeleteRecursive},
		{"Bash", "shell", `{"command":{"command":"rm","Args":["-rf","/"]}}`, facts.FSDeleteRecursive},
		{"Bash", "shell", `{"command":{"command":"rm","args":"-rf /"}}`, facts.FSDeleteRecursive},
		{"Bash", "shell", `{"command":[{"command":"rm -rf /"}]}`, facts.FSDeleteRecursive},
		{"mcp__box__run_command", ahp.KindMCP, `{"command":"rm","args":["-rf","/"]}`, facts.FSDeleteRecursive},
		{"mcp__box__run_command", ahp.KindMCP, `{"args":"-rf /","command":"rm","script":"ls"}`, facts.FSDeleteRecursive},
		{"mcp__box__run_command", ahp.KindMCP, `{"Args":["-rf","/"],"argv":["rm"]}`, facts.FSDeleteRecursive},
		{"run_commands", "shell", `{"commands":["ls",{"cmd":"ls","command":"rm","args":"-rf /"}]}`, facts.FSDeleteRecursive},
		{"read_many_files", "file_read", `{"paths":[{"x":1},"/etc/shadow"]}`, facts.SecretsRead},
	}
	for _, tt := range tests {
		f := extract(t, event(tt.name, tt.kind, tt.input), facts.Options{})
		if !slices.ContainsFunc(f.Hazards, func(h facts.Hazard) bool { return h.Code == tt.want }) {
			t.Errorf("%s %s: hazards %v, want %s among them", tt.name, tt.input, f.Hazards, tt.want)
		}
	}
	f := extract(t, event("WebFetch", ahp.KindFetch, `{"url":[5,"https://example.com/"]}`), facts.Options{})
	if len(f.URLs) != 1 {
		t.Errorf("addresses %v, want the one behind the number", f.URLs)
	}
}

// The schema of a server's tool is its own: what does not fit ours is not decided,
// and no hazard.
func TestUnreadableInputOfServers(t *testing.T) {
	for _, input := range []string{`{"command":7}`, `{"command":["ls",{"x":1}]}`, `{"command":"ls","args":[["x"]]}`} {
		f := extract(t, event("mcp__box__run_command", ahp.KindMCP, input), facts.Options{})
		if len(f.Hazards) > 0 || !f.Undecidable {
			t.Errorf("%s: hazards %v, undecidable %v, want none and true", input, f.Hazards, f.Undecidable)
		}
	}
}

// The list of them is bounded like every other.
func TestUnreadableInputIsBounded(t *testing.T) {
	input := `{"operations":[` + strings.Repeat(`{"path":{}},`, 5000) + `{"path":"/etc/hosts"}]}`
	f := extract(t, event("fs_read", ahp.KindFileRead, input), facts.Options{})
	if n := len(f.Hazards); n == 0 || n > 512 {
		t.Errorf("%d hazards, want from 1 to 512", n)
	}
}
