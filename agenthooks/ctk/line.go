package ctk

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/go-json-experiment/json"
)

// lines reads and writes the lines of one peer. Reading is for one goroutine;
// writing may be concurrent.
type lines struct {
	r    *bufio.Reader
	size int // bytes of all lines that were read

	mu sync.Mutex
	w  io.Writer
}

func newLines(r io.Reader, w io.Writer) *lines {
	return &lines{r: bufio.NewReaderSize(r, 64<<10), w: w}
}

// errLong reports a line over the limit. What follows cannot be told from its
// rest, so the peer is lost.
var errLong = fmt.Errorf("a line is longer than %d bytes", maxLineBytes)

// read returns the next line that is not blank; its memory is the caller's.
func (l *lines) read() ([]byte, error) {
	for {
		var line []byte
		for {
			part, err := l.r.ReadSlice('\n')
			if len(line)+len(part) > maxLineBytes {
				return nil, errLong
			}
			line = append(line, part...)
			if err == nil {
				break
			}
			if errors.Is(err, bufio.ErrBufferFull) {
				continue
			}
			if errors.Is(err, io.EOF) && len(bytes.TrimSpace(line)) > 0 {
				break // the last line needs no end; a cut one is no JSON
			}
			return nil, err
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			l.size += len(line)
			return line, nil
		}
	}
}

func (l *lines) write(m any) error {
	text, err := json.Marshal(m)
	if err != nil {
		return err
	}
	if len(text) >= maxLineBytes {
		return errLong
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err = l.w.Write(append(text, '\n'))
	return err
}
