package wasi

import "encoding/binary"

// u32 is a parameter of type i32.
func u32(v uint64) uint32 { return uint32(v) }

// view is n bytes of the guest's memory at ptr.
func view(mem []byte, ptr, n uint32) ([]byte, bool) {
	end := uint64(ptr) + uint64(n)
	if end > uint64(len(mem)) {
		return nil, false
	}
	return mem[ptr:end:end], true
}

func put32(mem []byte, ptr, v uint32) Errno {
	b, ok := view(mem, ptr, 4)
	if !ok {
		return EFAULT
	}
	binary.LittleEndian.PutUint32(b, v)
	return Success
}

func put64(mem []byte, ptr uint32, v uint64) Errno {
	b, ok := view(mem, ptr, 8)
	if !ok {
		return EFAULT
	}
	binary.LittleEndian.PutUint64(b, v)
	return Success
}

// vectors is a checked list of buffers: the parameter iovs of the reading and
// writing functions.
type vectors struct{ mem, list []byte }

// checkEvery is how many things of a list are gone through between two looks
// at the time.
const checkEvery = 4096

// vectors checks that all n buffers lie in memory and that their length
// together can be answered, before anything is moved.
func (s *State) vectors(mem []byte, ptr, n uint32) (vectors, Errno) {
	end := uint64(ptr) + uint64(n)*8
	if end > uint64(len(mem)) {
		return vectors{}, EFAULT
	}
	v := vectors{mem, mem[ptr:end:end]}
	total := uint64(0)
	for i := range v.len() {
		if i%checkEvery == checkEvery-1 {
			s.host.CheckTime()
		}
		b, ok := v.at(i)
		if !ok {
			return vectors{}, EFAULT
		}
		total += uint64(len(b))
	}
	if total >= 1<<32 {
		return vectors{}, EINVAL
	}
	return v, Success
}

func (v vectors) len() int { return len(v.list) / 8 }

func (v vectors) at(i int) ([]byte, bool) {
	e := v.list[8*i:]
	return view(v.mem, binary.LittleEndian.Uint32(e), binary.LittleEndian.Uint32(e[4:]))
}
