package audit_test

import (
	"context"
	"fmt"

	"github.com/holdpoint/holdpoint/audit"
)

func Example() {
	ctx := context.Background()
	l, err := audit.NewMemory(0)
	if err != nil {
		fmt.Println(err)
		return
	}
	defer l.Close()
	for _, decision := range []string{"none", "deny", "none"} {
		e := audit.Entry{Version: 1, Kind: audit.Settlement, Tool: "Bash", Decision: decision}
		if _, err := l.Append(ctx, e); err != nil {
			fmt.Println(err)
			return
		}
	}
	kept, err := l.Checkpoint(ctx) // keep kept.Note somewhere else
	if err != nil {
		fmt.Println(err)
		return
	}
	for r, err := range l.Query(ctx, audit.Filter{Decision: "deny"}) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(r.ID, r.Kind, r.Tool, r.Decision)
	}
	report, err := l.Verify(ctx, audit.Trust{Checkpoints: []string{kept.Note}})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(report.OK(), report.KnownTo)
	// Output:
	// 1 settlement Bash deny
	// true 3
}
