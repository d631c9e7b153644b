package settle

import (
	"strconv"
	"time"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/ahp"
)

// RecordVersion is the version of the record's JSON form. Readers refuse a
// version that they do not know; members may be added within one.
const RecordVersion = 1

// Bounds on what a record holds, whatever an event or a backend brings.
const (
	MaxNames     = 256  // entries of one list of names
	MaxNameBytes = 1024 // one name or id; what is longer is cut and marked with "…"
)

// Decision tells who brought an outcome about.
type Decision string

// The decisions.
const (
	DecisionNone      Decision = "none"      // nobody objected
	DecisionExplicit  Decision = "explicit"  // a backend refused, asked, stopped or supplied the result
	DecisionSynthetic Decision = "synthetic" // a failure refused (V-FAIL-5)
)

// A Record is what one settlement leaves behind. It is free of payload: it holds
// identities, names, codes, counts and times, and of free text only the reasons of
// explicit denials and of a stop. All durations are on the monotonic clock.
type Record struct {
	Version int    `json:"version"` // [RecordVersion]
	ID      string `json:"id"`      // of this record: a UUIDv7
	Time    string `json:"time"`    // RFC 3339 in UTC: when the call began

	EventID   string        `json:"eventId"`
	EventType ahp.EventType `json:"eventType"`
	Source    string        `json:"source,omitzero"`
	SessionID string        `json:"sessionId"`
	AgentID   string        `json:"agentId,omitzero"` // the subagent
	CallID    string        `json:"callId,omitzero"`
	Tool      string        `json:"tool,omitzero"`
	Kind      ahp.ToolKind  `json:"kind,omitzero"`
	Operation string        `json:"operation,omitzero"` // [Identity]

	Outcome  State    `json:"outcome"`
	Decision Decision `json:"decision"`
	By       string   `json:"by,omitzero"`
	Code     string   `json:"code,omitzero"`
	// Reason is the backend's reason, escaped, at most [MaxReasonBytes]; empty
	// for a synthetic refusal, whose Class says why.
	Reason     string           `json:"reason,omitzero"`
	Class      ahp.FailureClass `json:"class,omitzero"`
	FailedOpen bool             `json:"failedOpen,omitzero"`

	// The members up to Instructions are of settlements in revision draft.

	Permission ahp.Permission `json:"permission,omitzero"`
	Flow       ahp.Flow       `json:"flow,omitzero"`
	// Effective is the [Identity] of the operation as accepted changes left it; empty
	// where they did not change it. Operation is then what was proposed.
	Effective string `json:"effectiveOperation,omitzero"`
	// Approved means that somebody lifted an ask for the effective operation.
	Approved bool `json:"approved,omitzero"`
	// Denials lists all denials of the response that refused, where it has more than
	// one: at most [MaxDenials], the first of which Code and Reason show (D-EFF-8).
	Denials []Denial `json:"denials,omitempty"`
	// How many texts for the user, injections and continue instructions were accepted.
	Messages     int `json:"messages,omitzero"`
	Injections   int `json:"injections,omitzero"`
	Instructions int `json:"instructions,omitzero"`

	ElapsedNs int64 `json:"elapsedNs"` // from the call's begin to its settlement
	Hops      []Hop `json:"hops"`

	PolicyDigest string   `json:"policyDigest,omitzero"`
	Rules        []string `json:"rules,omitempty"`
	Hazards      []string `json:"hazards,omitempty"`
	Facts        []string `json:"facts,omitempty"` // names of facts, never values
	RootSource   string   `json:"rootSource,omitzero"`
	Client       string   `json:"client,omitzero"`
	Adapter      string   `json:"adapter,omitzero"`
}

