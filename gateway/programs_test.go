package gateway_test

import (
	"testing"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/gateway"
)

// A reload puts what the policy teaches of programs in force together with its
// rules, and a broken one changes neither.
func TestReloadTeachesPrograms(t *testing.T) {
	dir := t.TempDir()
	const head = "version: 1\npacks: [default]\n"
	writePolicy(t, dir, head)
	d, err := gateway.NewDecider(gateway.PolicySource{Dir: dir, Home: "/home/dev"})
	if err != nil {
		t.Fatal(err)
	}
	ev := &ahp.Event{
		ID: "e", Type: ahp.ToolBefore, Session: ahp.Session{CWD: "/home/dev/repo", WorkspaceRoots: []string{"/home/dev/repo"}},
		Tool: &ahp.Tool{Name: "Bash", Kind: ahp.KindShell, Input: ahp.Raw(`{"command": "ship --prod"}`)},
	}
	denied := func() bool {
		dec, _, err := d.Decide(t.Context(), ev)
		if err != nil {
			t.Fatal(err)
		}
		return dec.Denied()
	}
	if denied() {
		t.Fatal("refused by a policy that knows nothing of the program")
	}
	before := d.Digest()
	writePolicy(t, dir, head+"programs: |\n  prog ship\n    flags --prod\n    act infra.destroy a site if --prod\n")
	if err := d.Load(); err != nil {
		t.Fatal(err)
	}
	taught := d.Digest()
	if !denied() || taught == before {
		t.Errorf("after the reload: denied %v, digest changed %v", denied(), taught != before)
	}
	writePolicy(t, dir, head+"programs: |\n  prog ship\n    act nothing\n")
	if err := d.Load(); err == nil {
		t.Error("a broken text was taken")
	}
	if !denied() || d.Digest() != taught {
		t.Error("a broken text changed the policy in force")
	}
	writePolicy(t, dir, head)
	if err := d.Load(); err != nil {
		t.Fatal(err)
	}
	if denied() || d.Digest() != before {
		t.Error("what was taken out is still known")
	}
}
