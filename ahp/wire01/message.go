package wire01

import "github.com/holdpoint/holdpoint/ahp"

// MessageKind is the JSON-RPC kind of a message.
type MessageKind string

// The kinds of message.
const (
	Request       MessageKind = "request"
	Notification  MessageKind = "notification"
	Response      MessageKind = "response"
	ErrorResponse MessageKind = "errorResponse"
)

// A Message is one decoded JSON-RPC message of revision 0.1.
type Message struct {
	Kind MessageKind
	ID   ahp.Raw // string, integer or, in a response, null, token for token; nil in a notification

	Method       ahp.Method       // requests and notifications
	Version      ahp.Version      // all but error responses
	Event        *ahp.Event       // requests and notifications
	Capabilities ahp.Capabilities // requests
	Effects      []ahp.Effect     // responses; empty or one [*ahp.Deny]
	RPCError     *RPCError        // error responses

	Extensions    ahp.Members // of params or result
	HasExtensions bool        // tells an empty extensions object from an absent one

	BodyUnknown ahp.Members // members of params, result or error outside the protocol
	Unknown     ahp.Members // members of the envelope outside the protocol
}

// RPCError is the error object of an error response.
type RPCError struct {
	Code    ahp.ErrorCode // zero if it does not fit 32 bits
	Message string        // the peer's text: not fit for a model, a log or a third party
	Data    ahp.Raw       // nil when absent
}
