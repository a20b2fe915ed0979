package jail

import "io/fs"

// locate finds the place a path names and asks the guard for each op: before the look-up with the
// requested path, after it with the path the links led to. follow tells whether a link in the last
// place is followed.
func (f *FS) locate(requested string, follow bool, ops ...Op) (*location, error) {
	p, err := Clean(requested)
	if err != nil {
		return nil, err
	}
	if f.guard == nil {
		return nil, ErrEscape
	}
	if err := f.ask(p, ops); err != nil {
		return nil, err
	}
	m := f.find(p)
	if m == nil {
		return nil, ErrEscape
	}
	if m.err != nil {
		return nil, m.err
	}
	if f.closed() {
		return nil, fs.ErrClosed
	}
	pl, err := walk(m.dir, m.below(p), follow)
	if err != nil {
		return nil, f.escaped(p, ops, err)
	}
	if err := f.admit(m, pl, p, ops); err != nil {
		pl.close()
		return nil, f.escaped(p, ops, err)
	}
	return pl, nil
}

// escaped tells the guard about an ErrEscape, once for each access, and returns err.
func (f *FS) escaped(p string, ops []Op, err error) error {
	if g, ok := f.guard.(EscapeGuard); ok && err == ErrEscape && len(ops) > 0 {
		g.Escaped(ops[0], p)
	}
	return err
}

// closed reports whether Close was called.
func (f *FS) closed() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.done
}

// ask puts every op on a path to the guard, and refuses changes of a read-only root.
func (f *FS) ask(p string, ops []Op) error {
	m := f.find(p)
	for _, op := range ops {
		if err := f.guard.Check(op, p); err != nil {
			return err
		}
		if m != nil && op.Changes() && !m.Write {
			return ErrReadOnly
		}
	}
	return nil
}

// admit asks again for where a walk from the path p ended.
func (f *FS) admit(m *mount, pl *location, p string, ops []Op) error {
	var ok bool
	if pl.guest, pl.real, ok = m.outer(pl.rel); !ok {
		return ErrEscape
	}
	if pl.guest != p {
		return f.askBoth(pl.guest, pl.real, ops)
	}
	return f.askReal(pl.guest, pl.real, ops)
}

// askBoth puts every op to the guard, for the path that the guest knows and for that on the host.
func (f *FS) askBoth(guest, real string, ops []Op) error {
	if err := f.ask(guest, ops); err != nil {
		return err
	}
	return f.askReal(guest, real, ops)
}

// askReal puts every op on a path of the host to the guard, where the guest knows it by another one.
func (f *FS) askReal(guest, real string, ops []Op) error {
	g, ok := f.guard.(RealGuard)
	if !ok || real == guest {
		return nil
	}
	for _, op := range ops {
		if err := g.CheckReal(op, real); err != nil {
			return err
		}
	}
	return nil
}

// at runs do on the place a path names. It starts again when the tree changed between the look and the act.
func (f *FS) at(op, requested string, follow bool, ops []Op, do func(*location) error) error {
	err := errChanged
	for try := 0; err == errChanged && try < maxChange; try++ {
		err = f.once(requested, follow, ops, do)
	}
	if err == errChanged {
		err = ErrChanging
	}
	return pathError(op, requested, err)
}

// once is one attempt of at.
func (f *FS) once(requested string, follow bool, ops []Op, do func(*location) error) error {
	p, err := f.locate(requested, follow, ops...)
	if err != nil {
		return err
	}
	defer p.close()
	if needsDir(requested) && p.info != nil && !p.info.IsDir() {
		return ErrNotDir
	}
	return do(p)
}

// pathError names the operation and the path once, and never a path on the host that the guest does not know.
func pathError(op, p string, err error) error {
	if err == nil {
		return nil
	}
	if inner, ok := err.(*fs.PathError); ok {
		err = inner.Err
	}
	return &fs.PathError{Op: op, Path: p, Err: err}
}
