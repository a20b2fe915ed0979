package wasi

// Rights are what may be done with a descriptor (WASI preview 1, type rights).
type Rights uint64

// The rights, in the order of the specification.
const (
	FDDatasync Rights = 1 << iota
	FDRead
	FDSeek
	FDFdstatSetFlags
	FDSync
	FDTell
	FDWrite
	FDAdvise
	FDAllocate
	PathCreateDirectory
	PathCreateFile
	PathLinkSource
	PathLinkTarget
	PathOpen
	FDReaddir
	PathReadlink
	PathRenameSource
	PathRenameTarget
	PathFilestatGet
	PathFilestatSetSize
	PathFilestatSetTimes
	FDFilestatGet
	FDFilestatSetSize
	FDFilestatSetTimes
	PathSymlink
	PathRemoveDirectory
	PathUnlinkFile
	PollFDReadWrite
	SockShutdown
	SockAccept
)

// What descriptors of each kind can do at most. Directories have no right to
// seek, by which the C library tells what it may list.
const (
	streamRights = FDDatasync | FDFdstatSetFlags | FDSync | FDAdvise | FDFilestatGet | PollFDReadWrite
	fileRights   = streamRights | FDSeek | FDTell | FDAllocate | FDFilestatSetSize | FDFilestatSetTimes
	dirRights    = FDDatasync | FDFdstatSetFlags | FDSync | FDReaddir | FDAdvise | FDFilestatGet | FDFilestatSetTimes |
		PathCreateDirectory | PathCreateFile | PathLinkSource | PathLinkTarget | PathOpen | PathReadlink |
		PathRenameSource | PathRenameTarget | PathFilestatGet | PathFilestatSetSize | PathFilestatSetTimes |
		PathSymlink | PathRemoveDirectory | PathUnlinkFile
	inheritableRights = dirRights | fileRights | FDRead | FDWrite
)

// rights are what the descriptor may do now.
func (d *descriptor) rights() Rights {
	r := streamRights
	switch d.kind {
	case file:
		r = fileRights
	case directory:
		r = dirRights
	}
	if d.readable {
		r |= FDRead
	}
	if d.writable {
		r |= FDWrite
	}
	return r &^ d.dropped
}

// inheriting are the rights of what is opened below the descriptor, at most.
func (d *descriptor) inheriting() Rights {
	if d.kind != directory {
		return 0
	}
	return inheritableRights &^ d.droppedBelow
}

// lacks reports whether the guest gave up one of these rights.
func (d *descriptor) lacks(need Rights) bool { return d.dropped&need != 0 }

// fdFdstatSetRights gives up rights. None can be had back.
func fdFdstatSetRights(s *State, _ []byte, p []uint64) Errno {
	d := s.lookup(u32(p[0]))
	base, inheriting := Rights(p[1]), Rights(p[2])
	switch {
	case d == nil:
		return EBADF
	case base&^d.rights() != 0 || inheriting&^d.inheriting() != 0:
		return ENOTCAPABLE
	}
	d.dropped |= d.rights() &^ base
	d.droppedBelow |= d.inheriting() &^ inheriting
	return Success
}
