package worker

import (
	"encoding/binary"
	"errors"
	"fmt"
	"reflect"

	"github.com/skillet-run/skillet/host/engine/sandbox"
)

// errMalformed is a message that is not what its kind says.
var errMalformed = errors.New("malformed message")

// A message's fields follow each other in their order, numbers as varints
// (zigzag for signed ones), texts, bytes and lists behind their length.
// Structs are their fields, a cause is there or not. Fields that are not
// exported, or of other types, are not sent: what they stand for stays with the
// sender.

// encode appends the fields of a message.
func encode(b []byte, message any) []byte {
	v := reflect.ValueOf(message)
	return appendFields(b, planOf(v.Type().Elem()), v.UnsafePointer())
}

// decode reads the fields of a message, and nothing may be left. Its byte
// slices are parts of b.
func decode(b []byte, message any) error {
	d := decoder{left: b}
	v := reflect.ValueOf(message)
	d.fields(planOf(v.Type().Elem()), v.UnsafePointer())
	if d.bad || len(d.left) > 0 {
		return fmt.Errorf("%w: %T", errMalformed, message)
	}
	return nil
}

var failureType = reflect.TypeFor[*sandbox.Failure]()

func appendValue(b []byte, v reflect.Value) []byte {
	switch v.Kind() {
	case reflect.Bool:
		if v.Bool() {
			return append(b, 1)
		}
		return append(b, 0)
	case reflect.Int, reflect.Int64, reflect.Int32:
		return binary.AppendVarint(b, v.Int())
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		return binary.AppendUvarint(b, v.Uint())
	case reflect.String:
		b = binary.AppendUvarint(b, uint64(v.Len()))
		return append(b, v.String()...)
	case reflect.Slice:
		return appendSlice(b, v)
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Field(i); f.CanInterface() {
				b = appendValue(b, f)
			}
		}
	case reflect.Pointer:
		return appendFailure(b, v)
	}
	return b
}

func appendSlice(b []byte, v reflect.Value) []byte {
	b = binary.AppendUvarint(b, uint64(v.Len()))
	if v.Type().Elem().Kind() == reflect.Uint8 {
		return append(b, v.Bytes()...)
	}
	for i := range v.Len() {
		b = appendValue(b, v.Index(i))
	}
	return b
}

func appendFailure(b []byte, v reflect.Value) []byte {
	if v.Type() != failureType {
		return b
	}
	if v.IsNil() {
		return append(b, 0)
	}
	return appendValue(append(b, 1), v.Elem())
}

// decoder reads what was encoded. Once something does not fit, nothing does.
type decoder struct {
	left []byte
	bad  bool
}

// value reads into a settable value. causes is how many errors it is within.
func (d *decoder) value(v reflect.Value, causes int) {
	switch v.Kind() {
	case reflect.Bool:
		v.SetBool(d.flag())
	case reflect.Int, reflect.Int64, reflect.Int32:
		n := d.signed()
		d.bad = d.bad || v.OverflowInt(n)
		v.SetInt(n)
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint64:
		n := d.unsigned()
		d.bad = d.bad || v.OverflowUint(n)
		v.SetUint(n)
	case reflect.String:
		v.SetString(string(d.take(d.unsigned())))
	case reflect.Slice:
		d.slice(v, causes)
	case reflect.Struct:
		for i := 0; i < v.NumField() && !d.bad; i++ {
			if f := v.Field(i); f.CanInterface() {
				d.value(f, causes)
			}
		}
	case reflect.Pointer:
		d.failure(v, causes)
	}
}

// slice reads a list. Each element takes at least a byte, so that one cannot
// be announced that was not sent.
func (d *decoder) slice(v reflect.Value, causes int) {
	n := d.unsigned()
	if n > uint64(len(d.left)) {
		d.bad = true
		return
	}
	if v.Type().Elem().Kind() == reflect.Uint8 {
		v.SetBytes(d.take(n))
		return
	}
	for i := 0; i < int(n) && !d.bad; i++ {
		v.Set(reflect.Append(v, reflect.Zero(v.Type().Elem())))
		d.value(v.Index(i), causes)
	}
}

func (d *decoder) failure(v reflect.Value, causes int) {
	if v.Type() != failureType || !d.flag() {
		return
	}
	if causes++; causes > sandbox.MaxCauses {
		d.bad = true
		return
	}
	v.Set(reflect.New(failureType.Elem()))
	d.value(v.Elem(), causes)
}

func (d *decoder) flag() bool {
	b := d.take(1)
	if d.bad || b[0] > 1 {
		d.bad = true
		return false
	}
	return b[0] == 1
}

// take returns the next n bytes, or nil when there are fewer.
func (d *decoder) take(n uint64) []byte {
	if d.bad || n > uint64(len(d.left)) {
		d.bad = true
		return nil
	}
	b := d.left[:n:n]
	d.left = d.left[n:]
	return b
}

func (d *decoder) unsigned() uint64 {
	n, size := binary.Uvarint(d.left)
	return d.skip(n, size)
}

func (d *decoder) signed() int64 {
	n, size := binary.Varint(d.left)
	return int64(d.skip(uint64(n), size))
}

// skip takes a number of so many bytes.
func (d *decoder) skip(n uint64, size int) uint64 {
	if d.bad || size <= 0 {
		d.bad = true
		return 0
	}
	d.left = d.left[size:]
	return n
}
