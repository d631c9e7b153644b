package sqlite

// SetGroup bounds the entries in one transaction. It is for the benchmark that
// compares group commit with one transaction each.
func (l *Log) SetGroup(n int) {
	l.w.mu.Lock()
	defer l.w.mu.Unlock()
	l.w.group = n
}
