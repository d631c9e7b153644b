package agenthooks_test

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/go-json-experiment/json/jsontext"

	"github.com/holdpoint/holdpoint/agenthooks"
	"github.com/holdpoint/holdpoint/internal/corpus"
	"github.com/holdpoint/holdpoint/jcs"
)

type golden struct {
	Fixtures []struct {
		ID     string          `json:"id"`
		Ctx    json.RawMessage `json:"ctx"`
		Expect struct {
			CanonicalJSON   string `json:"canonical_json"`
			ContextIdentity string `json:"context_identity"`
			Error           string `json:"error"`
		} `json:"expect"`
	} `json:"fixtures"`
}

// TestGoldenIdentities covers one part of the contract.
//
// Rules: AH-10.2-2, AH-10.2-3.
func TestGoldenIdentities(t *testing.T) {
	var g golden
	if err := json.Unmarshal(corpus.File(t, "agent-hooks/golden/identity.json"), &g); err != nil {
		t.Fatal(err)
	}
	if len(g.Fixtures) < 12 {
		t.Fatalf("only %d fixtures", len(g.Fixtures))
	}
	for _, f := range g.Fixtures {
		t.Run(f.ID, func(t *testing.T) {
			want := f.Expect
			if f.ID == "G-15-rfc8785-numbers" {
				// The file was made with a decoder that is one unit off for
				// 9.999999999999997e+22. RFC 8785 is normative; ECMAScript's own
				// text of that double is shown in TestErratumNumber of package jcs.
				const wrong, right = "9.999999999999996e+22", "9.999999999999997e+22"
				if strings.Count(want.CanonicalJSON, wrong) != 2 {
					t.Fatalf("the erratum is gone from the file: %s", want.CanonicalJSON)
				}
				want.CanonicalJSON = strings.ReplaceAll(want.CanonicalJSON, wrong, right)
				want.ContextIdentity = "sha256:31bbcf009cf0bb7edd78eda0e8d38b1978e1b9f0c5bc07350a271136fb5299fe"
			}
			c, err := agenthooks.ParseContext(f.Ctx)
			if err != nil {
				t.Fatal(err)
			}
			id, err := agenthooks.Identity(c)
			if want.Error != "" {
				if err == nil {
					t.Fatalf("accepted as %s, want %s", id, want.Error)
				}
				h, _ := opened(t, agenthooks.Options{Interceptors: allows(1)})
				out, err := h.EmitJSONUnchecked(t.Context(), jsontext.Value(f.Ctx))
				if err == nil || out.Record.Verdict.Reason != want.Error || out.Record.InputIdentity != nil {
					t.Fatalf("emission: %+v, %v", out.Record, err)
				}
				return
			}
			if err != nil || id != want.ContextIdentity {
				t.Errorf("identity %s, %v; want %s", id, err, want.ContextIdentity)
			}
			text, err := jcs.Canonicalize(nil, f.Ctx, jcs.Options{})
			if err != nil || string(text) != want.CanonicalJSON {
				t.Errorf("canonical %s, %v\nwant %s", text, err, want.CanonicalJSON)
			}
		})
	}
}

// contextWith is a pre_tool_call whose args are given as text.
func contextWith(args string) string {
	return `{"spec":"agent-hooks/0.1","interception_point":"pre_tool_call","timestamp":"2026-01-01T00:00:00.000Z","sequence":3,` +
		`"agent":{"id":"a","framework":"f"},"session":{"id":"s"},"tool_call":{"id":"1","name":"n","args":` + args + `},"target":` + args + `}`
}

