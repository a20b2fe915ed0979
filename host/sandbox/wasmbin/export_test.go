package wasmbin

// InspectOwn is Inspect for a module that Instrument wrote.
func InspectOwn(wasm []byte, l Limits) (*Module, error) {
	d := newDecoder(wasm, l)
	d.reserved = true
	if err := d.decode(); err != nil {
		return nil, err
	}
	return d.module, nil
}
