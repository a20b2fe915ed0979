package wasi

// Pristine reports whether the descriptors are as they were after Reset: none
// opened, closed, renumbered, flagged, listed or deprived of rights. The clock
// and randomness are not looked at: see [State.Mark].
func (s *State) Pristine() bool {
	if len(s.fds) != s.begin() {
		return false
	}
	for fd := range s.fds {
		if s.fds[fd] != s.initial(fd) {
			return false
		}
	}
	return true
}
