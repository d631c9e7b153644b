package agenthooks

import "strings"

// The reserved reasons: what a host says when it makes a deny itself (AH 11).
// A verdict from an interceptor or a resolver that uses the prefix is refused.
const (
	ReasonContextInvalid           = "host_error:context_invalid"            // no valid context, a bound breached, or the provider failed
	ReasonInterceptorFailed        = "host_error:interceptor_failed"         // an interceptor returned an error or panicked
	ReasonInterceptorTimeout       = "host_error:interceptor_timeout"        // an interceptor took too long
	ReasonVerdictInvalid           = "host_error:verdict_invalid"            // a verdict failed the gate
	ReasonTransformInvalid         = "host_error:transform_invalid"          // a path does not parse or resolve
	ReasonTransformTargetForbidden = "host_error:transform_target_forbidden" // a path has a wrong root, or the point forbids transforms
	ReasonTransformConflict        = "host_error:transform_conflict"         // two transforms of one snapshot
	ReasonCompositionDisagreement  = "host_error:composition_disagreement"   // not unanimous
	ReasonApprovalResolverFailed   = "host_error:approval_resolver_failed"   // resolver or redactor failed, or a malformed resolution
	ReasonApprovalUnresolved       = "host_error:approval_unresolved"        // the resolver could not say
	ReasonApprovalIdentityMismatch = "host_error:approval_identity_mismatch" // the resolution names another context
	ReasonAdapterUnsupported       = "host_error:adapter_unsupported"        // the adapter cannot emit this point
	ReasonNoInterceptor            = "host_error:no_interceptor"             // nobody is registered
	ReasonStreamingUnsupported     = "host_error:streaming_unsupported"      // streamed content that no verdict covers
)

const reservedPrefix = "host_error:"

func reserved(reason string) bool { return strings.HasPrefix(reason, reservedPrefix) }
