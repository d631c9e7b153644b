package audit

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"
)

const (
	// SpoolLineBytes is the size of a line in a spool, its newline included.
	SpoolLineBytes = 256
	// DefaultSpoolGrace is how long a spool stays after it was taken.
	DefaultSpoolGrace = 10 * time.Second

	// maxTornBytes bounds what one entry keeps of something that is no line.
	maxTornBytes = 4096
	takenSuffix  = ".taken"
)

// A SpoolLine is one line of a spool, or what is left of one.
type SpoolLine struct {
	Data []byte // without the newline
	Torn bool   // not a whole line: its writer was stopped, or it is no spool line at all
}

// SpoolOptions configures [IngestSpool].
type SpoolOptions struct {
	// Entry makes an entry of a line, which is opaque here. The entry's Key is
	// replaced. Nil, or an entry that is not valid, gives an entry of kind
	// [Fallback] with the line as its Data and the flag "unreadable", so that no
	// line is lost.
	Entry func(SpoolLine) Entry
	// Grace is how long a spool is kept, and read again at each call, after it
	// was taken: a client that had opened it before may still write to it. 0
	// means DefaultSpoolGrace.
	Grace time.Duration
}

// Ingested says what [IngestSpool] did.
type Ingested struct {
	Lines int // whole lines that were seen, also those that were in the log before
	Torn  int // torn ones
	Kept  int // files that stay for their grace; call again
}

// IngestSpool appends the lines of the spool at path to log, each exactly once
// however often it is stopped and called again, and then removes them. It is
// called at the start of a gateway and from time to time; calls for one path
// must not overlap.
//
// A spool is a file of lines of SpoolLineBytes that clients append to, each
// line in one write. IngestSpool renames it, so that new lines go to a new
// file; appends each line under a key made of that new name and the line's
// offset; and removes the file when its grace is over and the log has it all on
// stable storage. A missing spool is no error. A spool that is not a plain file
// of this user, or that others may write, is refused.
func IngestSpool(ctx context.Context, log Log, path string, o SpoolOptions) (Ingested, error) {
	o.Grace = cmp.Or(o.Grace, DefaultSpoolGrace)
	done, err := ingestSpool(ctx, log, path, o)
	if err != nil {
		return done, fmt.Errorf("spool: %w", err)
	}
	return done, nil
}

func ingestSpool(ctx context.Context, log Log, path string, o SpoolOptions) (Ingested, error) {
	var done Ingested
	if err := takeSpool(path); err != nil {
		return done, err
	}
	files, err := takenSpools(path)
	if err != nil {
		return done, err
	}
	for _, file := range files {
		// Judged before reading: what is written until then is read.
		ripe := !time.Now().Before(takenAt(path, file).Add(o.Grace))
		if err := ingestFile(ctx, log, path, file, ripe, o.Entry, &done); err != nil {
			return done, err
		}
		if !ripe {
			done.Kept++
			continue
		}
		// A checkpoint is given out only when all entries are on stable storage.
		if _, err := log.Checkpoint(ctx); err != nil {
			return done, err
		}
		if err := os.Remove(file); err != nil {
			return done, err
		}
	}
	return done, nil
}

// takeSpool renames the spool, if there is one, to a name that was never used.
func takeSpool(path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if err := checkSpool(path, info); err != nil {
		return err
	}
	var id [8]byte
	_, _ = rand.Read(id[:]) // never fails
	name := fmt.Sprintf("%s.%020d-%s%s", path, time.Now().UnixNano(), hex.EncodeToString(id[:]), takenSuffix)
	if err := os.Rename(path, name); err != nil {
		return err
	}
	// Were the new name lost with the power, its lines would come again under
	// another.
	return syncDir(filepath.Dir(path))
}

// takenSpools lists the spools that were taken, oldest first.
func takenSpools(path string) ([]string, error) {
	list, err := os.ReadDir(filepath.Dir(path))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var files []string
	for _, e := range list {
		if strings.HasPrefix(e.Name(), filepath.Base(path)+".") && strings.HasSuffix(e.Name(), takenSuffix) {
			files = append(files, filepath.Join(filepath.Dir(path), e.Name()))
		}
	}
	slices.Sort(files)
	return files, nil
}