// Record returns the record of s, an outcome about ev. id and began identify the
// record and the moment the call began; elapsed is how long it took; operation
// is [Identity] of ev, or empty where nobody computed it.
func (s *Settlement) Record(ev *ahp.Event, id string, began time.Time, elapsed time.Duration, operation string, d Details) Record {
	r := Record{
		Version:   RecordVersion,
		ID:        id,
		Time:      began.UTC().Format(time.RFC3339Nano),
		EventID:   name(ev.ID),
		EventType: ahp.EventType(name(string(ev.Type))),
		Source:    name(ev.Source),
		SessionID: name(ev.Session.ID),
		Operation: operation,
		Outcome:   s.State,
		By:        s.By,
		Code:      name(s.Code),
		ElapsedNs: int64(elapsed),
		Hops:      s.Hops,

		FailedOpen:   s.FailedOpen,
		Permission:   s.Permission,
		Flow:         s.Flow,
		Approved:     s.Approved,
		Denials:      s.denials,
		Messages:     len(s.Messages),
		Injections:   len(s.Injections),
		Instructions: len(s.Instructions),
		PolicyDigest: name(d.PolicyDigest),
		Rules:        names(d.Rules),
		Hazards:      names(d.Hazards),
		Facts:        names(d.Facts),
		RootSource:   name(d.RootSource),
		Client:       name(d.Client),
		Adapter:      name(d.Adapter),
	}
	if ev.Session.Agent != nil {
		r.AgentID = name(ev.Session.Agent.ID)
	}
	if ev.Tool != nil {
		r.CallID, r.Tool, r.Kind = name(ev.Tool.CallID), name(ev.Tool.Name), ahp.ToolKind(name(string(ev.Tool.Kind)))
	}
	switch {
	case s.changed && s.Operation != operation:
		r.Effective = s.Operation
	case operation == "":
		r.Operation = s.Operation
	}
	switch {
	case s.State == Proceed && !s.Approved:
		r.Decision = DecisionNone
	case s.State == Proceed, s.State == Ask, s.State == Supplied:
		r.Decision = DecisionExplicit
	case !s.Synthetic && (s.State == Denied || s.State == Stopped):
		r.Decision = DecisionExplicit
		r.Reason = Escape(s.full, MaxReasonBytes)
	default:
		if r.Outcome != Interrupted {
			r.Outcome = Denied
		}
		r.Decision, r.Class = DecisionSynthetic, s.Class
		if r.Class == "" {
			r.Class = ahp.FailInternal
		}
	}
	return r
}

// name bounds s, which may have come from anywhere.
func name(s string) string {
	if len(s) <= MaxNameBytes {
		return s
	}
	n := MaxNameBytes - len(ellipsis)
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + ellipsis
}

func names(in []string) []string {
	in = in[:min(len(in), MaxNames)]
	for i, s := range in {
		if len(s) > MaxNameBytes {
			out := append([]string(nil), in...)
			for j := i; j < len(out); j++ {
				out[j] = name(out[j])
			}
			return out
		}
	}
	return in
}

// MarshalAppend appends the record as one line of JSON, without a line feed, and
// returns the longer slice. Members stand in a fixed order, so equal records
// have equal bytes; docs/schemas/settlement-record.schema.json describes them.
// Bytes that are not UTF-8 become U+FFFD.
func (r *Record) MarshalAppend(dst []byte) []byte {
	dst = append(dst, `{"version":`...)
	dst = strconv.AppendInt(dst, int64(r.Version), 10)
	dst = str(dst, "id", r.ID, true)
	dst = str(dst, "time", r.Time, true)
	dst = str(dst, "eventId", r.EventID, true)
	dst = str(dst, "eventType", string(r.EventType), true)
	dst = str(dst, "source", r.Source, false)
	dst = str(dst, "sessionId", r.SessionID, true)
	dst = str(dst, "agentId", r.AgentID, false)
	dst = str(dst, "callId", r.CallID, false)
	dst = str(dst, "tool", r.Tool, false)
	dst = str(dst, "kind", string(r.Kind), false)
	dst = str(dst, "operation", r.Operation, false)
	dst = str(dst, "outcome", string(r.Outcome), true)
	dst = str(dst, "decision", string(r.Decision), true)
	dst = str(dst, "by", r.By, false)
	dst = str(dst, "code", r.Code, false)
	dst = str(dst, "reason", r.Reason, false)
	dst = str(dst, "class", string(r.Class), false)
	if r.FailedOpen {
		dst = append(dst, `,"failedOpen":true`...)
	}
	dst = str(dst, "permission", string(r.Permission), false)
	dst = str(dst, "flow", string(r.Flow), false)
	dst = str(dst, "effectiveOperation", r.Effective, false)
	if r.Approved {
		dst = append(dst, `,"approved":true`...)
	}
	if len(r.Denials) > 0 {
		dst = append(dst, `,"denials":[`...)
		for i := range r.Denials {
			if i > 0 {
				dst = append(dst, ',')
			}
			dst = r.Denials[i].append(dst)
		}
		dst = append(dst, ']')
	}
	dst = count(dst, "messages", r.Messages)
	dst = count(dst, "injections", r.Injections)
	dst = count(dst, "instructions", r.Instructions)
	dst = num(dst, "elapsedNs", r.ElapsedNs)
	dst = append(dst, `,"hops":[`...)
	for i := range r.Hops {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = r.Hops[i].append(dst)
	}
	dst = append(dst, ']')
	dst = str(dst, "policyDigest", r.PolicyDigest, false)
	dst = list(dst, "rules", r.Rules)
	dst = list(dst, "hazards", r.Hazards)
	dst = list(dst, "facts", r.Facts)
	dst = str(dst, "rootSource", r.RootSource, false)
	dst = str(dst, "client", r.Client, false)
	dst = str(dst, "adapter", r.Adapter, false)
	return append(dst, '}')
}

