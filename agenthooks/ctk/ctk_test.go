package ctk_test

import (
	"testing"

	"github.com/holdpoint/holdpoint/agenthooks/ctk"
	"github.com/holdpoint/holdpoint/internal/corpus"
)

// TestPublicVectors runs the public corpus on the reference host: all pass and
// none is skipped.
func TestPublicVectors(t *testing.T) {
	vs, err := ctk.Load(corpus.Dir(t, "agent-hooks/vectors"))
	if err != nil {
		t.Fatal(err)
	}
	if len(vs) < 38 {
		t.Fatalf("only %d vectors", len(vs))
	}
	r, err := ctk.Conform(t.Context(), ctk.Reference(), vs, ctk.Options{})
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range r.Results {
		t.Run(v.ID, func(t *testing.T) {
			if v.Status != ctk.Pass {
				t.Errorf("%s: %s: %q", v.Status, v.Detail, v.Failures)
			}
		})
	}
}
