package wire01

import "github.com/holdpoint/holdpoint/ahp/internal/walk"

// Limits bounds one message or document. A zero or negative field means the
// default.
type Limits struct {
	MaxBytes   int // length of the text; default [DefaultMaxBytes]
	MaxDepth   int // nested objects and arrays, the outermost counts 1; default [DefaultMaxDepth]
	MaxMembers int // members of one object; default [DefaultMaxMembers]
	MaxItems   int // items of one array; default [DefaultMaxItems]

	// SingleLine refuses a raw line feed anywhere in the text (V-IO-1). A reader
	// that splits its input at line feeds needs no such check; one that reads to
	// EOF does. One line feed at the very end is the message's own terminator.
	SingleLine bool
}

// The default limits.
const (
	DefaultMaxBytes   = 4 << 20
	DefaultMaxDepth   = 128
	DefaultMaxMembers = 10_000
	DefaultMaxItems   = 100_000
)

func (l Limits) complete() walk.Limits {
	set := func(p *int, d int) {
		if *p <= 0 {
			*p = d
		}
	}
	set(&l.MaxBytes, DefaultMaxBytes)
	set(&l.MaxDepth, DefaultMaxDepth)
	set(&l.MaxMembers, DefaultMaxMembers)
	set(&l.MaxItems, DefaultMaxItems)
	return walk.Limits(l)
}
