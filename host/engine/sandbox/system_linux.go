package sandbox

import "golang.org/x/sys/unix"

// reserveFlags keeps a reservation from counting as memory in use.
const reserveFlags = unix.MAP_NORESERVE
