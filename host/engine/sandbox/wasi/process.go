package wasi

import "encoding/binary"

// argsSizesGet says how many arguments there are and how long they are with a
// NUL after each.
func argsSizesGet(s *State, mem []byte, p []uint64) Errno {
	s.used |= UsedArgs
	size := 0
	for _, a := range s.args {
		size += len(a) + 1
	}
	if errno := put32(mem, u32(p[0]), uint32(len(s.args))); errno != Success {
		return errno
	}
	return put32(mem, u32(p[1]), uint32(size))
}

// argsGet gives the arguments and where each of them begins.
func argsGet(s *State, mem []byte, p []uint64) Errno {
	s.used |= UsedArgs
	table, text := u32(p[0]), u32(p[1])
	for i, a := range s.args {
		offset, ok := view(mem, table, uint32(4*len(s.args)))
		b, fits := view(mem, text, uint32(len(a)+1))
		if !ok || !fits {
			return EFAULT
		}
		binary.LittleEndian.PutUint32(offset[4*i:], text)
		b[copy(b, a)] = 0
		text += uint32(len(b))
	}
	return Success
}

// environSizesGet says that there is no environment.
func environSizesGet(_ *State, mem []byte, p []uint64) Errno {
	if errno := put32(mem, u32(p[0]), 0); errno != Success {
		return errno
	}
	return put32(mem, u32(p[1]), 0)
}

// environGet gives all of it.
func environGet(*State, []byte, []uint64) Errno { return Success }

// procExit ends the guest.
func procExit(s *State, _ []byte, p []uint64) Errno {
	s.host.Exit(u32(p[0]))
	return Success
}

// procRaise is not there: guests have no signals.
func procRaise(*State, []byte, []uint64) Errno { return ENOSYS }

// schedYield is a good moment to end.
func schedYield(s *State, _ []byte, _ []uint64) Errno {
	s.host.CheckTime()
	return Success
}

// socket answers the functions for sockets: no descriptor is one.
func socket(s *State, _ []byte, p []uint64) Errno {
	if s.lookup(u32(p[0])) == nil {
		return EBADF
	}
	return ENOTSOCK
}
