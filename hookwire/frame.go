package hookwire

import (
	"errors"
	"io"
	"strconv"
)

// Version is the frame version that this package writes.
const Version = 1

// The frame's fixed numbers. All sizes are in bytes.
const (
	MaxHeaderBytes  = 4 << 10 // the JSON header of a request
	MaxPayloadBytes = 8 << 20 // the payload, unless the reader says otherwise
	MaxStdoutBytes  = 8 << 20 // stdout of an answer; a rewritten input can be as large as a payload
	MaxStderrBytes  = 64 << 10

	// PrefixBytes is the most that precedes a payload in a request.
	PrefixBytes = len(magic) + 4 + MaxHeaderBytes + 4
	answerHead  = len(magic) + 4 + 4 + 4
	magic       = "HPH1"
	chunk       = 64 << 10 // memory is taken in such steps, so that a length alone costs nothing
)

// Status says what an answer means. The zero value is not a status, and a client
// treats every status but [StatusAnswer] as no answer.
type Status uint8

// The statuses.
const (
	StatusAnswer    Status = 1 // stdout, stderr and exit code are what the agent must get
	StatusVersion   Status = 2 // the server does not serve this layout or version
	StatusBusy      Status = 3 // the server is overloaded or shutting down
	StatusMalformed Status = 4 // the request is no frame
	StatusTooLarge  Status = 5 // the payload is beyond the server's limit: refused whatever the policy
	StatusInternal  Status = 6 // a fault of the server
)

// Known reports whether s is a status of this version.
func (s Status) Known() bool { return s >= StatusAnswer && s <= StatusInternal }

// A Request is what the client sends.
type Request struct {
	Header  Header
	Payload []byte // the agent's bytes, unread
}

// An Answer is what the server sends back. Stdout, Stderr and ExitCode are empty
// unless Status is [StatusAnswer].
type Answer struct {
	Status   Status
	ExitCode uint8
	Server   uint8 // the server's frame version; for diagnosis only
	Stdout   []byte
	Stderr   []byte
}

// ErrMalformed reports bytes that are no frame: a wrong magic, a cut-off part, a
// header that is not the JSON it must be.
var ErrMalformed = errors.New("hookwire: malformed frame")

// A TooLargeError reports a part of a frame that is beyond its limit. It is not
// malformed: a payload that is too large is refused whatever the failure policy
// says (design decision 4).
type TooLargeError struct {
	Part  string // "header", "payload", "stdout" or "stderr"
	Size  int64  // what the frame announced
	Limit int64
}

// Error says which part is too large, and by how much.
func (e *TooLargeError) Error() string {
	return "hookwire: " + e.Part + " of " + strconv.FormatInt(e.Size, 10) +
		" bytes is above the limit of " + strconv.FormatInt(e.Limit, 10)
}

// A VersionError reports a peer whose layout or version is not served here.
type VersionError struct {
	Layout  byte // the digit of the magic, '1' for this layout
	Version int  // the header's version; -1 when the layout was not read
}

// Error names the layout and the version.
func (e *VersionError) Error() string {
	return "hookwire: layout HPH" + string(rune(e.Layout)) + " version " + strconv.Itoa(e.Version) + " is not served"
}

// StatusOf returns the status with which a server answers an error of
// [ReadRequest].
func StatusOf(err error) Status {
	var large *TooLargeError
	var version *VersionError
	switch {
	case errors.As(err, &version):
		return StatusVersion
	case errors.As(err, &large) && large.Part == "payload":
		return StatusTooLarge
	case errors.As(err, &large), errors.Is(err, ErrMalformed):
		return StatusMalformed
	}
	return StatusInternal
}

// AppendPrefix appends to dst all of a request that precedes a payload of
// payloadBytes bytes. It is at most [PrefixBytes] long. A header that does not
// fit loses its working directory first and then its variables, and says so
// ([Header.Cut]); the error is a [*TooLargeError] when that is not enough or the
// payload exceeds what the length can say.
func AppendPrefix(dst []byte, h *Header, payloadBytes int) ([]byte, error) {
	if int64(payloadBytes) > 1<<32-1 {
		return dst, &TooLargeError{"payload", int64(payloadBytes), 1<<32 - 1}
	}
	head, err := appendHeaderBounded(nil, h)
	if err != nil {
		return dst, err
	}
	dst = append(dst, magic...)
	dst = append32(dst, uint32(len(head)))
	dst = append(dst, head...)
	return append32(dst, uint32(payloadBytes)), nil
}

// AppendRequest appends a whole request to dst. Its errors are those of
// [AppendPrefix].
func AppendRequest(dst []byte, r *Request) ([]byte, error) {
	dst, err := AppendPrefix(dst, &r.Header, len(r.Payload))
	if err != nil {
		return dst, err
	}
	return append(dst, r.Payload...), nil
}

