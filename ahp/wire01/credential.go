package wire01

import (
	"github.com/holdpoint/holdpoint/ahp"
	"github.com/holdpoint/holdpoint/ahp/internal/walk"
)

// credential reports a literal credential, which no registration may hold
// (V-REG-3), without quoting it.
func (w *walker) credential(off int) {
	w.fail(stageBody, ahp.FailMalformed, ahp.CodeInvalidParams, off, "a literal credential", "a reference: authentication.tokenEnv names a variable")
}

// unread passes a member that nothing reads, with a warning; with hunt it looks
// for credentials in it.
func (w *walker) unread(dst *ahp.Members, known string, hunt bool) {
	s := w.path[len(w.path)-1]
	w.warn(s.nameStart, "a member that nothing reads", known)
	if hunt {
		w.hunt(dst)
		return
	}
	w.keep(dst, w.skip())
}

// hunt keeps the current member, and reports each string in it whose name says
// that it is a credential (V-REG-3).
func (w *walker) hunt(dst *ahp.Members) {
	secret := walk.SecretName(w.name())
	if k := w.kind(); k != '{' && k != '[' {
		v := w.skip()
		if secret && v.kind == '"' && v.end-v.start > 2 {
			w.credential(v.start)
		}
		w.keep(dst, v)
		return
	}
	v := val{kind: w.kind(), start: w.pos}
	w.huntIn(secret)
	v.end = w.pos
	w.keep(dst, v)
}

func (w *walker) huntIn(secret bool) {
	object := w.kind() == '{'
	w.open()
	for w.more() {
		if object {
			secret = walk.SecretName(w.name())
		}
		switch w.kind() {
		case '{', '[':
			w.huntIn(secret)
		default:
			if v := w.skip(); secret && v.kind == '"' && v.end-v.start > 2 {
				w.credential(v.start)
			}
		}
	}
}
