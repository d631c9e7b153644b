package wire01_test

import (
	"strings"
	"testing"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/wire01"
)

// sized is a request of about n bytes.
func sized(tb testing.TB, n int) []byte {
	pad := n - len(validRequest) - len(`,"content":""`)
	var parts []string
	for ; pad > 0; pad -= 200 {
		parts = append(parts, `"`+strings.Repeat("lorem ipsum ", 16)+`"`)
	}
	return []byte(edit(tb, validRequest, `"n":1.50`, `"content":[`+strings.Join(parts, ",")+`]`))
}

func BenchmarkDecodeRequest(b *testing.B) {
	for name, n := range map[string]int{"1KB": 1 << 10, "20KB": 20 << 10, "1MB": 1 << 20} {
		frame := sized(b, n)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(frame)))
			for b.Loop() {
				if _, err := wire01.DecodeRequest(frame, wire01.Limits{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkAppendIntercept(b *testing.B) {
	m, bad := wire01.DecodeRequest(sized(b, 1<<10), wire01.Limits{})
	if bad != nil {
		b.Fatal(bad)
	}
	b.ReportAllocs()
	var dst []byte
	for b.Loop() {
		var err error
		if dst, err = wire01.AppendIntercept(dst[:0], m.Event, m.Capabilities, nil); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkDecodeResponse(b *testing.B) {
	for name, frame := range map[string]string{"none": noEffects, "deny": denied} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, f := wire01.DecodeResponse([]byte(frame), "e-1", ahp.DenyOnly(), wire01.Limits{}); f != nil {
					b.Fatal(f)
				}
			}
		})
	}
}

func BenchmarkAppendResult(b *testing.B) {
	effects := []ahp.Effect{&ahp.Deny{Reason: "Force pushes are prohibited.", Code: "com.example.force_push"}}
	id := ahp.Raw(`"0192f3aa-77c1-7d10-9a51-3b0e5c1f2a44"`)
	b.ReportAllocs()
	var dst []byte
	for b.Loop() {
		var err error
		if dst, err = wire01.AppendResult(dst[:0], id, effects, nil); err != nil {
			b.Fatal(err)
		}
	}
}
