package harness

import "github.com/holdpoint/holdpoint/ahp"

// SetStep makes f run between the steps of every call, in the goroutine that is there.
// It must be set before the first call.
func SetStep(h *Harness, f func(step string)) { h.step = f }

// Closing is closed when Close has ended every call under way.
func Closing(h *Harness) <-chan struct{} { return h.ctx.Done() }

// Scrub empties the strings of a JSON text that hold a text.
func Scrub(r ahp.Raw, text string) (ahp.Raw, bool) {
	var h hiddenTexts
	h.add(text, &ahp.Part{Selection: ahp.SelectOmit})
	return h.scrub(r)
}

// HoldsCopy reports whether s is or holds one of the texts.
func HoldsCopy(texts []string, s string) bool {
	var h hiddenTexts
	for _, t := range texts {
		h.add(t, &ahp.Part{Selection: ahp.SelectOmit})
	}
	if h.find(s) >= 0 && !h.in(s) {
		return false
	}
	return h.in(s)
}
