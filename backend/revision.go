package backend

import (
	"bytes"
	"strconv"
	"strings"

	"github.com/go-json-experiment/json"
	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/wire01"
	"github.com/holdpoint/holdpoint/ahp/wiredraft"
)

// A message is one that was decoded, of any revision that the server speaks.
type message struct {
	version ahp.Version
	method  ahp.Method
	id      ahp.Raw // nil in an observation
	event   *ahp.Event
	text    ahp.Raw // of the event
	caps    ahp.Capabilities
	state   *ahp.State
	exts    ahp.Members
	hasExts bool

	// What has to be equal in a repeat, and the same as a string to keep, or empty.
	repeat []byte
	shared string
	held   int
}

// readers read the messages of a prompt handler, one at a time.
type readers struct {
	v01   wire01.RequestReader
	draft wiredraft.RequestReader
}

// A refusal says why a message is not handled, and with what it is answered.
type refusal struct {
	code         ahp.ErrorCode
	id           ahp.Raw
	notification bool
	pointer      string
	expected     string
	text         string
}

// decode reads one message by the codec of its protocolVersion (D-VER-4).
func (s *Server) decode(m *message, frame []byte, readers *readers) *refusal {
	if !s.draft {
		return s.decode01(m, frame, readers)
	}
	if !s.v01 {
		return s.decodeDraft(m, frame, readers)
	}
	// A guess is enough to begin with: neither codec takes the other's messages, so a
	// wrong one costs time alone.
	if guess(frame) == ahp.Version01 {
		no := s.decode01(m, frame, readers)
		if no == nil || !no.otherRevision() {
			return no
		}
		if last := s.decodeDraft(m, frame, readers); last == nil || !last.otherRevision() || no.code == ahp.CodeUnsupportedVersion {
			return last
		}
		return no // hooks/capabilities, which revision 0.1 does not have
	}
	no := s.decodeDraft(m, frame, readers)
	if no == nil || no.code != ahp.CodeUnsupportedVersion {
		return no
	}
	if last := s.decode01(m, frame, readers); last == nil || !last.otherRevision() {
		return last
	}
	return no
}

// otherRevision reports whether another revision may take the message.
func (r *refusal) otherRevision() bool {
	return r.code == ahp.CodeUnsupportedVersion || r.code == ahp.CodeMethodNotFound
}

// decode01 reads a message into the readers' memory, or without one into its own.
func (s *Server) decode01(m *message, frame []byte, readers *readers) *refusal {
	var x *wire01.Message
	var bad *wire01.Error
	if readers != nil {
		x, bad = readers.v01.Read(frame, s.opts.Limits)
	} else {
		x, bad = wire01.DecodeRequest(frame, s.opts.Limits)
	}
	if bad != nil {
		return &refusal{bad.Code, bad.ID, bad.Notification, bad.Pointer, bad.Expected, bad.Error()}
	}
	*m = message{
		version: ahp.Version01, method: x.Method, id: x.ID, event: x.Event, text: x.EventText,
		caps: x.Capabilities, exts: x.Extensions, hasExts: x.HasExtensions, repeat: x.EventText,
	}
	m.shared, m.held = x.SharedText()
	return nil
}

func (s *Server) decodeDraft(m *message, frame []byte, readers *readers) *refusal {
	var x *wiredraft.Message
	var bad *wiredraft.Error
	if readers != nil {
		x, bad = readers.draft.Read(frame, wiredraft.Limits(s.opts.Limits))
	} else {
		x, bad = wiredraft.DecodeRequest(frame, wiredraft.Limits(s.opts.Limits))
	}
	if bad != nil {
		no := &refusal{bad.Code, bad.ID, bad.Notification, bad.Pointer, bad.Expected, bad.Error()}
		s.unsupported(no, frame)
		return no
	}
	*m = message{
		version: ahp.VersionDraft, method: x.Method, id: x.ID, event: x.Event, text: x.EventText,
		caps: x.Capabilities, state: x.State, exts: x.Extensions, hasExts: x.HasExtensions, repeat: frame,
	}
	if m.shared = x.SharedMessage(); len(m.shared) == len(frame) {
		m.held = len(m.shared)
	} else {
		m.shared = ""
	}
	if code := s.covered(m); code != 0 {
		return &refusal{code: code, id: x.ID, notification: x.Kind == wiredraft.Notification, text: "not in this backend's manifest"}
	}
	return nil
}

// covered returns with what a valid message is refused that the manifest, or the
// lack of one, does not cover. An observation of any kind is accepted: what nobody
// wants is dropped.
func (s *Server) covered(m *message) ahp.ErrorCode {
	switch {
	case m.method == ahp.MethodCapabilities && s.manifest == "":
		return ahp.CodeMethodNotFound
	case m.method == ahp.MethodIntercept && !s.intercepts(m.event.Type):
		return ahp.CodeUnsupportedEvent
	}
	return 0
}

// unsupported gives a refusal the code that comes first in the order of checks
// (D-ERR-3), where that hangs on what this server supports and not on the revision.
func (s *Server) unsupported(no *refusal, frame []byte) {
	if no.code != ahp.CodeUnsupportedVersion && no.code != ahp.CodeInvalidParams {
		return
	}
	var m struct {
		Method ahp.Method `json:"method"`
		Params struct {
			Event struct {
				Type ahp.EventType `json:"type"`
			} `json:"event"`
		} `json:"params"`
	}
	_ = json.Unmarshal(frame, &m) // what was read before a fault is enough
	switch {
	case m.Method == ahp.MethodCapabilities && s.manifest == "":
		no.code, no.pointer, no.expected, no.text = ahp.CodeMethodNotFound, "/method", "", "not supported by this backend"
	case no.code == ahp.CodeInvalidParams && m.Method == ahp.MethodIntercept &&
		m.Params.Event.Type.Interceptable(ahp.VersionDraft) && !s.intercepts(m.Params.Event.Type):
		no.code, no.pointer, no.expected, no.text = ahp.CodeUnsupportedEvent, "/params/event/type", "", "not in this backend's manifest"
	}
}

func (s *Server) intercepts(t ahp.EventType) bool {
	return s.opts.Manifest == nil || s.opts.Manifest.Covers(t, ahp.ModeIntercept)
}

// tooLarge answers what is over the limit, of which only a beginning is there.
func (s *Server) tooLarge(beginning []byte) *refusal {
	if !s.draft { // the two differ in nothing but the names of their rules
		bad := wire01.TooLarge(beginning, s.opts.Limits)
		return &refusal{bad.Code, bad.ID, bad.Notification, bad.Pointer, bad.Expected, bad.Error()}
	}
	bad := wiredraft.TooLarge(beginning, wiredraft.Limits(s.opts.Limits))
	return &refusal{bad.Code, bad.ID, bad.Notification, bad.Pointer, bad.Expected, bad.Error()}
}

var versionName = []byte(`"protocolVersion"`)

// guess returns the version that the frame most likely has: the value of the first
// member called protocolVersion, wherever it stands.
func guess(frame []byte) ahp.Version {
	_, rest, _ := bytes.Cut(frame, versionName)
	if bytes.HasPrefix(bytes.TrimLeft(rest, ": \t\r\n"), []byte(`"`+ahp.Version01+`"`)) {
		return ahp.Version01
	}
	return ""
}

// supported is the data of -32001.
func supported(versions []ahp.Version) ahp.Raw {
	list := make([]string, len(versions))
	for i, v := range versions {
		list[i] = strconv.Quote(string(v))
	}
	return ahp.Raw(`{"supported":[` + strings.Join(list, ",") + `]}`)
}
