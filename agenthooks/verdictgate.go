package agenthooks

import (
	"bytes"
	"maps"
	"slices"
	"unicode/utf8"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/jcs"
)

const (
	maxEvidenceBytes = 10240 // canonical, inclusive (AH-5-4)

	// maxVerdictDepth leaves room for a transform value as deep as a context
	// may be: whether that is too deep is decided on the context it makes.
	maxVerdictDepth = 2 * DefaultMaxDepth
)

// verdictBounds are those of a verdict's own text.
var verdictBounds = jcs.Options{MaxBytes: DefaultMaxContextBytes, MaxDepth: maxVerdictDepth, BigIntegers: true}

// gate checks v against AH 5.0 and returns a copy that shares nothing with the
// callee, with paths parsed. The reason is "" when v is good. What the gate
// refuses is a plain deny with the reason: nothing else of it survives. paths
// says whether rows G11 and G12 apply (they do not to a resolution, AH-9-8).
func (v *Verdict) gate(paths bool) (Verdict, string) {
	var out Verdict
	var ok bool
	if v.raw != nil {
		out, ok = readVerdict(v.raw)
	} else {
		out, ok = v.copyChecked()
	}
	if !ok {
		return hostDeny(ReasonVerdictInvalid, ""), ReasonVerdictInvalid
	}
	if out.Transform != nil && paths {
		p, err := parsePath(out.Transform.Path)
		if err != nil {
			return hostDeny(err.Reason, ""), err.Reason
		}
		out.Transform.path = p
	}
	return out, ""
}

// hostDeny is a deny that the host makes. It never passes the gate (AH-6.3-4).
func hostDeny(reason, message string) Verdict {
	return Verdict{Decision: DecisionDeny, Reason: reason, Message: message}
}

// copyChecked runs G2 to G10 and G13 on the fields.
func (v *Verdict) copyChecked() (Verdict, bool) {
	out := Verdict{Decision: v.Decision, Reason: v.Reason, Message: v.Message}
	if !v.Decision.known() || reserved(v.Reason) || !utf8.ValidString(v.Reason) || !utf8.ValidString(v.Message) {
		return out, false
	}
	for _, w := range v.Warnings {
		if reserved(w.Reason) || !utf8.ValidString(w.Reason) || !utf8.ValidString(w.Message) {
			return out, false
		}
	}
	out.Warnings = slices.Clone(v.Warnings)
	if v.Approval != nil {
		a := bytes.TrimSpace(v.Approval)
		if jcs.Check(a, verdictBounds) != nil {
			return out, false
		}
		switch {
		case isNull(a):
		case a[0] != '{' || v.Decision != DecisionDeny:
			return out, false
		default:
			out.Approval = bytes.Clone(a)
		}
	}
	if (v.Transform != nil) != (v.Decision == DecisionTransform) {
		return out, false
	}
	if v.Transform != nil {
		if !utf8.ValidString(v.Transform.Path) {
			return out, false
		}
		value := jsontext.Value("null")
		if v.Transform.Value != nil {
			value = bytes.Clone(bytes.TrimSpace(v.Transform.Value))
			if jcs.Check(value, verdictBounds) != nil {
				return out, false
			}
		}
		out.Transform = &Transform{Path: v.Transform.Path, Value: value}
	}
	if v.Evidence != nil {
		e := Evidence{Artefact: v.Evidence.Artefact, VerificationPointers: maps.Clone(v.Evidence.VerificationPointers)}
		raw, err := json.Marshal(e)
		if err != nil || canonicalSize(raw) > maxEvidenceBytes {
			return out, false
		}
		out.Evidence = &e
	}
	for _, l := range v.ResultLabels {
		if !utf8.ValidString(l) {
			return out, false
		}
	}
	out.ResultLabels = slices.Clone(v.ResultLabels)
	return out, true
}

func (d Decision) known() bool {
	return d == DecisionAllow || d == DecisionDeny || d == DecisionTransform
}

// canonicalSize is the length of the canonical form. A number that would be
// rounded is measured as rounded: only the length matters here.
func canonicalSize(raw []byte) int {
	out, err := jsontext.AppendFormat(nil, raw,
		jsontext.CanonicalizeRawInts(true), jsontext.CanonicalizeRawFloats(true), jsontext.ReorderRawObjects(true))
	if err != nil {
		return maxEvidenceBytes + 1
	}
	return len(out)
}

