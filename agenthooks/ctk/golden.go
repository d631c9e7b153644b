package ctk

import (
	"errors"
	"fmt"
	"strings"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/agenthooks"
	"github.com/holdpoint/holdpoint/jcs"
)

// GoldenPart is the part of the results of [Golden].
const GoldenPart = "golden"

// The erratum of the public golden file (AH 18): the fixture was made with a
// decoder that is one unit off for the literal 9.999999999999997e+22. RFC 8785
// wants the text of the nearest double.
const (
	erratumID    = "G-15-rfc8785-numbers"
	erratumWrong = "9.999999999999996e+22"
	erratumRight = "9.999999999999997e+22"
	erratumHash  = "sha256:31bbcf009cf0bb7edd78eda0e8d38b1978e1b9f0c5bc07350a271136fb5299fe"
)

// Golden checks the default identity of this project against a golden identity
// file (AH 13.3): per fixture the canonical text of the whole context, and the
// identity, which is over its projection. The fixture with the known erratum is
// held against its corrected values, and says so. An empty file is [ErrEmpty].
func Golden(file string, text []byte) ([]VectorResult, error) {
	tree, err := parse(text)
	r := &reader{file: file}
	if err != nil {
		r.fail("", "%v", err)
		return nil, r.err()
	}
	var out []VectorResult
	r.object(tree, "", map[string]field{
		"spec": func(x any, ptr string) {
			if s := r.str(x, ptr); s != agenthooks.SpecVersion {
				r.fail(ptr, "found another version, expected %s", agenthooks.SpecVersion)
			}
		},
		"generator": func(x any, ptr string) { r.str(x, ptr) },
		"fixtures": func(x any, ptr string) {
			r.array(x, ptr, func(x any, ptr string) { out = append(out, r.fixture(x, ptr)) })
		},
	}, "spec", "fixtures")
	if err := r.err(); err != nil {
		return nil, err
	}
	if len(out) == 0 {
		return nil, ErrEmpty
	}
	return out, nil
}

func (r *reader) fixture(v any, ptr string) VectorResult {
	var (
		id, note, canonical, identity, reason string
		ctx                                   jsontext.Value
		good, bad                             bool
	)
	r.object(v, ptr, map[string]field{
		"id":   func(x any, ptr string) { id = r.str(x, ptr) },
		"note": func(x any, ptr string) { note = r.str(x, ptr) },
		"ctx":  func(x any, _ string) { ctx = textOf(x) },
		"expect": func(x any, ptr string) {
			r.object(x, ptr, map[string]field{
				"canonical_json":   func(x any, ptr string) { canonical, good = r.str(x, ptr), true },
				"context_identity": func(x any, ptr string) { identity, good = r.str(x, ptr), true },
				"error":            func(x any, ptr string) { reason, bad = r.str(x, ptr), true },
			})
			if good == bad || good && (canonical == "" || identity == "") {
				r.fail(ptr, "expected canonical_json and context_identity, or error")
			}
		},
	}, "id", "ctx", "expect")
	res := VectorResult{ID: id, Title: note, Part: GoldenPart, Status: Pass, Failures: []string{}}
	if len(r.errs) > 0 {
		return res
	}
	if id == erratumID && strings.Contains(canonical, erratumWrong) {
		canonical, identity = strings.ReplaceAll(canonical, erratumWrong, erratumRight), erratumHash
		res.Detail = "held against the corrected value: the file has " + erratumWrong + " for the double " + erratumRight
	}
	if err := compareGolden(ctx, canonical, identity, reason); err != nil {
		res.Status, res.Detail, res.Failures = Fail, err.Error(), []string{err.Error()}
	}
	return res
}

func compareGolden(text jsontext.Value, canonical, identity, reason string) error {
	c, err := agenthooks.ParseContext(text)
	got := ""
	if err == nil {
		got, err = agenthooks.Identity(c)
	}
	if reason != "" {
		if err == nil {
			return fmt.Errorf("found the identity %s, expected the error %s", got, reason)
		}
		if reason != agenthooks.ReasonContextInvalid {
			return fmt.Errorf("found the error %s, expected %s", agenthooks.ReasonContextInvalid, short(reason))
		}
		return nil
	}
	if err != nil {
		return fmt.Errorf("the context has no identity: %w", err)
	}
	whole, err := jcs.Canonicalize(nil, text, jcs.Options{})
	if err != nil {
		return fmt.Errorf("the context has no canonical form: %w", err)
	}
	var errs []error
	if string(whole) != canonical {
		errs = append(errs, fmt.Errorf("canonical_json differs from byte %d on", differsAt(string(whole), canonical)))
	}
	if got != identity {
		errs = append(errs, fmt.Errorf("context_identity: found %s, expected %s", got, short(identity)))
	}
	return errors.Join(errs...)
}

func differsAt(a, b string) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}