// TestIdentityDomain is AH 10.2-4 to 10.2-8 (AH-4.4-1, AH-4.4-4, O12, O13, O20).
//
// Rules: AH-10.2-4, AH-10.2-6, AH-10.2-9.
func TestIdentityDomain(t *testing.T) {
	tests := []struct {
		name, args string
		ok         bool
	}{
		{"largest", `{"i":9007199254740991,"j":-9007199254740991}`, true},
		{"2^53", `{"i":9007199254740992}`, false},
		{"-2^53", `{"i":-9007199254740992}`, false},
		{"u64", `{"i":18446744073709551615}`, false},
		{"beyond u64", `{"i":99999999999999999999999}`, false},
		{"integral with point", `{"i":9007199254740993.0}`, false},
		{"integral with exponent", `{"i":1.8446744073709552e19}`, false},
		{"1e21", `{"i":1e21}`, true},
		{"above 1e21", `{"i":9.999999999999997e+22}`, true},
		{"fraction", `{"i":0.1}`, true},
		{"overflow", `{"i":1e400}`, false},
		{"surrogate", `{"s":"\ud800"}`, false},
		{"utf8", "{\"s\":\"\xff\"}", false},
		{"utf8 key", "{\"\xff\":1}", false},
		{"duplicate", `{"a":1,"a":1}`, false},
		{"string id", `{"i":"18446744073709551615"}`, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			called := false
			h, _ := opened(t, agenthooks.Options{Interceptors: []agenthooks.Registration{{Interceptor: agenthooks.InterceptorFunc(
				func(context.Context, *agenthooks.Context) (agenthooks.Verdict, error) {
					called = true
					return agenthooks.Allow(), nil
				})}}})
			h.TakeRecords()
			called = false
			out, err := h.EmitJSONUnchecked(t.Context(), jsontext.Value(contextWith(tt.args)))
			if (err == nil) != tt.ok || called != tt.ok {
				t.Fatalf("err %v, interceptor called %v; want ok=%v", err, called, tt.ok)
			}
			r := out.Record
			if !tt.ok && (r.Verdict.Reason != agenthooks.ReasonContextInvalid || r.InputIdentity != nil || r.EnforcedIdentity != nil ||
				r.DecidedBy != nil || r.IdentityProvider == nil || r.SessionID != "s" || r.Sequence != 3) {
				t.Errorf("record %+v", r)
			}
			if strings.HasPrefix(tt.name, "2^53") && !strings.Contains(r.Verdict.Message, "string-encode 64-bit identifiers") {
				t.Errorf("AH-10.2-8: message %q", r.Verdict.Message)
			}
			if strings.Contains(r.Verdict.Message, "90071992547") {
				t.Errorf("message quotes the value: %q", r.Verdict.Message)
			}
		})
	}
}

// TestBigIntegerOutsideTheProjection is AH-10.2-7.
func TestBigIntegerOutsideTheProjection(t *testing.T) {
	h, s := opened(t, agenthooks.Options{Interceptors: allows(1)})
	e := agenthooks.Final("x")
	e.Optional.Extensions = map[string]jsontext.Value{"acme": jsontext.Value(`{"n":18446744073709551616}`)}
	if _, err := s.Emit(t.Context(), e); err != nil {
		t.Errorf("extension: %v", err)
	}
	e.Optional.Extensions["acme"] = jsontext.Value(`{"n":1e999}`)
	if _, err := s.Emit(t.Context(), e); err == nil {
		t.Error("AH-4.4-1: a non-finite number passed in an optional member")
	}
	_ = h
}

// TestNullProviderKeepsBigIntegers: the integer rule belongs to the default
// provider, the token reaches the tool unchanged (AH-10.2-8).
//
// Rules: AH-4.4-3.
func TestNullProviderKeepsBigIntegers(t *testing.T) {
	h, s := opened(t, agenthooks.Options{Interceptors: allows(1), Identity: agenthooks.NoIdentity()})
	e, err := s.Emit(t.Context(), agenthooks.BeforeTool("1", "n", jsontext.Value(`{"id":18446744073709551616,"f":1.0}`)))
	if err != nil {
		t.Fatal(err)
	}
	if got := string(e.Target()); got != `{"id":18446744073709551616,"f":1.0}` {
		t.Errorf("target %s", got)
	}
	r := h.TakeRecords()[0]
	if r.IdentityProvider != nil || r.InputIdentity != nil || r.EnforcedIdentity != nil {
		t.Errorf("record %+v", r)
	}
}

