package shell

import "testing"

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
		p := &tableParser{file: "programs.txt"}
		p.parse(block)
		for _, problem := range p.problems {
			t.Errorf("%s: %v", name, problem)
		}
		if len(p.entries) != 1 {
			t.Errorf("%s: got %d entries in its block", name, len(p.entries))
		}
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
