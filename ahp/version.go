package ahp

// Version names a revision of the protocol, as it stands in protocolVersion
// (AHP-VER-001).
type Version string

// The revisions that this model covers.
const (
	Version01    Version = "0.1"
	VersionDraft Version = "draft"
)

// Method is the JSON-RPC method of a message.
type Method string

// The methods (AHP-RPC-002).
const (
	MethodIntercept    Method = "hooks/intercept"    // a request: asks for effects
	MethodObserve      Method = "hooks/observe"      // a notification: has no answer
	MethodCapabilities Method = "hooks/capabilities" // draft: a request for a manifest
)