// TestDepthBound is AH-12.3-1 and AH-12.3-2, for every provider.
func TestDepthBound(t *testing.T) {
	// At pre_tool_call the args sit at level 3 in tool_call, so their own
	// object is level 3 and its member value level 4.
	nest := func(n int) string {
		return `{"a":` + strings.Repeat("[", n) + "1" + strings.Repeat("]", n) + `}`
	}
	for _, p := range []agenthooks.IdentityProvider{{}, agenthooks.NoIdentity()} {
		h, s := opened(t, agenthooks.Options{Interceptors: allows(1), Identity: p})
		for _, emit := range []func(string) error{
			func(a string) error {
				_, err := h.EmitJSON(t.Context(), jsontext.Value(contextWith(a)))
				return err
			},
			func(a string) error {
				_, err := s.Emit(t.Context(), agenthooks.BeforeTool("1", "n", jsontext.Value(a)))
				return err
			},
		} {
			if err := emit(nest(124)); err != nil {
				t.Errorf("%q: level 128: %v", p.Name(), err)
			}
			if err := emit(nest(125)); err == nil {
				t.Errorf("%q: level 129 passed", p.Name())
			}
			if err := emit(nest(200000)); err == nil {
				t.Errorf("%q: level 200000 passed", p.Name())
			}
		}
	}
	// AH-12.3-2: a bare target may be a scalar wrapped in 126 arrays.
	h, _ := opened(t, agenthooks.Options{Interceptors: allows(1)})
	bare := func(n int) string {
		m := strings.Repeat("[", n) + "1" + strings.Repeat("]", n)
		return `{"spec":"agent-hooks/0.1","interception_point":"pre_model_call","timestamp":"t","sequence":3,"agent":{"id":"a","framework":"f"},` +
			`"session":{"id":"s"},"model":{"id":"m"},"messages":` + m + `,"target":` + m + `}`
	}
	if _, err := h.EmitJSON(t.Context(), jsontext.Value(bare(126))); err != nil {
		t.Errorf("126 arrays: %v", err)
	}
	if _, err := h.EmitJSON(t.Context(), jsontext.Value(bare(127))); err == nil {
		t.Error("127 arrays passed")
	}
}

// TestSizeBound is AH-12.3-1.
func TestSizeBound(t *testing.T) {
	h, s := opened(t, agenthooks.Options{Interceptors: allows(1), MaxContextBytes: 2000})
	if _, err := s.Emit(t.Context(), agenthooks.Final(strings.Repeat("x", 500))); err != nil {
		t.Error(err)
	}
	out, err := s.EmitUnchecked(t.Context(), agenthooks.Final(strings.Repeat("x", 1000))) // stands in it twice
	if err != nil || out.Proceeds || out.Record.Verdict.Reason != agenthooks.ReasonContextInvalid {
		t.Errorf("too large: %+v %v", out, err)
	}
	if _, err := h.EmitJSON(t.Context(), jsontext.Value(contextWith(`{"x":"`+strings.Repeat("x", 2000)+`"}`))); err == nil {
		t.Error("EmitJSON: too large passed")
	}
}

