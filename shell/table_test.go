package shell

import (
	"strings"
	"testing"
)

// Every block of the program table must parse: the table is read on first need,
// so a mistake in it would show up only when somebody runs that program.
func TestProgramTableParses(t *testing.T) {
	table.once.Do(loadIndex)
	if len(table.index) < 500 {
		t.Fatalf("the table has %d programs, expected at least 500", len(table.index))
	}
	seen := map[string]bool{}
	for name, block := range table.index {
		if seen[block] {
			continue
		}
		seen[block] = true
		s, err := parseSpec(block)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		lint(t, name, s)
	}
}

func lint(t *testing.T, name string, s *spec) {
	for flag, fs := range s.flags {
		if !strings.HasPrefix(flag, "-") {
			t.Errorf("%s: option %q does not begin with a dash", name, flag)
		}
		if fs.role != "" && !roleNames[fs.role] {
			t.Errorf("%s: option %q has the unknown role %q", name, flag, fs.role)
		}
	}
	for sub, ss := range s.subs {
		lint(t, name+" "+sub, ss)
	}
}

func TestCallTableParses(t *testing.T) {
	if rules := callRules(); len(rules) < 300 {
		t.Errorf("the call table has %d rules, expected at least 300", len(rules))
	}
	if callTable.err != nil {
		t.Error(callTable.err)
	}
}
