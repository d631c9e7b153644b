package hookwire

import (
	"errors"
	"strconv"
	"time"
)

// SpoolLineBytes is the length of one line of the spool, its newline included.
const SpoolLineBytes = 256

// A Cause says why the client decided alone.
type Cause string

// The causes. Usage, PayloadTooLarge, StdoutFailed and Panic are refused whatever
// the failure policy says.
const (
	CauseUsage           Cause = "usage"             // the hook's command line is wrong
	CausePayloadTooLarge Cause = "payload_too_large" // above the client's or the server's limit
	CauseStdinTimeout    Cause = "stdin_timeout"     // the agent did not end the payload in time
	CauseStdinError      Cause = "stdin_error"       // the payload could not be read
	CauseNoHome          Cause = "no_home"           // no socket is named and no home folder is known
	CauseSocketPath      Cause = "socket_path"       // the path is not clean, absolute and short
	CauseSocketMissing   Cause = "socket_missing"    // there is no socket
	CauseSocketUntrusted Cause = "socket_untrusted"  // owner, mode or a symbolic link
	CauseConnectFailed   Cause = "connect_failed"    // nobody listens
	CausePeerUntrusted   Cause = "peer_untrusted"    // another user listens
	CauseSendFailed      Cause = "send_failed"       // the gateway hung up while it was sent to
	CauseDeadline        Cause = "deadline"          // no whole answer in time
	CauseAnswerLost      Cause = "answer_lost"       // the gateway hung up before the answer was whole
	CauseAnswerMalformed Cause = "answer_malformed"  // what came is no answer
	CauseAnswerTooLarge  Cause = "answer_too_large"  // what came is above the limits of an answer
	CauseVersion         Cause = "version"           // the gateway speaks another frame
	CauseBusy            Cause = "busy"              // the gateway is overloaded or shutting down
	CauseGatewayFault    Cause = "gateway_fault"     // any other status than an answer
	CauseFallbackFailed  Cause = "fallback_failed"   // --fallback-exec could not be started
	CauseStdoutFailed    Cause = "stdout_failed"     // the agent did not take the answer
	CausePanic           Cause = "panic"             // a fault of the client
)

// Outcome says what the client told the agent when it decided alone.
type Outcome string

// The outcomes.
const (
	OutcomeRefused Outcome = "refused" // the agent's form of a refusal
	OutcomeOpened  Outcome = "opened"  // nothing, at an event that can be refused: fail-open
	OutcomePassed  Outcome = "passed"  // nothing, at an event that cannot be refused
)

// A Fallback is one decision that the client took alone. The spool holds no text
// of the payload; the client does not read it, so the session is not known.
type Fallback struct {
	Time         time.Time // UTC, to the microsecond
	Agent        string    // as on the command line
	Event        string    // as far as it is known; may be empty
	Cause        Cause
	Policy       string // "fail-open", "fail-closed", or empty when the command line had none
	Outcome      Outcome
	PID          int   // of the client
	ParentPID    int   // of the process that started it
	PayloadBytes int64 // what was read of the payload
	Elapsed      time.Duration
}

// A line has these columns, each padded with spaces to its width and followed by
// one more space; the rest of the line is spaces. A value that is absent is "-".
const (
	spoolMagic   = "HPS1"
	widthTime    = 27 // 2026-11-30T05:15:44.123456Z
	widthAgent   = 24
	widthEvent   = 40
	widthCause   = 24
	widthPolicy  = 12
	widthOutcome = 8
	widthNumber  = 12 // pid, parent pid, bytes of payload, elapsed microseconds
	spoolTime    = "2006-01-02T15:04:05.000000Z"
)

// AppendSpoolLine appends f as one line of [SpoolLineBytes] bytes. Bytes of a
// value other than letters, digits, "_", "-" and "." become "?", and a value that
// is too long for its column is cut.
func AppendSpoolLine(dst []byte, f *Fallback) []byte {
	start := len(dst)
	dst = column(dst, spoolMagic, len(spoolMagic))
	dst = append(f.Time.UTC().AppendFormat(dst, spoolTime), ' ')
	dst = column(dst, f.Agent, widthAgent)
	dst = column(dst, f.Event, widthEvent)
	dst = column(dst, string(f.Cause), widthCause)
	dst = column(dst, f.Policy, widthPolicy)
	dst = column(dst, string(f.Outcome), widthOutcome)
	for _, n := range [...]int64{int64(f.PID), int64(f.ParentPID), f.PayloadBytes, f.Elapsed.Microseconds()} {
		dst = column(dst, strconv.FormatInt(max(n, 0), 10), widthNumber)
	}
	dst = dst[:min(len(dst), start+SpoolLineBytes-1)]
	for len(dst) < start+SpoolLineBytes-1 {
		dst = append(dst, ' ')
	}
	return append(dst, '\n')
}

func column(dst []byte, s string, width int) []byte {
	if s == "" {
		s = "-"
	}
	n := min(len(s), width)
	for i := range n {
		c := s[i]
		switch {
		case 'a' <= c && c <= 'z', 'A' <= c && c <= 'Z', '0' <= c && c <= '9', c == '_', c == '-', c == '.':
		default:
			c = '?'
		}
		dst = append(dst, c)
	}
	for ; n <= width; n++ {
		dst = append(dst, ' ')
	}
	return dst
}

// ErrSpoolLine reports a line that is not one of [AppendSpoolLine]: cut off by a
// full disk, or written by something else.
var ErrSpoolLine = errors.New("hookwire: not a spool line")

// ParseSpoolLine reads one line, with or without its newline. The error is
// [ErrSpoolLine].
func ParseSpoolLine(line []byte) (Fallback, error) {
	var f Fallback
	if len(line) == SpoolLineBytes && line[len(line)-1] == '\n' {
		line = line[:len(line)-1]
	}
	if len(line) != SpoolLineBytes-1 {
		return f, ErrSpoolLine
	}
	ok := true
	next := func(width int) string {
		v := line[:width]
		if line[width] != ' ' {
			ok = false
		}
		line = line[width+1:]
		for len(v) > 0 && v[len(v)-1] == ' ' {
			v = v[:len(v)-1]
		}
		if len(v) == 0 {
			ok = false
		}
		for _, c := range v {
			if c <= ' ' || c >= 0x7f {
				ok = false
			}
		}
		if string(v) == "-" {
			return ""
		}
		return string(v)
	}
	number := func() int64 {
		n, err := strconv.ParseInt(next(widthNumber), 10, 64)
		if err != nil || n < 0 {
			ok = false
		}
		return n
	}
	magic := next(len(spoolMagic))
	at, err := time.Parse(spoolTime, next(widthTime))
	f.Time = at
	f.Agent, f.Event = next(widthAgent), next(widthEvent)
	f.Cause, f.Policy, f.Outcome = Cause(next(widthCause)), next(widthPolicy), Outcome(next(widthOutcome))
	f.PID, f.ParentPID, f.PayloadBytes = int(number()), int(number()), number()
	f.Elapsed = time.Duration(number()) * time.Microsecond
	if !ok || err != nil || magic != spoolMagic {
		return Fallback{}, ErrSpoolLine
	}
	return f, nil
}
