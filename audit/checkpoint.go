package audit

import (
	"crypto/ed25519"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"golang.org/x/mod/sumdb/note"
	"golang.org/x/mod/sumdb/tlog"
)

// MaxCheckpointBytes bounds the text of a checkpoint.
const MaxCheckpointBytes = 4 << 10

// A Checkpoint is a signed head of a log's tree: how many entries there were
// and the hash over all of them. Keep its Note somewhere else and give it to
// Verify later.
type Checkpoint struct {
	Origin string    // names the log
	Size   int64     // number of entries
	Root   Hash      // root of the tree over them
	Time   time.Time // when it was signed, to the second
	Note   string    // the signed text; ends in a newline
}

// A Key signs the heads of one log. It is safe for concurrent use.
type Key struct {
	text     string
	verifier string
	signer   note.Signer
}

// NewKey makes a key, and with it the name of a new log.
func NewKey() (*Key, error) {
	var id [8]byte
	_, _ = rand.Read(id[:]) // never fails
	text, _, err := note.GenerateKey(rand.Reader, "holdpoint-audit-"+hex.EncodeToString(id[:]))
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrKey, err)
	}
	return ParseKey(text)
}

// ParseKey reads the text of [Key.Secret]. The error wraps [ErrKey] and tells
// nothing of the text.
func ParseKey(text string) (*Key, error) {
	text = strings.TrimSpace(text)
	signer, err := note.NewSigner(text)
	if err != nil {
		return nil, fmt.Errorf("%w: not a signing key", ErrKey)
	}
	// The form is PRIVATE+KEY+name+hash+base64, and base64 may hold a "+" too.
	fields := strings.SplitN(text, "+", 5)
	seed, err := base64.StdEncoding.DecodeString(fields[len(fields)-1])
	if err != nil {
		return nil, fmt.Errorf("%w: not a signing key", ErrKey)
	}
	if len(seed) != 1+ed25519.SeedSize {
		return nil, fmt.Errorf("%w: not an Ed25519 key", ErrKey)
	}
	public := ed25519.NewKeyFromSeed(seed[1:]).Public().(ed25519.PublicKey)
	verifier, err := note.NewEd25519VerifierKey(signer.Name(), public)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrKey, err)
	}
	return &Key{text: text, verifier: verifier, signer: signer}, nil
}

// Secret returns the text of the key, for a file that only its owner can read.
func (k *Key) Secret() string { return k.text }

// Verifier returns the public key as text (a note verifier key). It may be
// given to anyone.
func (k *Key) Verifier() string { return k.verifier }

// Origin names the log that the key belongs to.
func (k *Key) Origin() string { return k.signer.Name() }

// Sign makes a checkpoint of t.
func (k *Key) Sign(t *Tree, now time.Time) (Checkpoint, error) {
	c := Checkpoint{Origin: k.Origin(), Size: t.Size(), Root: t.Root(), Time: now.UTC().Truncate(time.Second)}
	text, err := note.Sign(&note.Note{Text: c.body()}, k.signer)
	if err != nil {
		return Checkpoint{}, fmt.Errorf("sign checkpoint: %w", err)
	}
	c.Note = string(text)
	return c, nil
}

func (c *Checkpoint) body() string {
	return fmt.Sprintf("%s\n%d\n%s\ntime %s\n", c.Origin, c.Size, c.Root, c.Time.Format(time.RFC3339))
}

var (
	errCheckpoint = errors.New("not a checkpoint: want origin, size, root hash and time, each on a line, and a signature")
	errSignature  = errors.New("the checkpoint is not signed by a key that is trusted here")
)

// ParseCheckpoint reads a checkpoint and checks its signature against the
// given verifier keys (see [Key.Verifier]); one of them must have signed it.
// The errors quote nothing of the text.
func ParseCheckpoint(text string, keys ...string) (Checkpoint, error) {
	if len(text) > MaxCheckpointBytes {
		return Checkpoint{}, fmt.Errorf("checkpoint: %d bytes, at most %d", len(text), MaxCheckpointBytes)
	}
	var list []note.Verifier
	seen := map[string]bool{}
	for _, key := range keys {
		key = strings.TrimSpace(key)
		if seen[key] {
			continue // twice the same key would be ambiguous
		}
		seen[key] = true
		v, err := note.NewVerifier(key)
		if err != nil {
			return Checkpoint{}, fmt.Errorf("%w: not a verifier key", ErrKey)
		}
		list = append(list, v)
	}
	n, err := note.Open([]byte(text), note.VerifierList(list...))
	if err != nil {
		var unverified *note.UnverifiedNoteError
		var invalid *note.InvalidSignatureError
		if errors.As(err, &unverified) || errors.As(err, &invalid) {
			return Checkpoint{}, errSignature
		}
		return Checkpoint{}, errCheckpoint
	}
	c, err := parseBody(n.Text)
	if err != nil {
		return Checkpoint{}, err
	}
	// A key that is trusted for one log must not speak for another.
	for _, sig := range n.Sigs {
		if sig.Name == c.Origin {
			c.Note = text
			return c, nil
		}
	}
	return Checkpoint{}, errSignature
}

func parseBody(text string) (Checkpoint, error) {
	lines := strings.Split(text, "\n")
	if len(lines) != 5 || lines[0] == "" || lines[4] != "" {
		return Checkpoint{}, errCheckpoint
	}
	size, err := strconv.ParseInt(lines[1], 10, 64)
	if err != nil || size < 0 {
		return Checkpoint{}, errCheckpoint
	}
	root, err := tlog.ParseHash(lines[2])
	if err != nil {
		return Checkpoint{}, errCheckpoint
	}
	stamp, ok := strings.CutPrefix(lines[3], "time ")
	if !ok {
		return Checkpoint{}, errCheckpoint
	}
	at, err := time.Parse(time.RFC3339, stamp)
	if err != nil {
		return Checkpoint{}, errCheckpoint
	}
	c := Checkpoint{Origin: lines[0], Size: size, Root: root, Time: at.UTC()}
	// One checkpoint has one text: no other spelling of a number or a time.
	if c.body() != text {
		return Checkpoint{}, errCheckpoint
	}
	return c, nil
}
