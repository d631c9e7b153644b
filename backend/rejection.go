package backend

import "github.com/holdpoint/holdpoint/ahp"

// A Rejection is a message that is answered with an error, or dropped, without the
// handler or Observe hearing of it: broken, too large, not covered, under the id of
// other content, one too many, or after [Server.Shutdown]. It holds nothing of the
// message.
type Rejection struct {
	Principal string
	Code      ahp.ErrorCode // of the answer; of an observation, which gets none, what it would be
	// Observation says that the message is known to be an observation. One over the
	// limit, of which only a beginning was read, may be one and not be known to be.
	Observation bool
}

// rejected tells of a message that the handler does not hear of.
func (s *Server) rejected(principal string, code ahp.ErrorCode, observation bool) {
	if s.opts.Rejected != nil {
		s.opts.Rejected(Rejection{Principal: principal, Code: code, Observation: observation})
	}
}
