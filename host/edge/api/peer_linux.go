package api

import (
	"net"

	"golang.org/x/sys/unix"

	"github.com/skillet-run/skillet/host/app/govern"
)

// LocalSocket says whether this system tells who is at the other end of a local socket.
const LocalSocket = true

// peerOf asks the system who is at the other end; the zero value when it does not say.
func peerOf(c *net.UnixConn) (p govern.Peer) {
	raw, err := c.SyscallConn()
	if err != nil {
		return p
	}
	_ = raw.Control(func(fd uintptr) {
		if cred, err := unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED); err == nil {
			p = govern.Peer{Known: true, UID: int(cred.Uid), PID: int(cred.Pid)}
		}
	})
	return p
}
