package backend_test

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/backend"
)

func allow(context.Context, *backend.Request) ([]ahp.Effect, error) { return nil, nil }

// frames returns requests of about 1 KB with ids of their own.
func frames(n int) [][]byte {
	out := make([][]byte, n)
	for i := range out {
		out[i] = []byte(request(fmt.Sprintf("0192f3aa-77c1-7d10-9a51-%012d", i), strings.Repeat("lorem ipsum ", 52)) + "\n")
	}
	return out
}

func BenchmarkLocal(b *testing.B) {
	s, err := backend.New(backend.HandlerFunc(allow), backend.Options{})
	if err != nil {
		b.Fatal(err)
	}
	fs := frames(20000)
	b.ReportAllocs()
	i := 0
	for b.Loop() {
		if _, err := s.Local(b.Context(), fs[i%len(fs)]); err != nil {
			b.Fatal(err)
		}
		i++
	}
}

// BenchmarkStdioPipe is one round trip over real pipes to a server in this
// process in each revision, beside an echo over the same kind of pipes.
func BenchmarkStdioPipe(b *testing.B) {
	s := newServer(b, allow, backend.Options{Versions: []ahp.Version{ahp.Version01, ahp.VersionDraft}})
	for name, serve := range map[string]func(in, out *os.File) error{
		"echo": func(in, out *os.File) error {
			r := bufio.NewReaderSize(in, 64<<10)
			for {
				line, err := r.ReadSlice('\n')
				if err == io.EOF {
					return nil
				}
				if err != nil {
					return err
				}
				if _, err := out.Write(line); err != nil {
					return err
				}
			}
		},
		"server": func(in, out *os.File) error { return s.ServeStdio(b.Context(), in, out) },
		"draft":  func(in, out *os.File) error { return s.ServeStdio(b.Context(), in, out) },
	} {
		b.Run(name, func(b *testing.B) {
			inR, inW, err := os.Pipe()
			if err != nil {
				b.Fatal(err)
			}
			outR, outW, err := os.Pipe()
			if err != nil {
				b.Fatal(err)
			}
			done := make(chan error, 1)
			go func() { done <- serve(inR, outW) }()
			fs := frames(20000)
			if name == "draft" {
				fs = draftFrames(20000, denyCaps, "")
			}
			answers := bufio.NewReaderSize(outR, 64<<10)
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				if _, err := inW.Write(fs[i%len(fs)]); err != nil {
					b.Fatal(err)
				}
				if line, err := answers.ReadSlice('\n'); err != nil || !bytes.HasPrefix(line, []byte(`{"jsonrpc"`)) {
					b.Fatalf("%s, %v", line, err)
				}
				i++
			}
			for _, f := range []*os.File{inW, outR, inR, outW} {
				if f == inR {
					if err := <-done; err != nil {
						b.Fatal(err)
					}
				}
				_ = f.Close()
			}
		})
	}
}

// BenchmarkHTTP is one round trip over loopback to a real server, beside an echo.
func BenchmarkHTTP(b *testing.B) {
	s := newServer(b, allow, backend.Options{Versions: []ahp.Version{ahp.Version01, ahp.VersionDraft}})
	for name, h := range map[string]http.Handler{
		"echo": http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			if err != nil {
				b.Error(err)
			}
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(body)
		}),
		"server": s,
		"draft":  s,
	} {
		b.Run(name, func(b *testing.B) {
			srv := httptest.NewServer(h)
			defer srv.Close()
			fs := frames(20000)
			if name == "draft" {
				fs = draftFrames(20000, denyCaps, "")
			}
			b.ReportAllocs()
			i := 0
			for b.Loop() {
				resp, err := srv.Client().Post(srv.URL, "application/json", bytes.NewReader(fs[i%len(fs)]))
				if err != nil {
					b.Fatal(err)
				}
				if _, err := io.Copy(io.Discard, resp.Body); err != nil || resp.StatusCode != http.StatusOK {
					b.Fatal(resp.Status, err)
				}
				_ = resp.Body.Close()
				i++
			}
		})
	}
}
