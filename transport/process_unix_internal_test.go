//go:build linux || darwin

package transport

import (
	"bytes"
	"errors"
	"os"
	"testing"
)

// What a child wrote before it ended is read, although somebody else holds its
// output open and the one who reads has not begun.
func TestCutOffLosesNothing(t *testing.T) {
	for _, want := range []int{0, 1, 60 << 10} { // a pipe holds 64 KiB
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write(bytes.Repeat([]byte("x"), want)); err != nil {
			t.Fatal(err)
		}
		cutOff(r)
		var got bytes.Buffer
		if err := copyOutput(&got, r); err != nil || got.Len() != want {
			t.Errorf("%d bytes of %d, %v", got.Len(), want, err)
		}
		r.Close()
		w.Close()
	}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer w.Close()
	defer r.Close()
	if _, err := w.WriteString("too long"); err != nil {
		t.Fatal(err)
	}
	cutOff(r)
	if err := copyOutput(&limited{buf: new(bytes.Buffer), left: 3}, r); !errors.Is(err, errTooLong) {
		t.Errorf("over the limit: %v", err)
	}
}
