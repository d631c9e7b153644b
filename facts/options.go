package facts

import (
	"context"
	"time"

	"github.com/holdpoint/holdpoint/shell"
)

// Options say what [Extract] may know beside the event. The zero value is
// usable: no home folder, no disk, no detector.
type Options struct {
	// Home is the home folder of the user that the agent runs as. Paths that
	// start with ~ stay unresolved without it.
	Home string

	// Roots are the workspace roots to use when the event names none. Roots of
	// either source that are /, a home or a system folder are left out: a
	// workspace that holds everything would make every path harmless.
	Roots []string

	// Env returns known values of environment variables. Nil knows none.
	Env func(name string) (string, bool)

	// TempDirs are scratch folders. Nil means those of [shell.Options].
	TempDirs []string

	// FS follows links on disk, for tools and commands alike. Nil touches no
	// disk.
	FS shell.FS

	// FSLimit bounds one look at the disk. Zero means [shell.DefaultFSLimit].
	FSLimit time.Duration

	// CaseInsensitive compares paths without case, as macOS and Windows do.
	CaseInsensitive bool

	// Dialect is the shell that runs the text of shell tools whose name does not
	// say. Unknown means that the dialect is assumed and marked so.
	Dialect shell.Dialect

	// Programs extends what is known of programs. Nil means the table of [shell]
	// alone. A policy has its own: policy.Set.Programs.
	Programs *shell.Programs

	// ShellLimits bounds the analysis of one command line.
	ShellLimits shell.Limits

	// Secrets looks for secret values in the strings of the input. Nil finds
	// none: leave it nil when no rule reads them. It must be safe for concurrent
	// use and must not block beyond ctx.
	Secrets SecretFinder

	// GuardPaths are the absolute paths of the gate's own files (policies,
	// registration, state). Changing them is a hazard whatever the tool.
	GuardPaths []string

	// Limits bounds the work of one [Extract]. Zero fields mean the defaults.
	Limits Limits
}

// A SecretFinder returns the secret values in text, as byte ranges, in order of
// Start. It never returns the values. facts/secret has one.
type SecretFinder func(ctx context.Context, text string) ([]SecretMatch, error)

// A SecretMatch is one secret value in a text.
type SecretMatch struct {
	Kind       string // the detector's rule, for example github-pat
	Start, End int    // byte offsets
}

// Limits bounds the work of one [Extract]. Each breach is named in
// [Facts.Breach], and the event is then refused whatever the rules say.
type Limits struct {
	Files   int // files of one event; default 4,096
	URLs    int // addresses of one event; default 4,096
	Strings int // strings of the input that are looked at; default 65,536
	Secrets int // secrets of one event; default 256
}

// The default bounds of [Limits].
const (
	DefaultFiles   = 4_096
	DefaultURLs    = 4_096
	DefaultStrings = 65_536
	DefaultSecrets = 256
)

func (l Limits) complete() Limits {
	if l.Files <= 0 {
		l.Files = DefaultFiles
	}
	if l.URLs <= 0 {
		l.URLs = DefaultURLs
	}
	if l.Strings <= 0 {
		l.Strings = DefaultStrings
	}
	if l.Secrets <= 0 {
		l.Secrets = DefaultSecrets
	}
	return l
}
