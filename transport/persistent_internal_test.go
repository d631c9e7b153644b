package transport

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"os"
	"testing"

	"github.com/holdpoint/holdpoint/ahp"
)

// talk returns a conn to nothing but a pipe, and what is written to it.
func talk(t *testing.T) (*conn, *bufio.Reader) {
	t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close(); w.Close() })
	return newConn(&process{stdin: w}, Options{}.complete()), bufio.NewReader(r)
}

// A process that we end is no lost connection, whichever of the two its question
// sees first: a lost connection may be tried again.
func TestAskWhenWeEndTheProcess(t *testing.T) {
	x := &Exchange{ID: "a", Frame: []byte("{}"), Accept: func([]byte) *ahp.Failure { t.Error("an answer"); return nil }}
	k, sent := talk(t)
	for range 200 {
		own, end := context.WithCancel(t.Context())
		said := make(chan struct{})
		go func() {
			defer close(said)
			_, _ = sent.ReadSlice('\n')
			end()
			k.mu.Lock()
			k.lost = &ahp.Failure{Class: ahp.FailConnection, Err: errLost}
			k.mu.Unlock()
			k.done <- struct{}{}
		}()
		if f, _ := k.ask(t.Context(), own, x); f == nil || f.Class != ahp.FailShutdown {
			t.Fatal(f)
		}
		<-said
	}
	k.gone = true
	own, end := context.WithCancel(t.Context())
	if f, _ := k.ask(t.Context(), own, x); f == nil || f.Class != ahp.FailConnection {
		t.Errorf("it ended by itself: %v", f)
	}
	end()
	if f, _ := k.ask(t.Context(), own, x); f == nil || f.Class != ahp.FailShutdown {
		t.Errorf("it was ended: %v", f)
	}
}

// A question that ends together with its write leaves nothing behind that would end
// the write of the next one.
func TestWriteIsEndedByItsOwnQuestionAlone(t *testing.T) {
	k, sent := talk(t)
	read := make(chan struct{})
	go func() { _, _ = io.Copy(io.Discard, sent); close(read) }()
	frame := bytes.Repeat([]byte("x"), 5<<10)
	for range 1000 {
		ctx, cancel := context.WithCancel(t.Context())
		go cancel()
		_ = k.write(ctx, t.Context(), frame) // it may have been in time or not
		for range 3 {
			if f := k.write(t.Context(), t.Context(), frame); f != nil {
				t.Fatal(f)
			}
		}
		<-ctx.Done()
	}
	k.p.stdin.Close()
	<-read
}
