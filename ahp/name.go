package ahp

// ReverseDNS reports whether s is a reverse-DNS name as revision 0.1 writes them
// (AHP 0.1 section 3.7): two or more labels joined by dots, each a letter
// followed by letters, digits, "_" or "-". It is the grammar of extension keys,
// deny codes and backend ids.
func ReverseDNS(s string) bool {
	labels, start := 0, true
	for i := range len(s) {
		c := s[i]
		letter := 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		switch {
		case start:
			if !letter {
				return false
			}
			start, labels = false, labels+1
		case c == '.':
			start = true
		case !letter && (c < '0' || c > '9') && c != '_' && c != '-':
			return false
		}
	}
	return labels >= 2 && !start
}
