package main

import (
	"context"
	"errors"
	"io"
)

// errInterrupted ends a read of stdin.
var errInterrupted = errors.New("interrupted")

// stdin is the input as a reader that ends when ctx does, also while nobody types:
// one ctrl-C must do. It is closed by the caller.
func (a *app) stdin(ctx context.Context) io.ReadCloser {
	r, w := io.Pipe()
	stop := context.AfterFunc(ctx, func() { w.CloseWithError(errInterrupted) })
	// Nothing ends a read of a terminal, so this may wait for as long as the process
	// lives; it holds nothing, and what it reads then goes nowhere.
	go func() {
		defer stop()
		_, err := io.Copy(w, a.in)
		w.CloseWithError(err) // nil is the end
	}()
	return r
}