// ReadRequest reads one request from r and no byte beyond it. maxPayload bounds
// the payload in bytes; 0 or less means [MaxPayloadBytes]. Nothing is read of a
// part whose length is above its limit.
//
// The error is a [*VersionError], a [*TooLargeError], [ErrMalformed] for bytes
// that are no frame or end early, or r's own error; [StatusOf] turns it into the
// answer. With a [*TooLargeError] for the payload and with a [*VersionError] of
// this layout the returned request holds the header that was read; otherwise it
// is nil. A server that answers without having read everything should shut down
// its sending side and drain the connection, bounded, before it closes: on some
// systems unread bytes take the answer away from the peer.
func ReadRequest(r io.Reader, maxPayload int) (*Request, error) {
	if maxPayload <= 0 {
		maxPayload = MaxPayloadBytes
	}
	var fixed [8]byte
	if err := readFull(r, fixed[:4]); err != nil {
		return nil, err
	}
	if string(fixed[:3]) != magic[:3] || fixed[3] < '0' || fixed[3] > '9' {
		return nil, ErrMalformed
	}
	if fixed[3] != magic[3] {
		return nil, &VersionError{Layout: fixed[3], Version: -1}
	}
	if err := readFull(r, fixed[4:]); err != nil {
		return nil, err
	}
	n := int64(get32(fixed[4:]))
	if n > MaxHeaderBytes {
		return nil, &TooLargeError{"header", n, MaxHeaderBytes}
	}
	head := make([]byte, n)
	if err := readFull(r, head); err != nil {
		return nil, err
	}
	req := &Request{}
	if err := parseHeader(head, &req.Header); err != nil {
		return nil, err
	}
	if v := req.Header.Version; v < Version-1 || v > Version+1 {
		return req, &VersionError{Layout: magic[3], Version: v}
	}
	if err := readFull(r, fixed[:4]); err != nil {
		return nil, err
	}
	n = int64(get32(fixed[:4]))
	if n > int64(maxPayload) {
		return req, &TooLargeError{"payload", n, int64(maxPayload)}
	}
	var err error
	req.Payload, err = readPart(r, int(n))
	if err != nil {
		return nil, err
	}
	return req, nil
}

// AppendAnswer appends an answer to dst. The error is a [*TooLargeError] when
// stdout or stderr is beyond its limit, and [ErrMalformed] for an unknown status
// or for output with a status other than [StatusAnswer].
func AppendAnswer(dst []byte, a *Answer) ([]byte, error) {
	if err := a.check(int64(len(a.Stdout)), int64(len(a.Stderr))); err != nil {
		return dst, err
	}
	if !a.Status.Known() {
		return dst, ErrMalformed
	}
	dst = append(dst, magic...)
	dst = append(dst, byte(a.Status), a.ExitCode, Version, 0)
	dst = append32(dst, uint32(len(a.Stdout)))
	dst = append32(dst, uint32(len(a.Stderr)))
	dst = append(dst, a.Stdout...)
	return append(dst, a.Stderr...), nil
}

// ReadAnswer reads one answer from r and no byte beyond it. Statuses that this
// version does not know are returned as they are. The error is a
// [*VersionError] for another layout, a [*TooLargeError], [ErrMalformed] for
// bytes that are no frame or end early, or r's own error.
func ReadAnswer(r io.Reader) (*Answer, error) {
	var head [answerHead]byte
	if err := readFull(r, head[:]); err != nil {
		return nil, err
	}
	if string(head[:3]) != magic[:3] || head[3] < '0' || head[3] > '9' {
		return nil, ErrMalformed
	}
	if head[3] != magic[3] {
		return nil, &VersionError{Layout: head[3], Version: -1}
	}
	a := &Answer{Status: Status(head[4]), ExitCode: head[5], Server: head[6]}
	out := int64(get32(head[8:]))
	errs := int64(get32(head[12:]))
	if a.Status == 0 {
		return nil, ErrMalformed
	}
	if err := a.check(out, errs); err != nil {
		return nil, err
	}
	var err error
	if a.Stdout, err = readPart(r, int(out)); err != nil {
		return nil, err
	}
	if a.Stderr, err = readPart(r, int(errs)); err != nil {
		return nil, err
	}
	return a, nil
}

func (a *Answer) check(stdout, stderr int64) error {
	if a.Status != StatusAnswer && (stdout != 0 || stderr != 0 || a.ExitCode != 0) {
		return ErrMalformed
	}
	if stdout > MaxStdoutBytes {
		return &TooLargeError{"stdout", stdout, MaxStdoutBytes}
	}
	if stderr > MaxStderrBytes {
		return &TooLargeError{"stderr", stderr, MaxStderrBytes}
	}
	return nil
}

// readFull fills b. An end of the stream inside a frame is malformed.
func readFull(r io.Reader, b []byte) error {
	_, err := io.ReadFull(r, b)
	if err == io.EOF || err == io.ErrUnexpectedEOF {
		return ErrMalformed
	}
	return err
}

// readPart reads n bytes and takes memory only as they arrive.
func readPart(r io.Reader, n int) ([]byte, error) {
	b := make([]byte, 0, min(n, chunk))
	for len(b) < n {
		if len(b) == cap(b) {
			b = append(make([]byte, 0, min(n, 2*cap(b))), b...)
		}
		k := len(b)
		b = b[:min(n, cap(b))]
		if err := readFull(r, b[k:]); err != nil {
			return nil, err
		}
	}
	return b, nil
}

// append32 and get32 stand in for encoding/binary, which brings reflection into
// the client.
func append32(dst []byte, n uint32) []byte {
	return append(dst, byte(n>>24), byte(n>>16), byte(n>>8), byte(n))
}

func get32(b []byte) uint32 {
	return uint32(b[0])<<24 | uint32(b[1])<<16 | uint32(b[2])<<8 | uint32(b[3])
}
