package shell

import (
	"context"
	"time"
)

// FS is the view of the disk that [Analyze] may use to follow links. Calls must
// not block for longer than the given limit; one that would, returns an error,
// and the path counts as unresolved.
type FS interface {
	// Readlink returns the target of the link name, ok=false when name is no
	// link or does not exist, and an error when that cannot be told in time.
	Readlink(name string, limit time.Duration) (target string, ok bool, err error)
}

// Options say where a command line would run. The zero value is usable: no
// working folder, no workspace, no disk.
type Options struct {
	Dialect Dialect
	// CWD is the absolute folder that the command starts in.
	CWD string
	// Roots are the absolute workspace roots.
	Roots []string
	// Home is the user's home folder.
	Home string
	// Env returns known values of environment variables. Nil knows none.
	Env func(name string) (string, bool)
	// TempDirs are scratch folders. Nil means /tmp and /var/tmp, or the
	// Windows ones for the Windows dialects.
	TempDirs []string
	// FS follows links on disk. Nil touches no disk.
	FS FS
	// FSLimit bounds one look at the disk. Zero means [DefaultFSLimit].
	FSLimit time.Duration
	// CaseInsensitive compares paths without case, as macOS and Windows do.
	CaseInsensitive bool
	// Programs extends the table of programs. Nil means the table alone.
	Programs *Programs
	// Limits bounds the work. Zero fields mean the defaults.
	Limits Limits
}

// Limits bounds the work of one [Analyze]. Each breach is recorded.
type Limits struct {
	Bytes     int // size of one text; default 1 MiB
	Depth     int // scripts inside scripts; default 16
	Nodes     int // commands and words judged in all; default 200,000
	Expansion int // fields one word may give; default 20,000
}

// The default bounds.
const (
	DefaultBytes     = 1 << 20
	DefaultDepth     = 16
	DefaultNodes     = 200_000
	DefaultExpansion = 20_000
	DefaultFSLimit   = 50 * time.Millisecond
)

func (l Limits) complete() Limits {
	if l.Bytes <= 0 {
		l.Bytes = DefaultBytes
	}
	if l.Depth <= 0 {
		l.Depth = DefaultDepth
	}
	if l.Nodes <= 0 {
		l.Nodes = DefaultNodes
	}
	if l.Expansion <= 0 {
		l.Expansion = DefaultExpansion
	}
	return l
}

// Analyze tells what text would do if the shell ran it. It runs nothing and is
// safe for concurrent use. It always returns a result: text that it cannot read,
// and every bound that it hits (ctx's end among them), is recorded in the result.
func Analyze(ctx context.Context, text string, opts Options) (r *Result) {
	m := begin(ctx, &opts)
	// A fault in the reader of hostile text must refuse that text, not end the
	// process that guards all sessions.
	defer func() {
		if recover() != nil {
			m.breach("fault", Span{0, len(text)})
			r = m.finish() // and the memory is not used again
		}
	}()
	switch {
	case len(text) > m.lim.Bytes:
		m.breach("bytes", Span{0, len(text)})
	case ctx.Err() != nil:
		m.breach("time", Span{0, len(text)})
	case opts.Dialect == Unknown:
		r = m.runUnknown(text)
	default:
		m.runDialect(text)
	}
	if r == nil {
		r = m.finish()
	}
	m.end()
	return r
}

// Resolve judges one path outside of any command line, as [Analyze] judges a
// quoted operand: relative to CWD, `~` taken literally, links followed on disk
// when opts has an FS.
func Resolve(path string, opts Options) Path {
	m := begin(context.Background(), &opts)
	p := newFrame(m).resolve(lit(literal(path)))
	m.end()
	return p
}
