package secret

import "fmt"

// prefilter tells whether a text holds one of many words, without regard to case,
// in one pass of a table look-up a byte. It is an Aho-Corasick automaton in the
// form of a table: a general library for it took twenty times as long, and this
// runs on every string of every event.
type prefilter struct {
	class  [256]uint8 // bytes that no word holds share class 0
	width  int        // classes
	next   []uint16   // [state*width+class]
	accept []bool
}

// buildPrefilter takes words in lower case.
func buildPrefilter(words []string) (*prefilter, error) {
	p := &prefilter{width: 1}
	for _, w := range words {
		for i := range len(w) {
			if p.class[w[i]] == 0 {
				if p.width == 255 {
					return nil, fmt.Errorf("keywords use more than 254 different bytes")
				}
				p.class[w[i]] = uint8(p.width)
				p.width++
			}
		}
	}
	for c := byte('a'); c <= 'z'; c++ {
		p.class[c-'a'+'A'] = p.class[c]
	}
	// The tree of the words; 0 is the root and "no child".
	p.next, p.accept = make([]uint16, p.width), make([]bool, 1)
	for _, w := range words {
		s := 0
		for i := range len(w) {
			at := s*p.width + int(p.class[w[i]])
			if p.next[at] == 0 {
				if len(p.accept) > 65_000 {
					return nil, fmt.Errorf("keywords need more than 65000 states")
				}
				p.next[at] = uint16(len(p.accept))
				p.next = append(p.next, make([]uint16, p.width)...)
				p.accept = append(p.accept, false)
			}
			s = int(p.next[at])
		}
		p.accept[s] = true
	}
	// Breadth first: where a state has no child it goes where its longest proper
	// suffix goes.
	fail := make([]int, len(p.accept))
	var queue []int
	for c := 1; c < p.width; c++ {
		if s := int(p.next[c]); s != 0 {
			queue = append(queue, s)
		}
	}
	for ; len(queue) > 0; queue = queue[1:] {
		s := queue[0]
		p.accept[s] = p.accept[s] || p.accept[fail[s]]
		for c := range p.width {
			at, via := s*p.width+c, int(p.next[fail[s]*p.width+c])
			if child := int(p.next[at]); child != 0 {
				fail[child] = via
				queue = append(queue, child)
			} else {
				p.next[at] = uint16(via)
			}
		}
	}
	return p, nil
}

// hit reports whether text holds a word.
func (p *prefilter) hit(text string) bool {
	s := 0
	for i := range len(text) {
		if s = int(p.next[s*p.width+int(p.class[text[i]])]); p.accept[s] {
			return true
		}
	}
	return false
}
