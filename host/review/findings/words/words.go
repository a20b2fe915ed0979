// Package words finds many words in a text in one pass. It is the automaton of
// Aho and Corasick (Efficient string matching, 1975) with its failure links
// followed beforehand, so that each byte is one step. It knows nothing of what
// the words are for.
package words

// A Set is a set of words. It does not change and may be used concurrently.
type Set struct {
	class   [256]uint8 // of bytes that are equal to all words
	classes int
	next    []uint16 // by state and class
	ends    [][]int  // the words that end in a state
	last    []bool   // whether there are any
}

// New makes a set of words in lower case, none of them empty, that have fewer
// than 65,536 bytes together and no more than 200 different ones.
func New(list []string) *Set {
	w := &Set{classes: 1}
	for _, word := range list {
		for i := range len(word) {
			w.classify(word[i])
		}
	}
	w.state()
	for i, word := range list {
		w.insert(i, word)
	}
	w.link()
	return w
}

// classify gives a byte a class of its own, both cases of a letter the same.
func (w *Set) classify(b byte) {
	if w.class[b] != 0 {
		return
	}
	w.class[b] = uint8(w.classes)
	if 'a' <= b && b <= 'z' {
		w.class[b-'a'+'A'] = uint8(w.classes)
	}
	w.classes++
}

// state adds a state from which nothing leads on.
func (w *Set) state() uint16 {
	w.next = append(w.next, make([]uint16, w.classes)...)
	w.ends = append(w.ends, nil)
	return uint16(len(w.ends) - 1)
}

func (w *Set) insert(id int, word string) {
	at := uint16(0)
	for i := range len(word) {
		edge := int(at)*w.classes + int(w.class[word[i]])
		if w.next[edge] == 0 {
			s := w.state() // w.next moves
			w.next[edge] = s
		}
		at = w.next[edge]
	}
	w.ends[at] = append(w.ends[at], id)
}

// link completes the transitions, breadth first.
func (w *Set) link() {
	fail := make([]uint16, len(w.ends))
	var queue []uint16
	for c := range w.classes {
		if s := w.next[c]; s != 0 {
			queue = append(queue, s)
		}
	}
	w.last = make([]bool, len(w.ends))
	for ; len(queue) > 0; queue = queue[1:] {
		s := queue[0]
		w.ends[s] = append(w.ends[s], w.ends[fail[s]]...)
		w.last[s] = len(w.ends[s]) > 0
		for c := range w.classes {
			edge, other := int(s)*w.classes+c, w.next[int(fail[s])*w.classes+c]
			if to := w.next[edge]; to != 0 {
				fail[to] = other
				queue = append(queue, to)
			} else {
				w.next[edge] = other
			}
		}
	}
}

// Each calls found for each word in text, in the order of their ends: its
// number in the list, and the offset behind it. ASCII letters of either case are
// the same.
func (w *Set) Each(text []byte, found func(word, end int)) {
	at := uint16(0)
	for i, b := range text {
		at = w.next[int(at)*w.classes+int(w.class[b])]
		if !w.last[at] {
			continue
		}
		for _, id := range w.ends[at] {
			found(id, i+1)
		}
	}
}
