package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Limits of an [Entry]. They are part of the stored format: a reader may rely
// on them.
const (
	// MaxDataBytes bounds Entry.Data.
	MaxDataBytes = 64 << 10
	// MaxColumnBytes bounds each text column.
	MaxColumnBytes = 256
	// MaxCodes bounds the number of codes in each list.
	MaxCodes = 64
	// MaxCodeBytes bounds one code.
	MaxCodeBytes = 128
	// MaxVersion bounds Entry.Version.
	MaxVersion = 1<<16 - 1
)

// An ID is the place of an entry in its log: 0 for the first, without gaps. It
// is the index of the entry's leaf in the tree.
type ID int64

// Pending is the ID of an entry that was accepted and has no place yet; see
// [Batch].
const Pending ID = -1

// A Kind says what an entry records. It is a short lower-case word.
type Kind string

// The kinds that Holdpoint writes. Other kinds are accepted if they have the
// same form, except [Retention], which only a log itself writes.
const (
	Settlement Kind = "settlement" // one operation was settled
	Reload     Kind = "reload"     // the policy was loaded, or refused
	Fallback   Kind = "fallback"   // a hook client decided by itself
	Start      Kind = "start"      // a gateway began
	Stop       Kind = "stop"       // a gateway ended in order
	AgentHooks Kind = "agenthooks" // an Agent Hooks record
	Retention  Kind = "retention"  // old entries were pruned
)

// An Entry is what a caller appends. A log copies it; later changes have no
// effect.
//
// Entries must be free of payloads, secrets and file contents: they are kept
// for long, and shown.
type Entry struct {
	// Version names the format of Data for this Kind: 1 to MaxVersion.
	Version int
	// Kind is required.
	Kind Kind
	// Time is when it happened, at nanosecond precision in UTC. A log fills in
	// the present for the zero time.
	Time time.Time
	// Key makes an append idempotent: a second entry with the same non-empty
	// key is not written, and the append returns the ID of the first. Keys of
	// pruned entries are forgotten.
	Key string

	// The columns to search by. Each may be empty. None may hold control
	// characters or invalid UTF-8; see [Entry.Fit].
	Session   string
	Agent     string
	Event     string
	Tool      string
	Operation string
	Decision  string
	Rules     []string
	Hazards   []string
	Flags     []string // such as "failed-open" or "synthetic"

	// Data is the record itself, at most MaxDataBytes.
	Data []byte
}

// A Record is an entry that was read from a log.
type Record struct {
	ID ID
	Entry
}

// Validate reports everything that is wrong with e in one error, which wraps
// [ErrInvalid], or nil. It names columns and lengths, never contents.
func (e *Entry) Validate() error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if e.Version < 1 || e.Version > MaxVersion {
		bad("version: %d is not within 1 to %d", e.Version, MaxVersion)
	}
	if !validKind(e.Kind) {
		bad("kind: want a lower-case word of at most 32 letters, digits and hyphens")
	}
	if !e.Time.IsZero() && !e.Time.Equal(time.Unix(0, e.Time.UnixNano())) {
		bad("time: outside the years 1678 to 2262")
	}
	for _, c := range e.columns() {
		if err := checkText(*c.text, MaxColumnBytes); err != nil {
			bad("%s: %w", c.name, err)
		}
	}
	for _, l := range e.lists() {
		if len(*l.codes) > MaxCodes {
			bad("%s: %d codes, at most %d", l.name, len(*l.codes), MaxCodes)
			continue
		}
		for i, code := range *l.codes {
			if code == "" {
				bad("%s[%d]: empty", l.name, i)
			} else if err := checkText(code, MaxCodeBytes); err != nil {
				bad("%s[%d]: %w", l.name, i, err)
			}
		}
	}
	if len(e.Data) > MaxDataBytes {
		bad("data: %d bytes, at most %d", len(e.Data), MaxDataBytes)
	}
	if errs == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrInvalid, errors.Join(errs...))
}

// Fit returns e with its columns and codes brought within the limits, for
// values that come from outside and are hostile until shown otherwise: control
// characters and invalid UTF-8 become U+FFFD, and what is too long is cut and
// ends in "~" and a digest of the whole, so that two different values stay
// different and equal ones can still be found. Empty codes and codes past
// MaxCodes are dropped. Data is left as it is.
//
// To search for such a value, pass the filter through [Filter.Fit].
func (e Entry) Fit() Entry {
	for _, c := range e.columns() {
		*c.text = fitText(*c.text, MaxColumnBytes)
	}
	for _, l := range e.lists() {
		in := *l.codes
		if len(in) <= MaxCodes && !slices.ContainsFunc(in, func(code string) bool { return code == "" || checkText(code, MaxCodeBytes) != nil }) {
			continue
		}
		*l.codes = nil
		for _, code := range in {
			if code != "" && len(*l.codes) < MaxCodes {
				*l.codes = append(*l.codes, fitText(code, MaxCodeBytes))
			}
		}
	}
	return e
}

type column struct {
	name string
	text *string
}

// columns are e's text columns in the order of the leaf format.
func (e *Entry) columns() []column {
	return []column{
		{"key", &e.Key},
		{"session", &e.Session},
		{"agent", &e.Agent},
		{"event", &e.Event},
		{"tool", &e.Tool},
		{"operation", &e.Operation},
		{"decision", &e.Decision},
	}
}

type list struct {
	name  string
	codes *[]string
}

// lists are e's lists of codes in the order of the leaf format.
func (e *Entry) lists() []list {
	return []list{
		{"rules", &e.Rules},
		{"hazards", &e.Hazards},
		{"flags", &e.Flags},
	}
}

func validKind(k Kind) bool {
	if k == "" || len(k) > 32 || k[0] < 'a' || k[0] > 'z' {
		return false
	}
	for i := range len(k) {
		c := k[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' {
			return false
		}
	}
	return true
}

func checkText(s string, limit int) error {
	switch {
	case len(s) > limit:
		return fmt.Errorf("%d bytes, at most %d", len(s), limit)
	case printable(s): // most are
		return nil
	case !utf8.ValidString(s):
		return errors.New("not valid UTF-8")
	case strings.ContainsFunc(s, isControl):
		return errors.New("holds a control character")
	}
	return nil
}

// printable reports whether s has printable ASCII only.
func printable(s string) bool {
	for i := range len(s) {
		if s[i] < 0x20 || s[i] >= 0x7f {
			return false
		}
	}
	return true
}

func isControl(r rune) bool { return r < 0x20 || r >= 0x7f && r < 0xa0 }

func fitText(s string, limit int) string {
	if checkText(s, limit) == nil {
		return s
	}
	clean := strings.Map(func(r rune) rune {
		if isControl(r) {
			return utf8.RuneError
		}
		return r
	}, strings.ToValidUTF8(s, string(utf8.RuneError)))
	// The digest is of the original, also when only its characters changed:
	// two values that clean up alike must not be taken for one.
	sum := sha256.Sum256([]byte(s))
	tail := "~" + hex.EncodeToString(sum[:8])
	cut := min(len(clean), limit-len(tail))
	for cut > 0 && cut < len(clean) && !utf8.RuneStart(clean[cut]) {
		cut--
	}
	return clean[:cut] + tail
}
