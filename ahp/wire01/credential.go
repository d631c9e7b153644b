package wire01

import (
	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/internal/walk"
)

// credential reports a literal credential, which no registration may hold
// (V-REG-3), without quoting it.
func (d *decoder) credential(off int) {
	d.Fail(walk.StageBody, ahp.FailMalformed, ahp.CodeInvalidParams, off, "a literal credential", "a reference: authentication.tokenEnv names a variable")
}

// unread passes a member that nothing reads, with a warning; with hunt it looks
// for credentials in it.
func (d *decoder) unread(dst *ahp.Members, known string, hunt bool) {
	d.Warn(d.NameVal().Start, "a member that nothing reads", known)
	if hunt {
		d.hunt(dst)
		return
	}
	d.Keep(dst, d.Skip())
}

// hunt keeps the current member, and reports each string in it whose name says
// that it is a credential (V-REG-3).
func (d *decoder) hunt(dst *ahp.Members) {
	secret := walk.SecretName(d.Name())
	if k := d.Kind(); k != '{' && k != '[' {
		v := d.Skip()
		if secret && v.Kind == '"' && !v.Empty() {
			d.credential(v.Start)
		}
		d.Keep(dst, v)
		return
	}
	v := d.Here()
	d.huntIn(secret)
	v.End = d.Pos()
	d.Keep(dst, v)
}

func (d *decoder) huntIn(secret bool) {
	object := d.Kind() == '{'
	d.Open()
	for d.More() {
		if object {
			secret = walk.SecretName(d.Name())
		}
		switch d.Kind() {
		case '{', '[':
			d.huntIn(secret)
		default:
			if v := d.Skip(); secret && v.Kind == '"' && !v.Empty() {
				d.credential(v.Start)
			}
		}
	}
}