// takenID is the part of a taken spool's name that takeSpool made.
func takenID(path, file string) string {
	return strings.TrimSuffix(strings.TrimPrefix(filepath.Base(file), filepath.Base(path)+"."), takenSuffix)
}

// takenAt is when the spool was taken. A name that says otherwise, or a clock
// that was set back, must not keep it for ever.
func takenAt(path, file string) time.Time {
	stamp, _, _ := strings.Cut(takenID(path, file), "-")
	nanos, err := strconv.ParseInt(stamp, 10, 64)
	if at := time.Unix(0, nanos); err == nil && at.Before(time.Now()) {
		return at
	}
	return time.Time{}
}

func ingestFile(ctx context.Context, log Log, path, file string, last bool, entry func(SpoolLine) Entry, done *Ingested) (err error) {
	info, err := os.Lstat(file)
	if err != nil {
		return err
	}
	if err := checkSpool(file, info); err != nil {
		return err
	}
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	if now, err := f.Stat(); err != nil || !os.SameFile(info, now) {
		return errors.Join(fmt.Errorf("%s: changed while it was opened", file), err)
	}

	id := takenID(path, file)
	buf := make([]byte, 0, 64<<10)
	offset := int64(0) // of buf in the file
	for eof := false; !eof; {
		n, err := f.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if eof = errors.Is(err, io.EOF); err != nil && !eof {
			return err
		}
		rest := buf
		for {
			line, size, ok := nextSpoolLine(rest, eof && last)
			if !ok {
				break
			}
			e := spoolEntry(line, entry)
			e.Key = fmt.Sprintf("spool:%s:%d", id, offset+int64(len(buf)-len(rest)))
			if _, err := log.Append(ctx, e); err != nil {
				return err
			}
			if line.Torn {
				done.Torn++
			} else {
				done.Lines++
			}
			rest = rest[size:]
		}
		offset += int64(len(buf) - len(rest))
		buf = buf[:copy(buf[:cap(buf)], rest)]
	}
	return nil
}

// spoolEntry makes an entry of a line. The log keeps no part of line.
func spoolEntry(line SpoolLine, entry func(SpoolLine) Entry) Entry {
	line.Data = bytes.Clone(line.Data)
	if entry != nil {
		e := entry(line)
		e.Key = ""
		if e.Kind != Retention && e.Validate() == nil {
			return e
		}
	}
	return Entry{Version: 1, Kind: Fallback, Flags: []string{"unreadable"}, Data: line.Data}
}

// nextSpoolLine takes the next line off b, and reports how many bytes it took.
// It is false if more must be read first. What it takes depends on the bytes
// from here on alone, not on how many of them there are yet, so that reading
// again finds the same lines at the same offsets.
//
// A line is a newline and the 255 bytes before it. If a writer was stopped in
// the middle, the line of the next follows what is left of his: those bytes are
// taken as a torn line of their own.
func nextSpoolLine(b []byte, last bool) (line SpoolLine, size int, ok bool) {
	const body = SpoolLineBytes - 1
	end := bytes.IndexByte(b[:min(len(b), maxTornBytes+SpoolLineBytes)], '\n')
	switch {
	case end == body:
		return SpoolLine{Data: b[:body]}, SpoolLineBytes, true
	case end > body:
		return SpoolLine{Data: b[:end-body], Torn: true}, end - body, true
	case end >= 0:
		return SpoolLine{Data: b[:end], Torn: true}, end + 1, true
	case len(b) >= maxTornBytes+SpoolLineBytes:
		return SpoolLine{Data: b[:maxTornBytes], Torn: true}, maxTornBytes, true
	case last && len(b) > 0:
		size = min(len(b), maxTornBytes)
		return SpoolLine{Data: b[:size], Torn: true}, size, true
	}
	return SpoolLine{}, 0, false
}
