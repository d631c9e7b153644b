// Package deep spares goroutines the growth of their stacks.
package deep

// frame is what a decision takes: shell analysis and the parser nest deeply.
const frame = 24 << 10

// Stack makes the caller's stack large at once. A new goroutine has a small one, which
// is copied each time it doubles, the more frames the slower; here it holds next to
// nothing. It is worth its while at the start of a goroutine that decides something.
func Stack() { grow(false) }

// grow has a large frame, whether or not it is used: room for it is made when grow is
// entered.
//
//go:noinline
func grow(used bool) {
	if used {
		var b [frame]byte
		touch(&b)
	}
}

//go:noinline
func touch(b *[frame]byte) { b[0]++ }
