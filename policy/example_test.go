package policy_test

import (
	"context"
	"fmt"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/facts"
	"github.com/holdpoint/holdpoint/policy"
	"github.com/holdpoint/holdpoint/policy/cel"
)

// A decision needs an engine, a policy and the facts of an event.
func Example() {
	engine, err := cel.New(cel.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	set, err := policy.Parse("policy.yaml", []byte(`
version: 1
rules:
  - name: no-keys
    when: touches("read", "~/.ssh/**")
    effect: deny
    reason: Private keys stay private.
    hint: Let ssh use them.
`), policy.Options{Engine: engine})
	if err != nil {
		fmt.Println(err)
		return
	}
	event := &ahp.Event{
		ID: "1", Type: ahp.ToolBefore,
		Session: ahp.Session{ID: "s", CWD: "/home/ann/app", WorkspaceRoots: []string{"/home/ann/app"}},
		Tool:    &ahp.Tool{Name: "Read", Kind: ahp.KindFileRead, Input: ahp.Raw(`{"file_path": "../.ssh/id_ed25519"}`)},
	}
	f, err := facts.Extract(context.Background(), event, facts.Options{Home: "/home/ann"})
	if err != nil {
		fmt.Println(err)
		return
	}
	d, err := set.Decide(context.Background(), f)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(d.Effect, d.Rule)
	fmt.Println(d.Message)
	// Output:
	// deny no-keys
	// Private keys stay private. Let ssh use them.
}