func (d *Denial) append(dst []byte) []byte {
	dst = append(dst, `{"reason":`...)
	dst, _ = jsontext.AppendQuote(dst, d.Reason)
	return append(str(dst, "code", d.Code, false), '}')
}

func (h *Hop) append(dst []byte) []byte {
	dst = append(dst, `{"backend":`...)
	dst, _ = jsontext.AppendQuote(dst, h.Backend)
	dst = str(dst, "mode", string(h.Mode), true)
	dst = str(dst, "answer", string(h.Answer), true)
	dst = str(dst, "class", string(h.Class), false)
	if h.FailureCode != 0 {
		dst = num(dst, "failureCode", int64(h.FailureCode))
	}
	dst = str(dst, "policy", string(h.Policy), false)
	dst = list(dst, "effects", h.Effects)
	if h.Changed {
		dst = append(dst, `,"changed":true`...)
	}
	dst = num(dst, "startNs", h.StartNs)
	dst = num(dst, "tookNs", h.TookNs)
	dst = num(dst, "attempts", int64(h.Attempts))
	return append(dst, '}')
}

func key(dst []byte, k string) []byte {
	dst = append(dst, `,"`...)
	dst = append(dst, k...)
	return append(dst, `":`...)
}

func str(dst []byte, k, v string, always bool) []byte {
	if v == "" && !always {
		return dst
	}
	// The error only says that bytes were replaced, which is what we want.
	dst, _ = jsontext.AppendQuote(key(dst, k), v)
	return dst
}

func num(dst []byte, k string, v int64) []byte { return strconv.AppendInt(key(dst, k), v, 10) }

func count(dst []byte, k string, v int) []byte {
	if v == 0 {
		return dst
	}
	return num(dst, k, int64(v))
}

func list[S ~string](dst []byte, k string, v []S) []byte {
	if len(v) == 0 {
		return dst
	}
	dst = append(key(dst, k), '[')
	for i, s := range v {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst, _ = jsontext.AppendQuote(dst, string(s))
	}
	return append(dst, ']')
}

// MarshalJSON returns what [Record.MarshalAppend] appends.
func (r *Record) MarshalJSON() ([]byte, error) { return r.MarshalAppend(nil), nil }

// A VersionError reports a record in a version that this program does not read.
type VersionError struct{ Version int }

// Error names the version found and the one expected.
func (e *VersionError) Error() string {
	return "record version " + strconv.Itoa(e.Version) + ", expected " + strconv.Itoa(RecordVersion)
}

// ParseRecord reads what [Record.MarshalAppend] wrote. Members that it does not
// know are ignored, so that a record of a newer program of the same version can
// be read. It returns a [*VersionError] for another version.
func ParseRecord(data []byte) (Record, error) {
	type plain Record // without MarshalJSON
	var r plain
	if err := json.Unmarshal(data, &r); err != nil {
		return Record{}, err
	}
	if r.Version != RecordVersion {
		return Record{}, &VersionError{Version: r.Version}
	}
	return Record(r), nil
}
