package worker

import (
	"encoding/binary"
	"reflect"
	"sync"
	"unsafe"
)

// A field is a field of a message, also one of a struct in it. Most calls are small, and
// to look up each field of their messages anew would take much of their time.
type field struct {
	offset uintptr
	kind   reflect.Kind // as which it is sent
	bytes  bool         // it is a slice of bytes
	of     reflect.Type
}

// plans are the fields of messages, by the type of the message.
var plans sync.Map // of []field by reflect.Type

// planOf returns the fields of a struct that are sent, in their order.
func planOf(t reflect.Type) []field {
	if known, ok := plans.Load(t); ok {
		return known.([]field)
	}
	plan := addFields(nil, t, 0)
	plans.Store(t, plan)
	return plan
}

func addFields(plan []field, t reflect.Type, offset uintptr) []field {
	for i := range t.NumField() {
		f := t.Field(i)
		switch {
		case !f.IsExported():
		case f.Type.Kind() == reflect.Struct:
			plan = addFields(plan, f.Type, offset+f.Offset)
		default:
			kind := f.Type.Kind()
			plan = append(plan, field{offset + f.Offset, kind, kind == reflect.Slice && f.Type.Elem().Kind() == reflect.Uint8, f.Type})
		}
	}
	return plan
}

// appendFields appends the fields of the message at p, as [appendValue] would.
func appendFields(b []byte, plan []field, p unsafe.Pointer) []byte {
	for i := range plan {
		f := &plan[i]
		at := unsafe.Add(p, f.offset)
		switch {
		case f.kind == reflect.Bool && *(*bool)(at):
			b = append(b, 1)
		case f.kind == reflect.Bool:
			b = append(b, 0)
		case f.kind == reflect.Int:
			b = binary.AppendVarint(b, int64(*(*int)(at)))
		case f.kind == reflect.Int64:
			b = binary.AppendVarint(b, *(*int64)(at))
		case f.kind == reflect.Uint32:
			b = binary.AppendUvarint(b, uint64(*(*uint32)(at)))
		case f.kind == reflect.Uint64:
			b = binary.AppendUvarint(b, *(*uint64)(at))
		case f.kind == reflect.String:
			text := *(*string)(at)
			b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
		case f.bytes:
			text := *(*[]byte)(at)
			b = append(binary.AppendUvarint(b, uint64(len(text))), text...)
		default:
			b = appendValue(b, reflect.NewAt(f.of, at).Elem())
		}
	}
	return b
}

// fields reads the fields of the message at p, as [decoder.value] would.
func (d *decoder) fields(plan []field, p unsafe.Pointer) {
	for i := range plan {
		if d.bad {
			return
		}
		f := &plan[i]
		at := unsafe.Add(p, f.offset)
		switch {
		case f.kind == reflect.Bool:
			*(*bool)(at) = d.flag()
		case f.kind == reflect.Int64:
			*(*int64)(at) = d.signed()
		case f.kind == reflect.Uint64:
			*(*uint64)(at) = d.unsigned()
		case f.kind == reflect.String:
			*(*string)(at) = string(d.take(d.unsigned()))
		case f.bytes:
			*(*[]byte)(at) = d.take(d.unsigned())
		default:
			d.value(reflect.NewAt(f.of, at).Elem(), 0)
		}
	}
}
