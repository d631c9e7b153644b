package agenthooks

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/holdpoint/holdpoint/jcs"
)

// An IdentityProvider binds records and approvals to a context (AH 10.1). The
// zero value is the default, jcs-sha256: SHA-256 over the canonical form of the
// contract's projection. [NoIdentity], [HMACIdentity] and [CustomIdentity] make
// the others.
type IdentityProvider struct {
	name string
	none bool
	key  []byte
	fn   func(*Context) (string, error)
}

// DefaultIdentity is the name of the default provider.
const DefaultIdentity = "jcs-sha256"

// NoIdentity declares that contexts have no identity: records carry null, and
// approvals bind by correlation only.
func NoIdentity() IdentityProvider { return IdentityProvider{none: true} }

// CustomIdentity is a provider of the host's own. Name matches
// ^[a-z][a-z0-9_-]*$ and does not start with "jcs"; [New] refuses others. fn
// should be pure and is called concurrently; when it fails or panics the
// emission is denied. [Context.Canonical] gives it the text that the default
// provider hashes.
func CustomIdentity(name string, fn func(*Context) (string, error)) IdentityProvider {
	return IdentityProvider{name: name, fn: fn}
}

// HMACIdentity is HMAC-SHA-256 with key over what the default provider hashes,
// named hmac-sha256-<keyID>. Use it where somebody who guesses a context must
// not be able to confirm it (AH-14-4). It copies key, which must have at least
// 16 bytes; [New] refuses a shorter one.
func HMACIdentity(keyID string, key []byte) IdentityProvider {
	return IdentityProvider{name: "hmac-sha256-" + keyID, key: append([]byte{}, key...)}
}

// Name is what records carry, "" for [NoIdentity].
func (p IdentityProvider) Name() string {
	switch {
	case p.none:
		return ""
	case p.name == "":
		return DefaultIdentity
	}
	return p.name
}

func (p IdentityProvider) validate() error {
	if p.none || p.name == "" && p.fn == nil && p.key == nil {
		return nil
	}
	if p.fn == nil && p.key == nil {
		return errors.New("identity: a named provider needs a function")
	}
	if p.fn == nil && len(p.key) < 16 {
		return fmt.Errorf("identity: key of %d bytes, need at least 16", len(p.key))
	}
	ok := p.name != "" && 'a' <= p.name[0] && p.name[0] <= 'z' && frameworkPattern(p.name)
	if !ok || strings.HasPrefix(p.name, "jcs") {
		return fmt.Errorf("identity: name %q must match ^[a-z][a-z0-9_-]*$ and not start with jcs", p.name)
	}
	return nil
}

// Identity returns the identity of c under the default provider, "sha256:" and
// 64 hex digits. The error is a [*ContextError], for instance for an integer
// beyond ±(2^53-1) in the projection (AH 10.2-4).
func Identity(c *Context) (string, error) {
	s, err := canonicalIdentity(c, nil, unbounded)
	if err != nil {
		return "", err
	}
	return s, nil
}

// Canonical returns the canonical form (RFC 8785) of the contract's projection
// of c (AH-10.2-1): what the default provider hashes. The error is a
// [*ContextError].
func (c *Context) Canonical() ([]byte, error) {
	out, err := c.appendCanonical(nil, unbounded)
	if err != nil {
		return nil, err
	}
	return out, nil
}

// unbounded is for contexts whose bounds were checked before.
var unbounded = bounds{1 << 30, 1 << 20}

// identify runs p on c. For a custom provider the error holds a type name at
// most (AH-10.1-2).
func (p *IdentityProvider) identify(c *Context, b bounds) (id string, err *ContextError) {
	if p.fn == nil {
		id, err = canonicalIdentity(c, p.key, b)
		c.dropMemo()
		return id, err
	}
	c.dropMemo()
	defer func() {
		if r := recover(); r != nil {
			id, err = "", &ContextError{Path: "$", Rule: fmt.Sprintf("identity provider panicked: %T", r)}
		}
	}()
	id, perr := p.fn(c)
	if perr != nil {
		return "", &ContextError{Path: "$", Rule: fmt.Sprintf("identity provider failed: %T", perr), Detail: perr}
	}
	if strings.ToValidUTF8(id, "") != id {
		return "", &ContextError{Path: "$", Rule: "identity provider returned no text"}
	}
	return id, nil
}

