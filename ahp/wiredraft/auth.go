package wiredraft

import (
	"strings"

	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/internal/walk"
	"github.com/holdpoint/holdpoint/internal/uri"
)

// badURL says what is wrong with a URL that something is sent to, without quoting it.
func badURL(s string, allowPlain bool) (found, expected string) {
	_, found, expected = uri.Endpoint(s, allowPlain, "a credential comes from a reference")
	return found, expected
}

// authentication reads one of the two portable forms (AHP draft section 22.4).
func (r *registrar) authentication() (*ahp.Bearer, *ahp.OAuth) {
	start := r.Pos()
	if r.Kind() != '{' {
		r.bad(r.Skip(), "an object of type bearer or oauth")
		return nil, nil
	}
	typ, ok := r.Ahead("type")
	switch {
	case ok && r.Is(typ, "bearer"):
		return r.bearer(start), nil
	case ok && r.Is(typ, "oauth"):
		return nil, r.oauth(start)
	}
	var none ahp.Members
	r.Open()
	for r.More() {
		switch name := r.Name(); {
		case string(name) == "type":
			v := r.Skip()
			if r.Is(v, "mtls") || r.Is(v, "workload") {
				r.badName(v, "bearer or oauth: others are not portable") // AHP-AUTH-001
				continue
			}
			r.badName(v, "bearer or oauth")
		case literal(name):
			r.credential(r.Pos())
			r.Skip()
		default:
			r.hunt(&none)
		}
	}
	if !ok {
		r.lacks(start, "type", "bearer or oauth")
	}
	return nil, nil
}

// literal reports whether a member of authentication would hold a secret itself
// (D-REG-5, D-AMB-26).
func literal(name []byte) bool {
	switch string(name) {
	case "token", "bearerToken", "value":
		return true
	}
	return false
}

func (r *registrar) bearer(start int) *ahp.Bearer {
	a := new(ahp.Bearer)
	env, ref := 0, 0
	r.Open()
	for r.More() {
		switch name := r.Name(); {
		case string(name) == "type":
			r.Skip()
		case string(name) == "tokenEnv":
			env = r.NameVal().Start
			v := r.Skip()
			if v.Kind != '"' || !walk.EnvName(r.Content(v)) {
				r.bad(v, "the name of an environment variable: letters, digits and _")
				continue
			}
			a.TokenEnv = r.Str(v)
			if lookup := r.o.LookupEnv; lookup != nil || r.o.StrictSecrets {
				set := false
				if lookup != nil {
					val, ok := lookup(a.TokenEnv)
					set = ok && val != ""
				}
				r.resolves(set, v, "an environment variable that is not set")
			}
		case string(name) == "tokenRef":
			ref = r.NameVal().Start
			a.TokenRef = r.secretRef()
		case literal(name):
			r.credential(r.Pos())
			r.Skip()
		default:
			r.unread(&a.Unknown, "type, tokenEnv and tokenRef", true)
		}
	}
	switch {
	case env > 0 && ref > 0:
		r.extra(max(env, ref), "tokenRef", "tokenRef beside tokenEnv", "one of the two")
	case env == 0 && ref == 0:
		r.lacks(start, "tokenEnv", "tokenEnv or tokenRef")
	}
	return a
}

// resolves reports a reference that does not resolve (D-SUB-9).
func (r *registrar) resolves(ok bool, v walk.Val, found string) {
	const expected = "a secret in it when a message is sent"
	switch {
	case ok:
	case r.o.StrictSecrets:
		r.badAs(v.Start, found, expected)
	default:
		r.Warn(v.Start, found, expected)
	}
}

// secretRef reads the name of a secret of the host's.
func (r *registrar) secretRef() string {
	v := r.Skip()
	if v.Kind != '"' || v.Empty() {
		r.bad(v, "the name of a secret")
		return ""
	}
	s := r.Str(v)
	if lookup := r.o.LookupSecret; lookup != nil || r.o.StrictSecrets {
		r.resolves(lookup != nil && lookup(s), v, "a secret that the host does not have")
	}
	return s
}

func (r *registrar) oauth(start int) *ahp.OAuth {
	a := new(ahp.OAuth)
	var issuer, resource, client, flow bool
	r.Open()
	for r.More() {
		switch name := r.Name(); {
		case string(name) == "type":
			r.Skip()
		case string(name) == "issuer":
			issuer = true
			v := r.Skip()
			if v.Kind != '"' {
				r.bad(v, "an https URL")
				continue
			}
			a.Issuer = r.Str(v)
			found, expected := badURL(a.Issuer, true)
			if found == "" && !strings.HasPrefix(a.Issuer, "https://") {
				found, expected = "a URL with another scheme", "https"
			}
			if found != "" {
				r.badAs(v.Start, found, expected)
			}
		case string(name) == "resource":
			resource = true
			a.Resource = r.name()
		case string(name) == "clientId":
			client = true
			a.ClientID = r.name()
		case string(name) == "flow":
			flow = true
			a.Flow = r.choose("authorization_code_pkce or client_credentials", "authorization_code_pkce", "client_credentials")
		case string(name) == "scopes":
			a.Scopes = r.names("an array of strings that are not empty, each once", 1, true)
		case string(name) == "clientSecretRef":
			a.ClientSecretRef = r.secretRef()
		case literal(name):
			r.credential(r.Pos())
			r.Skip()
		default:
			r.unread(&a.Unknown, "type, issuer, resource, clientId, flow, scopes and clientSecretRef", true)
		}
	}
	if !issuer {
		r.lacks(start, "issuer", "an https URL")
	}
	if !resource {
		r.lacks(start, "resource", nonEmpty)
	}
	if !client {
		r.lacks(start, "clientId", nonEmpty)
	}
	if !flow {
		r.lacks(start, "flow", "authorization_code_pkce or client_credentials")
	}
	return a
}

// credential reports a literal credential, which no registration may hold
// (D-REG-5), without quoting it.
func (r *registrar) credential(off int) {
	r.badAs(off, "a literal credential", "a reference: tokenEnv or tokenRef names a secret")
}

// unread passes a member that nothing reads, with a warning (D-REG-2); with hunt it
// looks for credentials in it.
func (r *registrar) unread(dst *ahp.Members, known string, hunt bool) {
	r.Warn(r.NameVal().Start, "a member that nothing reads", known)
	if hunt {
		r.hunt(dst)
		return
	}
	r.Keep(dst, r.Skip())
}

// hunt keeps the current member, and reports each string in it whose name says
// that it is a credential (D-REG-5).
func (r *registrar) hunt(dst *ahp.Members) {
	secret := walk.SecretName(r.Name())
	if k := r.Kind(); k != '{' && k != '[' {
		v := r.Skip()
		if secret && v.Kind == '"' && !v.Empty() {
			r.credential(v.Start)
		}
		r.Keep(dst, v)
		return
	}
	member, v := r.NameVal(), r.Here()
	r.huntIn(secret)
	v.End = r.Pos()
	if !r.Dead() {
		*dst = append(*dst, ahp.Member{Name: r.Str(member), Value: r.Raw(v)})
	}
}

func (r *registrar) huntIn(secret bool) {
	object := r.Kind() == '{'
	r.Open()
	for r.More() {
		if object {
			secret = walk.SecretName(r.Name())
		}
		switch r.Kind() {
		case '{', '[':
			r.huntIn(secret)
		default:
			if v := r.Skip(); secret && v.Kind == '"' && !v.Empty() {
				r.credential(v.Start)
			}
		}
	}
}
