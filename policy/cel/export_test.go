package cel

// Indirect makes the engine evaluate every condition by the library.
func (e *Engine) Indirect() { e.indirect = true }

// IsDirect reports whether a compiled condition needs no library.
func IsDirect(p any) bool { return p.(*program).direct != nil }
