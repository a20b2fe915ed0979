package main

// object is a PDF object (ISO 32000-1, 7.3): nil, which is null, bool, float64,
// atom, text, array, dict, *stream or ref.
type object any

// atom is a name without its slash, with its escapes resolved.
type atom string

// text is what a string holds, decrypted.
type text []byte

// array is an array; its elements may be references.
type array []object

// dict is a dictionary. Entries that are null are left out, as they mean the
// same as no entry.
type dict map[string]object

// ref is a reference: the number of an object. Generations are ignored, as
// every number has one object at a time.
type ref int

// stream is a dictionary with data, which is as it stands in the file.
type stream struct {
	entries dict
	raw     []byte
	key     objectKey
}

// objectNumber returns the number of the object that o refers to, 0 for an object
// that is not a reference.
func objectNumber(o object) int {
	n, _ := o.(ref)
	return int(n)
}

// whole returns a number without its fraction, and 0 for an object that is not a
// number, or is out of all bounds.
func whole(o object) int {
	const most = 1 << 48
	n, ok := o.(float64)
	if !ok || n > most || n < -most {
		return 0
	}
	return int(n)
}

// entry returns an entry of a dictionary that is of the type T and no reference,
// the zero T for anything else.
func entry[T any](d dict, key string) T {
	v, _ := d[key].(T)
	return v
}
