package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdpoint/holdpoint/facts"
)

// HazardCodes returns the codes that hazards have, sorted: those of the taxonomy of
// commands, and [facts.InputUnreadable].
func HazardCodes() []string { return slices.Clone(hazardCodes) }

var hazardCodes = []string{
	"db.destructive", "fs.delete_recursive", "fs.device_write", "fs.permissions", "fs.write_outside_workspace",
	"git.discard_work", "git.force_push", "git.force_push_lease", "git.history_rewrite", "git.hook_bypass",
	"git.remote_branch_delete", "guard.tamper", "infra.destructive", facts.InputUnreadable, "net.listen", "net.pipe_to_shell",
	"net.reverse_shell", "net.upload", "obfuscation", "persistence", "pkg.publish", "priv.escalate",
	"proc.kill_broad", "resource.exhaust", "secrets.literal", "secrets.read", "sys.disrupt",
}

// HazardMatch reports whether pattern, a code or a group such as `fs.*`, names
// code.
func HazardMatch(pattern, code string) bool {
	if group, ok := strings.CutSuffix(pattern, "*"); ok {
		return strings.HasPrefix(code, group)
	}
	return pattern == code
}

// CheckHazardCode reports why pattern names no hazard of the taxonomy.
func CheckHazardCode(pattern string) error {
	if group, ok := strings.CutSuffix(pattern, "*"); ok && group != "" && !strings.HasSuffix(group, ".") {
		return fmt.Errorf("%q: a group of codes ends in `.*`", pattern)
	}
	if slices.ContainsFunc(hazardCodes, func(c string) bool { return HazardMatch(pattern, c) }) {
		return nil
	}
	if n := Nearest(pattern, hazardCodes); n != "" {
		return fmt.Errorf("%q is no hazard code; did you mean %q?", pattern, n)
	}
	return fmt.Errorf("%q is no hazard code; docs/hazards.md lists them", pattern)
}

// FactValues returns the closed set of values that a text field may have beside
// "", or nil when any text is possible.
func FactValues(typ, field string) []string {
	return slices.Clone(factValues[typ+"."+field])
}

var certainties = []string{string(facts.Certain), string(facts.Possible)}

var factValues = map[string][]string{
	"Event.type":       {"tool.before", "tool.after", "tool.error", "session.start", "session.end"},
	"Tool.kind":        {"shell", "file_read", "file_write", "file_edit", "search", "fetch", "task", "mcp", "other"},
	"Shell.dialect":    {"bash", "sh", "zsh", "powershell", "cmd"},
	"Action.place":     {"workspace", "root", "above", "temp", "temproot", "null", "device", "outside"},
	"Action.certainty": certainties,
	"Undecided.reason": {"command.dynamic", "path.unresolved", "script.unknown", "code.inline", "target.opaque", "option.unknown", "text.malformed"},
	"File.op":          {"read", "write", "delete", "mode", "exec", "list"},
	"File.zone":        {"workspace", "root", "scratch", "device", "outside", "unknown"},
	"File.via":         {"shell", "tool", "patch", "mcp"},
	"File.certainty":   certainties,
	"URL.class":        {"public", "loopback", "private", "link-local", "metadata", "unknown"},
	"URL.use":          {"fetch", "upload", "connect", "listen"},
	"URL.certainty":    certainties,
	"Hazard.code":      hazardCodes,
	"Hazard.certainty": certainties,
}

// Nearest returns the candidate that name was probably meant to be, or "" when
// none is near.
func Nearest(name string, candidates []string) string {
	best, bestDist := "", 1+max(1, len(name)/3)
	for _, c := range candidates {
		if d := distance(strings.ToLower(name), strings.ToLower(c)); d < bestDist {
			best, bestDist = c, d
		}
	}
	return best
}

// distance counts the insertions, deletions, changes and swaps of neighbours
// between two short texts.
func distance(a, b string) int {
	if len(a) > 64 || len(b) > 64 {
		return 1 << 20
	}
	prev2, prev, cur := make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)
	for j := range prev {
		prev[j] = j
	}
	for i := 1; i <= len(a); i++ {
		cur[0] = i
		for j := 1; j <= len(b); j++ {
			cost := 1
			if a[i-1] == b[j-1] {
				cost = 0
			}
			cur[j] = min(prev[j]+1, cur[j-1]+1, prev[j-1]+cost)
			if i > 1 && j > 1 && a[i-1] == b[j-2] && a[i-2] == b[j-1] {
				cur[j] = min(cur[j], prev2[j-2]+1)
			}
		}
		prev2, prev, cur = prev, cur, prev2
	}
	return prev[len(b)]
}
