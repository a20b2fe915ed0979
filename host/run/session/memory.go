package session

import "time"

// live is a session as this process knows it.
type live struct {
	head   header
	state  any // what the last call of this process left, for one in a file
	bytes  int64
	memory bool   // it is in no file
	saved  []byte // its state then
}

// remembered is what this process knows of a session, nil for nothing.
func (s *Store) remembered(k Key) *live {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.live[k]
}

// forget lets go of what this process knows of a session.
func (s *Store) forget(k Key) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.live, k)
}

// remember keeps what a call left, and lets go of what has ended, and of what was
// not called for the longest time where that is in a file, too, and it is too much.
func (s *Store) remember(k Key, l *live) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live[k] = l
	now, total := time.Now(), int64(0)
	for k, l := range s.live {
		if l.memory && l.head.ended(now) {
			delete(s.live, k)
		} else if !l.memory {
			total += l.bytes
		}
	}
	for total > liveBytes {
		oldest := s.oldest()
		total -= s.live[oldest].bytes
		delete(s.live, oldest)
	}
}

// oldest is the session in a file that was not called for the longest time.
func (s *Store) oldest() (k Key) {
	var at int64
	for key, l := range s.live {
		if !l.memory && (at == 0 || l.head.Used < at) {
			k, at = key, l.head.Used
		}
	}
	return k
}