func TestProviderConfiguration(t *testing.T) {
	fn := func(*agenthooks.Context) (string, error) { return "x", nil }
	for name, tt := range map[string]struct {
		p  agenthooks.IdentityProvider
		ok bool
	}{
		"default":      {agenthooks.IdentityProvider{}, true},
		"none":         {agenthooks.NoIdentity(), true},
		"custom":       {agenthooks.CustomIdentity("mine-1", fn), true},
		"jcs prefix":   {agenthooks.CustomIdentity("jcs-other", fn), false},
		"upper case":   {agenthooks.CustomIdentity("Mine", fn), false},
		"digit first":  {agenthooks.CustomIdentity("1mine", fn), false},
		"empty name":   {agenthooks.CustomIdentity("", fn), false},
		"no function":  {agenthooks.CustomIdentity("mine", nil), false},
		"nothing":      {agenthooks.CustomIdentity("", nil), true}, // equals the zero value
		"hmac":         {agenthooks.HMACIdentity("k1", make([]byte, 32)), true},
		"hmac short":   {agenthooks.HMACIdentity("k1", make([]byte, 8)), false},
		"hmac bad id":  {agenthooks.HMACIdentity("K 1", make([]byte, 32)), false},
		"hmac no key":  {agenthooks.HMACIdentity("k1", nil), false},
		"custom empty": {agenthooks.CustomIdentity("", fn), false},
	} {
		_, err := agenthooks.New(agenthooks.Options{AgentID: "a", Framework: "f", Identity: tt.p})
		if (err == nil) != tt.ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestHMACIdentity covers one part of the contract.
//
// Rules: AH-10.1-3, AH-14-4.
func TestHMACIdentity(t *testing.T) {
	key := []byte("0123456789abcdef0123456789abcdef")
	h, s := opened(t, agenthooks.Options{Interceptors: allows(1), Identity: agenthooks.HMACIdentity("k1", key)})
	e, err := s.Emit(t.Context(), agenthooks.Final("x"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := e.Context().Canonical()
	if err != nil {
		t.Fatal(err)
	}
	m := hmac.New(sha256.New, key)
	m.Write(text)
	r := h.TakeRecords()[0]
	if want := "hmac-sha256:" + hex.EncodeToString(m.Sum(nil)); *r.InputIdentity != want || *r.IdentityProvider != "hmac-sha256-k1" {
		t.Errorf("got %s of %s, want %s", *r.InputIdentity, *r.IdentityProvider, want)
	}
}

// TestFailingProvider is AH-10.1-2 and E3 before E4.
func TestFailingProvider(t *testing.T) {
	for name, fn := range map[string]func(*agenthooks.Context) (string, error){
		"error": func(*agenthooks.Context) (string, error) { return "", fmt.Errorf("secret %d", 1) },
		"panic": func(*agenthooks.Context) (string, error) { panic("secret") },
		"bytes": func(*agenthooks.Context) (string, error) { return "\xff", nil },
	} {
		for _, n := range []int{0, 1} {
			h, s := opened(t, agenthooks.Options{Identity: agenthooks.CustomIdentity("ctk-fault", fn), Interceptors: allows(n)})
			_, err := s.Emit(t.Context(), agenthooks.Shutdown("error")) // the startup was denied
			var b *agenthooks.BlockedError
			if !errors.As(err, &b) || b.Reason() != agenthooks.ReasonContextInvalid {
				t.Fatalf("%s: %v", name, err)
			}
			r := h.TakeRecords()[0]
			if r.InputIdentity != nil || r.EnforcedIdentity != nil || *r.IdentityProvider != "ctk-fault" || len(r.Verdicts) != 0 ||
				r.FoldTruncated != nil || strings.Contains(fmt.Sprint(r.Verdict), "secret") {
				t.Errorf("%s: record %+v", name, r)
			}
		}
	}
}

// TestSecondProviderCall is AH-10.1-4 and AH-10.3-5 for a custom provider.
//
// Rules: AH-10.1-1.
func TestSecondProviderCall(t *testing.T) {
	calls := 0
	provider := agenthooks.CustomIdentity("count", func(c *agenthooks.Context) (string, error) {
		calls++
		if c.Text("output.content") == "bad" {
			return "", errors.New("no")
		}
		return fmt.Sprint("id-", calls), nil
	})
	value := "good"
	_, s := opened(t, agenthooks.Options{Identity: provider, Interceptors: []agenthooks.Registration{{Interceptor: agenthooks.InterceptorFunc(
		func(_ context.Context, c *agenthooks.Context) (agenthooks.Verdict, error) {
			if c.Point() == agenthooks.Output {
				return agenthooks.Rewrite("$target.content", value), nil
			}
			return agenthooks.Allow(), nil
		})}}})
	if calls != 1 {
		t.Errorf("no transform: %d calls", calls)
	}
	out, err := s.Emit(t.Context(), agenthooks.Final("x"))
	if err != nil || calls != 3 || *out.Record.InputIdentity != "id-2" || *out.Record.EnforcedIdentity != "id-3" {
		t.Errorf("transform: %d calls, %v", calls, err)
	}
	value = "bad"
	out, _ = s.EmitUnchecked(t.Context(), agenthooks.Final("x"))
	r := out.Record
	if out.Proceeds || r.Verdict.Reason != agenthooks.ReasonContextInvalid || r.InputIdentity == nil || r.EnforcedIdentity != nil || r.DecidedBy != nil ||
		len(r.Verdicts) != 1 {
		t.Errorf("second call fails: %+v", r)
	}
}
