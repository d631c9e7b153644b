package agenthooks_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/agenthooks"
)

func args(n int) jsontext.Value {
	var b strings.Builder
	b.WriteString(`{"rows":[`)
	for i := 0; b.Len() < n-120; i++ {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(&b, `{"path":"src/pkg/file%d.go","line":%d,"ok":true,"body":"a line of text\nand \"quotes\"","tags":["x","é"]}`, i, i*7)
	}
	b.WriteString(`],"id":"tc-1"}`)
	return jsontext.Value(b.String())
}

var allow = agenthooks.InterceptorFunc(func(context.Context, *agenthooks.Context) (agenthooks.Verdict, error) {
	return agenthooks.Allow(), nil
})

func allows(n int) []agenthooks.Registration {
	out := make([]agenthooks.Registration, n)
	for i := range out {
		out[i] = agenthooks.Registration{Interceptor: allow}
	}
	return out
}

func opened(tb testing.TB, o agenthooks.Options) (*agenthooks.Host, *agenthooks.Session) {
	tb.Helper()
	if o.AgentID == "" {
		o.AgentID = "agent-1"
	}
	if o.Framework == "" {
		o.Framework = "reference"
	}
	h, err := agenthooks.New(o)
	if err != nil {
		tb.Fatal(err)
	}
	s, err := h.NewSession(agenthooks.SessionOptions{ID: "sess-1"})
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := s.EmitUnchecked(context.Background(), agenthooks.Startup("a", "b")); err != nil {
		tb.Fatal(err)
	}
	h.TakeRecords()
	return h, s
}

func BenchmarkIdentity(b *testing.B) {
	for _, size := range []int{1 << 10, 20 << 10, 1 << 20} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			_, s := opened(b, agenthooks.Options{Interceptors: allows(1), MaxRecords: -1})
			e, err := s.Emit(b.Context(), agenthooks.BeforeTool("tc-1", "write", args(size)))
			if err != nil {
				b.Fatal(err)
			}
			c := e.Context()
			b.ReportAllocs()
			for b.Loop() {
				if _, err := agenthooks.Identity(c); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkEmit(b *testing.B) {
	for _, profile := range []agenthooks.Profile{agenthooks.FirstDeny, agenthooks.RunAll, agenthooks.Strictest, agenthooks.Unanimous} {
		for _, n := range []int{0, 1, 4, 16} {
			for _, size := range []int{1 << 10, 20 << 10, 1 << 20} {
				b.Run(fmt.Sprintf("%s/%d/%d", strings.ReplaceAll(string(profile), "/", "_"), n, size), func(b *testing.B) {
					_, s := opened(b, agenthooks.Options{
						Interceptors: allows(n), MaxRecords: -1, Composition: agenthooks.Composition{Profile: profile},
						Mode: agenthooks.EvaluateOnly, MaxContextBytes: 8 << 20,
					})
					e := agenthooks.BeforeTool("tc-1", "write", args(size))
					ctx := b.Context()
					b.ReportAllocs()
					for b.Loop() {
						if _, err := s.Emit(ctx, e); err != nil {
							b.Fatal(err)
						}
					}
				})
			}
		}
	}
}

// BenchmarkBudget compares an allow emission with the identity alone, and one
// interceptor with two, at several sizes. It reports the smallest of many short
// rounds, so that a busy machine does not show: emit/identity is to stay at or
// below 1.6 at 1 KB, and ns/interceptor must not grow with the context.
func BenchmarkBudget(b *testing.B) {
	for _, size := range []int{1 << 10, 20 << 10, 200 << 10} {
		b.Run(fmt.Sprint(size), func(b *testing.B) {
			ctx := b.Context()
			emit := func(n int) func() {
				_, s := opened(b, agenthooks.Options{Interceptors: allows(n), MaxRecords: -1})
				e := agenthooks.BeforeTool("tc-1", "write", args(size))
				return func() {
					if _, err := s.Emit(ctx, e); err != nil {
						b.Fatal(err)
					}
				}
			}
			_, s := opened(b, agenthooks.Options{Interceptors: allows(1), MaxRecords: -1})
			out, err := s.Emit(ctx, agenthooks.BeforeTool("tc-1", "write", args(size)))
			if err != nil {
				b.Fatal(err)
			}
			c := out.Context()
			alone := func() {
				if _, err := agenthooks.Identity(c); err != nil {
					b.Fatal(err)
				}
			}
			works := []func(){alone, emit(1), emit(17)}
			least := make([]time.Duration, len(works))
			for b.Loop() {
				for i, w := range works {
					start := time.Now()
					for range 10 {
						w()
					}
					if took := time.Since(start) / 10; least[i] == 0 || took < least[i] {
						least[i] = took
					}
				}
			}
			b.ReportMetric(float64(least[0]), "identity-ns")
			b.ReportMetric(float64(least[1]), "emit-ns")
			b.ReportMetric(float64(least[1])/float64(least[0]), "emit/identity")
			b.ReportMetric(float64(least[2]-least[1])/16, "ns/interceptor")
		})
	}
}