// readVerdict runs G1 to G10 and G13 on text. A null counts as absent for
// every optional member; unknown members are dropped (AH-5-2).
func readVerdict(raw []byte) (Verdict, bool) {
	var out Verdict
	if jcs.Check(raw, verdictBounds) != nil {
		return out, false
	}
	raw = bytes.TrimSpace(raw)
	if raw[0] != '{' {
		return out, false
	}
	good := true
	w := walk(raw, 0)
	for {
		name, s, ok := w.next()
		if !ok {
			break
		}
		v := s.of(raw)
		if string(name) == "decision" {
			d, ok := text(v)
			out.Decision, good = Decision(d), good && ok
			continue
		}
		if isNull(v) {
			continue
		}
		switch string(name) {
		case "reason":
			good = readString(v, &out.Reason) && good
		case "message":
			good = readString(v, &out.Message) && good
		case "warnings":
			good = readWarnings(v, &out) && good
		case "approval":
			good = v[0] == '{' && good
			out.Approval = bytes.Clone(v)
		case "transform":
			good = readTransform(v, &out) && good
		case "evidence":
			good = readEvidence(v, &out) && good
		case "result_labels":
			good = readStrings(v, &out.ResultLabels) && good
		}
	}
	if !good || !out.Decision.known() || reserved(out.Reason) ||
		out.Approval != nil && out.Decision != DecisionDeny ||
		(out.Transform != nil) != (out.Decision == DecisionTransform) {
		return out, false
	}
	return out, true
}

func readString(v []byte, into *string) bool {
	s, ok := text(v)
	*into = s
	return ok
}

func readStrings(v []byte, into *[]string) bool {
	if v[0] != '[' {
		return false
	}
	w := walk(v, 0)
	for {
		_, s, ok := w.next()
		if !ok {
			return true
		}
		str, ok := text(s.of(v))
		if !ok {
			return false
		}
		*into = append(*into, str)
	}
}

func readWarnings(v []byte, out *Verdict) bool {
	if v[0] != '[' {
		return false
	}
	w := walk(v, 0)
	for {
		_, s, ok := w.next()
		if !ok {
			return true
		}
		if v[s.from] != '{' {
			return false
		}
		var warning Warning
		for _, f := range []struct {
			name string
			into *string
		}{{"reason", &warning.Reason}, {"message", &warning.Message}} {
			m := member(v, s, f.name).of(v)
			if len(m) > 0 && !isNull(m) && !readString(m, f.into) {
				return false
			}
		}
		if reserved(warning.Reason) {
			return false
		}
		out.Warnings = append(out.Warnings, warning)
	}
}

func readTransform(v []byte, out *Verdict) bool {
	if v[0] != '{' {
		return false
	}
	whole := span{0, len(v)}
	t := &Transform{Value: jsontext.Value("null")}
	p, ok := text(member(v, whole, "path").of(v))
	if !ok {
		return false
	}
	t.Path = p
	if m := member(v, whole, "value"); m.ok() {
		t.Value = bytes.Clone(m.of(v))
	}
	out.Transform = t
	return true
}

func readEvidence(v []byte, out *Verdict) bool {
	// Measured as received, before unknown members go (AH-5.3-2).
	if v[0] != '{' || canonicalSize(v) > maxEvidenceBytes {
		return false
	}
	e := &Evidence{}
	out.Evidence = e
	whole := span{0, len(v)}
	if m := member(v, whole, "artefact").of(v); len(m) > 0 && !isNull(m) && !readString(m, &e.Artefact) {
		return false
	}
	m := member(v, whole, "verification_pointers").of(v)
	if len(m) == 0 || isNull(m) {
		return true
	}
	if m[0] != '{' {
		return false
	}
	e.VerificationPointers = map[string]string{}
	w := walk(m, 0)
	for {
		name, s, ok := w.next()
		if !ok {
			return true
		}
		str, ok := text(s.of(m))
		if !ok {
			return false
		}
		e.VerificationPointers[string(name)] = str
	}
}
