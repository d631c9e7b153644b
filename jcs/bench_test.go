package jcs_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/jcs"
)

// sample is JSON of about n bytes with what tool arguments have: short names,
// prose, escapes, numbers, nesting, members out of order.
func sample(n int) []byte {
	var b strings.Builder
	b.WriteString(`{"rows":[`)
	for i := 0; b.Len() < n-160; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"path":"src/pkg/file%d.go","line":%d,"ratio":%d.25,"ok":true,"body":"a line of text\nand a second, longer one with \"quotes\"","tags":["x","é"]}`, i, i*7, i)
	}
	b.WriteString(`],"id":"tc-1"}`)
	return []byte(b.String())
}

func BenchmarkCanonicalize(b *testing.B) {
	for _, size := range []int{100, 1 << 10, 20 << 10, 1 << 20} {
		in := sample(size)
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			dst := make([]byte, 0, 2*len(in))
			b.SetBytes(int64(len(in)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := jcs.Canonicalize(dst, in, jcs.Options{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCheck(b *testing.B) {
	in := sample(1 << 10)
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		jcs.Check(in, jcs.Options{})
	}
}

func BenchmarkDigest(b *testing.B) {
	in := sample(1 << 10)
	b.SetBytes(int64(len(in)))
	b.ReportAllocs()
	for b.Loop() {
		jcs.Digest(in)
	}
}

// BenchmarkJSONText is jsontext's canonicalizer on the same input. The writer
// of this package is worth its code while it is at least 1.5 times as fast.
func BenchmarkJSONText(b *testing.B) {
	for _, size := range []int{1 << 10, 20 << 10} {
		in := sample(size)
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			dst := make([]byte, 0, 2*len(in))
			b.SetBytes(int64(len(in)))
			b.ReportAllocs()
			for b.Loop() {
				var err error
				if dst, err = jsontext.AppendFormat(dst[:0], in,
					jsontext.CanonicalizeRawInts(true), jsontext.CanonicalizeRawFloats(true), jsontext.ReorderRawObjects(true)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
