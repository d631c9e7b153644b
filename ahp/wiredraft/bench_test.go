package wiredraft_test

import (
	"strings"
	"testing"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/wire01"
	"github.com/holdpoint/holdpoint/ahp/wiredraft"
)

const (
	validEvent = `{"id":"e-1","source":"urn:uuid:c0ffee00-1111-4222-8333-444455556666","type":"tool.before","time":"2027-02-03T04:05:06Z",` +
		`"session":{"id":"s-88","cwd":"/srv/app","workspaceRoots":["/srv/app"],"model":"m","agent":{"id":"sub-2","type":"reviewer"}},` +
		`"call":{"id":"tc-1"},"tool":{"name":"run_command","kind":"shell","origin":"native","input":{"cmd":"ls","n":1.50}},"path":"native"}`
	validRequest = `{"jsonrpc":"2.0","id":"e-1","method":"hooks/intercept","params":{"protocolVersion":"draft","event":` + validEvent + `,"capabilities":{"effects":["deny"]}}}`

	// The same event in revision 0.1.
	request01 = `{"jsonrpc":"2.0","id":"e-1","method":"hooks/intercept","params":{"protocolVersion":"0.1","event":` +
		`{"id":"e-1","source":"urn:uuid:c0ffee00-1111-4222-8333-444455556666","type":"tool.before","time":"2027-02-03T04:05:06Z",` +
		`"session":{"id":"s-88","cwd":"/srv/app","workspaceRoots":["/srv/app"],"model":"m","agent":{"id":"sub-2","type":"reviewer"}},` +
		`"tool":{"callId":"tc-1","name":"run_command","kind":"shell","input":{"cmd":"ls","n":1.50}}},"capabilities":{"effects":["deny"]}}}`
)

// edit replaces the first old in s, which must be there.
func edit(t testing.TB, s, old, new string) string {
	t.Helper()
	if !strings.Contains(s, old) {
		t.Fatalf("%q is not in %s", old, s)
	}
	return strings.Replace(s, old, new, 1)
}

// sized is a request of about n bytes.
func sized(tb testing.TB, request string, n int) []byte {
	pad := n - len(request) - len(`,"content":""`)
	var parts []string
	for ; pad > 0; pad -= 200 {
		parts = append(parts, `"`+strings.Repeat("lorem ipsum ", 16)+`"`)
	}
	return []byte(edit(tb, request, `"n":1.50`, `"content":[`+strings.Join(parts, ",")+`]`))
}

var sizes = []struct {
	name string
	n    int
}{{"1KB", 1 << 10}, {"20KB", 20 << 10}, {"1MB", 1 << 20}}

// BenchmarkDecodeRequest reads one tool.before of each revision.
func BenchmarkDecodeRequest(b *testing.B) {
	for _, s := range sizes {
		old, now := sized(b, request01, s.n), sized(b, validRequest, s.n)
		b.Run(s.name+"/0.1", func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(old)))
			for b.Loop() {
				if _, err := wire01.DecodeRequest(old, wire01.Limits{}); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(s.name+"/draft", func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(now)))
			for b.Loop() {
				if _, err := wiredraft.DecodeRequest(now, wiredraft.Limits{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkAppendIntercept writes one tool.before of each revision.
func BenchmarkAppendIntercept(b *testing.B) {
	for _, s := range sizes {
		old, err1 := wire01.DecodeRequest(sized(b, request01, s.n), wire01.Limits{})
		now, err2 := wiredraft.DecodeRequest(sized(b, validRequest, s.n), wiredraft.Limits{})
		if err1 != nil || err2 != nil {
			b.Fatal(err1, err2)
		}
		b.Run(s.name+"/0.1", func(b *testing.B) {
			b.ReportAllocs()
			var dst []byte
			for b.Loop() {
				var err error
				if dst, err = wire01.AppendIntercept(dst[:0], old.Event, old.Capabilities, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(s.name+"/draft", func(b *testing.B) {
			b.ReportAllocs()
			var dst []byte
			for b.Loop() {
				var err error
				if dst, err = wiredraft.AppendIntercept(dst[:0], now.Event, &now.Capabilities, nil, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkDecodeResponse reads the answers that are sent most.
func BenchmarkDecodeResponse(b *testing.B) {
	caps := ahp.Bounds(ahp.ToolBefore)
	for _, x := range []struct{ name, effects string }{
		{"none", ""},
		{"deny", `{"type":"deny","reason":"no"}`},
		{"modify", `{"type":"modify","target":"input","operation":"merge","value":{"cmd":"ls -l"}},{"type":"message","text":"changed"}`},
	} {
		frame := []byte(`{"jsonrpc":"2.0","id":"e-1","result":{"protocolVersion":"draft","effects":[` + x.effects + `]}}`)
		b.Run(x.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, f := wiredraft.DecodeResponse(frame, "e-1", ahp.ToolBefore, &caps, wiredraft.Limits{}); f != nil {
					b.Fatal(f)
				}
			}
		})
	}
	frame := []byte(`{"jsonrpc":"2.0","id":"e-1","result":{"protocolVersion":"0.1","effects":[{"type":"deny","reason":"no"}]}}`)
	b.Run("deny/0.1", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, f := wire01.DecodeResponse(frame, "e-1", ahp.DenyOnly(), wire01.Limits{}); f != nil {
				b.Fatal(f)
			}
		}
	})
}

// BenchmarkAppendResult writes a denial of each revision.
func BenchmarkAppendResult(b *testing.B) {
	caps := ahp.Bounds(ahp.ToolBefore)
	id := ahp.Raw(`"e-1"`)
	effects := []ahp.Effect{&ahp.Deny{Reason: "no"}}
	var dst []byte
	b.Run("0.1", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			dst, _ = wire01.AppendResult(dst[:0], id, effects, nil)
		}
	})
	b.Run("draft", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			dst, _ = wiredraft.AppendResult(dst[:0], id, ahp.ToolBefore, &caps, effects, nil)
		}
	})
}
