package backend

import "github.com/holdpoint/holdpoint/ahp"

// A Rejection is a message that is answered with an error, or dropped, without the
// handler or Observe hearing of it: not let in, broken, too large, not covered, under
// the id of other content, one too many, or after [Server.Shutdown]. It holds nothing of
// the message.
type Rejection struct {
	Principal string // what is known of it: of a request without a credential, nothing

	// Code is that of the answer; of an observation, which gets none, what it would be.
	// It is zero where Status says all.
	Code ahp.ErrorCode
	// Status is the HTTP status of a request that was refused before a message was read
	// from it: 400, 401, 403, 405 or 415.
	Status int
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
