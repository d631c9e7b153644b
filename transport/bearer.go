package transport

import (
	"context"
	"errors"
	"strings"

	"github.com/holdpoint/holdpoint/ahp"
)

var (
	errNoToken  = errors.New("the variable of the bearer token is not set")
	errNoSecret = errors.New("the reference of the bearer token does not resolve")
	errBadToken = errors.New("the bearer token holds characters that no header may hold")
)

// bearer returns what resolves the token of a, or nil without one. A binding that
// cannot be resolved stays a binding: it fails at each message, and never turns into
// a message without a credential (D-AUTH-4).
func (c *httpCarrier) bearer(a *ahp.Bearer, o Options) func(context.Context) (string, *ahp.Failure) {
	switch {
	case a == nil:
		return nil
	case a.TokenRef != "":
		return func(ctx context.Context) (string, *ahp.Failure) { return c.secret(ctx, o.Secret, a.TokenRef) }
	}
	return func(context.Context) (string, *ahp.Failure) {
		token, _ := o.LookupEnv(a.TokenEnv)
		if token == "" {
			return "", &ahp.Failure{Class: ahp.FailCredential, Err: errNoToken}
		}
		return sound(token)
	}
}

// sound refuses a token that would end the header, or the request, early.
func sound(token string) (string, *ahp.Failure) {
	if strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r >= 0x7f }) {
		return "", &ahp.Failure{Class: ahp.FailCredential, Err: errBadToken}
	}
	return token, nil
}

// secret asks the host for a token. The deadline of ctx bounds the wait, not what
// the host does with it: a function that does not return holds up Close alone
// (D-AUTH-10, D-INT-6). Its error goes no further, since it may name what is secret.
func (c *httpCarrier) secret(ctx context.Context, lookup func(context.Context, string) (string, error), ref string) (string, *ahp.Failure) {
	if lookup == nil {
		return "", &ahp.Failure{Class: ahp.FailCredential, Err: errNoSecret}
	}
	c.mu.Lock()
	if c.closed {
		c.mu.Unlock()
		return "", shut()
	}
	c.wg.Add(1)
	c.mu.Unlock()
	inner, cancel := context.WithCancel(ctx)
	stop := context.AfterFunc(c.ctx, cancel)
	found := make(chan string, 1)
	go func() {
		defer c.wg.Done()
		defer cancel()
		defer stop()
		token := ""
		defer func() {
			_ = recover() // its text may hold the secret
			found <- token
		}()
		if t, err := lookup(inner, ref); err == nil {
			token = t
		}
	}()
	select {
	case token := <-found:
		switch {
		case token != "":
			return sound(token)
		case c.ctx.Err() != nil:
			return "", shut()
		case ctx.Err() != nil:
			return "", ended(ctx)
		}
		return "", &ahp.Failure{Class: ahp.FailCredential, Err: errNoSecret}
	case <-ctx.Done():
		return "", ended(ctx)
	case <-c.ctx.Done():
		return "", shut()
	}
}
