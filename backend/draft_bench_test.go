package backend_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/backend"
)

// draftFrames returns the events of frames in the draft's form.
func draftFrames(n int, caps, more string) [][]byte {
	out := make([][]byte, n)
	for i := range out {
		id := fmt.Sprintf("0192f3aa-77c1-7d10-9a51-%012d", i)
		ev := draftEvent(id, ahp.ToolBefore, `"session":{"id":"s"},"call":{"id":"c"},"path":"native","tool":{"name":"run","kind":"shell",`+
			`"origin":"native","input":{"cmd":"`+strings.Repeat("lorem ipsum ", 52)+`"}}`)
		out[i] = []byte(draftRequest(id, ev, caps, more) + "\n")
	}
	return out
}

// BenchmarkRevisions is the same tool call in both revisions: a server of one, and a
// server of both. The draft may cost 1.2 times of 0.1.
func BenchmarkRevisions(b *testing.B) {
	state := `,"state":{"permission":"none","candidate":null,"flow":"none","instructions":[],"injections":[]}`
	only := func(v ...ahp.Version) []ahp.Version { return v }
	both := only(ahp.Version01, ahp.VersionDraft)
	for _, tt := range []struct {
		name     string
		versions []ahp.Version
		frames   [][]byte
	}{
		{"of=0.1/in=0.1", only(ahp.Version01), frames(20000)},
		{"of=draft/in=draft", only(ahp.VersionDraft), draftFrames(20000, denyCaps, "")},
		{"of=both/in=0.1", both, frames(20000)},
		{"of=both/in=draft", both, draftFrames(20000, denyCaps, "")},
		{"of=both/in=draft, all offered, with state", both, draftFrames(20000, allCaps, state)},
	} {
		for _, prompt := range []bool{true, false} {
			b.Run(fmt.Sprintf("%s/prompt=%v", tt.name, prompt), func(b *testing.B) {
				s := newServer(b, allow, backend.Options{Versions: tt.versions, Prompt: prompt})
				b.ReportAllocs()
				i := 0
				for b.Loop() {
					if _, err := s.Local(b.Context(), tt.frames[i%len(tt.frames)]); err != nil {
						b.Fatal(err)
					}
					i++
				}
			})
		}
	}
}

// BenchmarkEffects is a call that is answered with something: it is checked as a harness
// will check it.
func BenchmarkEffects(b *testing.B) {
	merge := []ahp.Effect{&ahp.Modify{Target: ahp.TargetInput, Operation: ahp.OpMerge, Value: ahp.Value{JSON: ahp.Raw(`{"cwd":"/srv"}`)}}}
	deny := []ahp.Effect{&ahp.Deny{Reason: "Not on a Friday.", Code: "com.example.friday"}}
	for _, tt := range []struct {
		name    string
		bytes   int
		effects []ahp.Effect
	}{
		{"deny", 600, deny}, {"merge", 600, merge}, {"deny", 100 << 10, deny}, {"merge", 100 << 10, merge},
	} {
		b.Run(fmt.Sprintf("%s/%dKB", tt.name, tt.bytes>>10), func(b *testing.B) {
			frames := draftFrames(2, allCaps, "") // one after the other, so that none is a repeat
			for i := range frames {
				for n := 0; len(frames[i]) < tt.bytes; n++ {
					frames[i] = []byte(strings.Replace(string(frames[i]), `"input":{`, fmt.Sprintf(`"input":{"member%d":{"text":"%s"},`, n, strings.Repeat("some text ", 80)), 1))
				}
			}
			s := newServer(b, returning(tt.effects...), draftOptions(func(o *backend.Options) { o.Prompt, o.MemoryEntries = true, 1 }))
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				if out, err := s.Local(b.Context(), frames[i%2]); err != nil || !strings.Contains(string(out), `"effects"`) {
					b.Fatal(err, string(out))
				}
				i++
			}
		})
	}
}
