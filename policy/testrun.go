package policy

import (
	"context"

	"github.com/holdpoint/holdpoint/facts"
)

// A TestResult is the outcome of one case of a *_test.yaml file.
type TestResult struct {
	File string   `json:"file"`
	Line int      `json:"line"`
	Name string   `json:"name"`
	OK   bool     `json:"ok"`
	Diff []string `json:"diff,omitempty"` // one line per difference: what, got, want
}

// A TestReport is the outcome of [Test].
type TestReport struct {
	Results  []TestResult `json:"results"`
	Problems []*Problem   `json:"problems,omitempty"` // faults of the case files
	Passed   int          `json:"passed"`
	Failed   int          `json:"failed"`
}

// OK reports whether at least one case ran, all passed and no file is faulty.
func (r *TestReport) OK() bool {
	return r.Failed == 0 && r.Passed > 0 && len(r.Problems) == 0
}

// Test runs the cases in the *_test.yaml files of dir against s. base completes
// the facts' options; a case may override home and shell.
func Test(ctx context.Context, dir string, s *Set, base facts.Options) (*TestReport, error) {
	return &TestReport{}, nil
}
