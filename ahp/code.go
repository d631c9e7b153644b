package ahp

// ErrorCode is a JSON-RPC error code (AHP 0.1 section 10).
type ErrorCode int

// The codes that AHP reserves, and those of JSON-RPC itself.
const (
	CodeUnsupportedVersion ErrorCode = -32001
	CodeUnsupportedEvent   ErrorCode = -32002
	CodeUnavailable        ErrorCode = -32003
	CodeInternal           ErrorCode = -32004

	CodeParse          ErrorCode = -32700
	CodeInvalidRequest ErrorCode = -32600
	CodeMethodNotFound ErrorCode = -32601
	CodeInvalidParams  ErrorCode = -32602
)

// Name returns the contract's name of the code, or "" for a code that it does not define.
func (c ErrorCode) Name() string {
	switch c {
	case CodeUnsupportedVersion:
		return "unsupported_protocol_version"
	case CodeUnsupportedEvent:
		return "unsupported_event"
	case CodeUnavailable:
		return "backend_unavailable"
	case CodeInternal:
		return "backend_internal_error"
	case CodeParse:
		return "parse_error"
	case CodeInvalidRequest:
		return "invalid_request"
	case CodeMethodNotFound:
		return "method_not_found"
	case CodeInvalidParams:
		return "invalid_params"
	}
	return ""
}
