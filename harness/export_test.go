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
