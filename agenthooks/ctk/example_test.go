package ctk_test

import (
	"context"
	"fmt"

	"github.com/holdpoint/holdpoint/agenthooks/ctk"
)

// The kit's own vectors on the host of this project. A host of yours takes the
// place of Reference.
func Example() {
	report, err := ctk.Conform(context.Background(), ctk.Reference(), ctk.Builtin()[:10], ctk.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	t := report.Total()
	fmt.Printf("%d passed, %d failed, %d skipped\n", t.Passed, t.Failed, t.Skipped)
	// Output: 10 passed, 0 failed, 0 skipped
}
