package wiredraft

import "github.com/holdpoint/holdpoint/ahp"

// usage reads an account of tokens: of a provider attempt, or of a turn.
func (d *decoder) usage(attempt bool) *ahp.Usage {
	start, ok := d.object("an object with kind, scope, completeness and provenance")
	if !ok {
		return nil
	}
	u := new(ahp.Usage)
	kinds, scopes := "total", "turn"
	if attempt {
		kinds, scopes = "amount", "attempt"
	}
	var kind, scope, completeness, provenance bool
	for d.More() {
		switch string(d.Name()) {
		case "kind":
			kind = true
			u.Kind = d.one(kinds, kinds)
		case "scope":
			scope = true
			u.Scope = d.one(scopes, scopes)
		case "completeness":
			completeness = true
			u.Completeness = d.one("complete, partial or unknown", "complete", "partial", "unknown")
		case "provenance":
			provenance = true
			if attempt {
				u.Provenance = d.one("provider or estimate", "provider", "estimate")
			} else {
				u.Provenance = d.one("provider, estimate or mixed", "provider", "estimate", "mixed")
			}
		case "inputTokens":
			u.InputTokens = d.countPtr()
		case "outputTokens":
			u.OutputTokens = d.countPtr()
		case "cacheReadTokens":
			u.CacheReadTokens = d.countPtr()
		case "cacheWriteTokens":
			u.CacheWriteTokens = d.countPtr()
		case "cost":
			u.Cost = d.cost()
		default:
			d.closed()
		}
	}
	if !kind {
		d.lacks(start, "kind", kinds)
	}
	if !scope {
		d.lacks(start, "scope", scopes)
	}
	if !completeness {
		d.lacks(start, "completeness", "complete, partial or unknown")
	}
	if !provenance {
		d.lacks(start, "provenance", "where the numbers come from")
	}
	return u
}

func (d *decoder) cost() *ahp.Cost {
	start, ok := d.object("an object with amount, currency and basis")
	if !ok {
		return nil
	}
	c := new(ahp.Cost)
	var amount, currency, basis bool
	for d.More() {
		switch string(d.Name()) {
		case "amount":
			amount = true
			c.Amount = d.number()
		case "currency":
			currency = true
			c.Currency = d.currency()
		case "basis":
			basis = true
			c.Basis = d.one("billed, reported or estimated", "billed", "reported", "estimated")
		default:
			d.closed()
		}
	}
	if !amount {
		d.lacks(start, "amount", "a number from 0")
	}
	if !currency {
		d.lacks(start, "currency", currencyCode)
	}
	if !basis {
		d.lacks(start, "basis", "billed, reported or estimated")
	}
	return c
}

const currencyCode = "three upper-case letters"

func isCurrency[T string | []byte](b T) bool {
	if len(b) != 3 {
		return false
	}
	for i := range len(b) {
		if b[i] < 'A' || b[i] > 'Z' {
			return false
		}
	}
	return true
}

func (d *decoder) currency() string {
	v := d.Skip()
	if v.Kind != '"' || !isCurrency(d.Content(v)) {
		d.bad(v, currencyCode)
		return ""
	}
	return d.Str(v)
}

func (d *decoder) pricing() *ahp.Pricing {
	start, ok := d.object("an object with currency")
	if !ok {
		return nil
	}
	p := new(ahp.Pricing)
	currency := false
	for d.More() {
		switch string(d.Name()) {
		case "currency":
			currency = true
			p.Currency = d.currency()
		case "inputPerMillionTokens":
			p.InputPerMillionTokens = d.number()
		case "outputPerMillionTokens":
			p.OutputPerMillionTokens = d.number()
		default:
			d.closed()
		}
	}
	if !currency {
		d.lacks(start, "currency", currencyCode)
	}
	return p
}

func (d *decoder) tokenCounts() *ahp.TokenCounts {
	if _, ok := d.object("an object of counts"); !ok {
		return nil
	}
	c := new(ahp.TokenCounts)
	for d.More() {
		switch string(d.Name()) {
		case "before":
			c.Before = d.countPtr()
		case "after":
			c.After = d.countPtr()
		default:
			d.closed()
		}
	}
	return c
}