var preimages = sync.Pool{New: func() any { return new([]byte) }}

// maxKeptPreimage bounds what the pool keeps, so that one large context does
// not pin its size for good.
const maxKeptPreimage = 256 << 10

func canonicalIdentity(c *Context, key []byte, b bounds) (string, *ContextError) {
	p := preimages.Get().(*[]byte)
	out, err := c.appendCanonical((*p)[:0], b)
	id := ""
	switch {
	case err != nil:
	case key == nil:
		id = jcs.DigestOf(out)
	default:
		h := hmac.New(sha256.New, key)
		h.Write(out)
		id = "hmac-sha256:" + hex.EncodeToString(h.Sum(nil))
	}
	if cap(out) <= maxKeptPreimage {
		*p = out
		preimages.Put(p)
	}
	return id, err
}

// appendCanonical writes the canonical projection. The target and the member
// that mirrors it are the same text as a rule, so the form of the first is
// copied for the second.
func (c *Context) appendCanonical(dst []byte, b bounds) ([]byte, *ContextError) {
	if c.env != nil {
		return dst, c.env
	}
	dst = slices.Grow(dst, len(c.text)) // the projection is a part of the text
	var seen, form span                 // a large value in c.text and its canonical form in dst
	write := func(s span, level int, f field, t topMember) *ContextError {
		from := len(dst)
		v := s.of(c.text)
		if known := c.memo.find(c.text, s); known != nil {
			dst = append(dst, known...)
			return nil
		}
		if seen.ok() && seen.to-seen.from == len(v) && bytes.Equal(seen.of(c.text), v) {
			dst = append(dst, dst[form.from:form.to]...)
			return nil
		}
		o := b.at(level)
		o.BigIntegers = false
		var err error
		if dst, err = jcs.Canonicalize(dst, v, o); err != nil {
			return valueError(c.fieldPath(f, t), err)
		}
		if len(v) > 32 && len(v) > seen.to-seen.from {
			seen, form = s, span{from, len(dst)}
		}
		return nil
	}
	program := c.spec.program
	aliasFrom, aliasEnd := 0, -1 // the mirrored object, when it is written field by field
	for i := 0; i < len(program); i++ {
		o := &program[i]
		dst = append(dst, o.lit...)
		var err *ContextError
		switch {
		case o.field != fNone:
			err = write(c.field[o.field], o.level, o.field, topNone)
		case i == aliasEnd:
			seen, form = c.top[c.spec.aliasTop], span{aliasFrom, len(dst)}
		case o.whole == topNone || c.pure&(1<<o.whole) == 0:
		case c.memo == nil && (o.whole != c.spec.aliasTop || c.spec.aliasField == ""):
			// Unless the target, which is written by now, comes up inside.
			err = write(c.top[o.whole], o.level, fNone, o.whole)
			i += o.skip
		case o.whole == c.spec.aliasTop && c.spec.aliasField == "":
			aliasFrom, aliasEnd = len(dst), i+o.skip
		}
		if err != nil {
			return dst, err
		}
	}
	return dst, nil
}

// fieldPath names a value of the projection, for messages.
func (c *Context) fieldPath(f field, t topMember) string {
	switch f {
	case fNone:
		return "$." + topNames[t]
	case fSpec:
		return "$.spec"
	case fPoint:
		return "$.interception_point"
	case fTimestamp:
		return "$.timestamp"
	case fSequence:
		return "$.sequence"
	case fFramework:
		return "$.agent.framework"
	case fAgentID:
		return "$.agent.id"
	case fSessionID:
		return "$.session.id"
	case fTarget:
		return "$.target"
	case fCond, fMax: // below
	}
	f -= fCond
	for _, cond := range c.spec.conds {
		n := field(max(len(cond.fields), 1))
		if f < n {
			if cond.fields == nil {
				return "$." + topNames[cond.top]
			}
			return "$." + topNames[cond.top] + "." + cond.fields[f].name
		}
		f -= n
	}
	return "$"
}
