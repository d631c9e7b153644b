package settle_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/settle"
)

// input of about n bytes: many members of moderate size, as an editor's tool has.
func sized(n int) ahp.Raw {
	var b strings.Builder
	b.WriteString(`{"path":"notes/a.md"`)
	for i := 0; b.Len() < n; i++ {
		fmt.Fprintf(&b, `,"member%d":{"text":%q,"n":%d}`, i, strings.Repeat("some text ", 80), i)
	}
	b.WriteByte('}')
	return ahp.Raw(b.String())
}

func BenchmarkDraft(b *testing.B) {
	for _, size := range []struct {
		name  string
		bytes int
	}{{"small", 100}, {"100KB", 100 << 10}} {
		for _, n := range []int{1, 4, 16} {
			for _, kind := range []string{"empty", "allow", "merge"} {
				b.Run(kind+"/"+size.name+"/"+strconv.Itoa(n), func(b *testing.B) {
					ev := boundary(ahp.ToolBefore)
					ev.Tool.Input = sized(size.bytes)
					caps := everything(ahp.ToolBefore, 0)
					steps := make([]settle.Step, n)
					for i := range steps {
						steps[i] = settle.Step{Backend: guard, Policy: ahp.FailClosed}
						switch kind {
						case "allow":
							steps[i].Effects = []ahp.Effect{&ahp.Allow{}}
						case "merge":
							steps[i].Effects = []ahp.Effect{merge(`{"path":"notes/` + strconv.Itoa(i) + `.md"}`)}
						}
					}
					b.ReportAllocs()
					for b.Loop() {
						bd := settle.Open(ev, caps, settle.BoundaryOptions{})
						for i := range steps {
							bd, _ = bd.Apply(steps[i])
						}
						if bd.Done() {
							b.Fatal("refused")
						}
					}
				})
			}
		}
	}
}

// The whole way of a changed call: four interceptors, the state that each is told, and
// the settlement with the operation's new identity.
func BenchmarkDraftSettlement(b *testing.B) {
	ev := boundary(ahp.ToolBefore)
	caps := everything(ahp.ToolBefore, 0)
	steps := []settle.Step{
		{Backend: guard, Policy: ahp.FailClosed},
		{Backend: guard, Policy: ahp.FailClosed, Effects: []ahp.Effect{merge(`{"n":2}`), tell("moved")}},
		{Backend: guard, Policy: ahp.FailClosed, Effects: []ahp.Effect{&ahp.Allow{}}},
		{Backend: guard, Policy: ahp.FailClosed},
	}
	b.ReportAllocs()
	for b.Loop() {
		bd := settle.Open(ev, caps, settle.BoundaryOptions{})
		for i := range steps {
			bd.State()
			bd, _ = bd.Apply(steps[i])
		}
		if !bd.Settlement().Proceeds() {
			b.Fatal("refused")
		}
	}
}
