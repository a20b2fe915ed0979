package skill

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
)

// The results of a tool export: what the host reads as success or failure.
const (
	statusOK     int32 = 0
	statusFailed int32 = 1
)

// Handle runs one tool call: it decodes the input of the call, passes it to fn,
// and writes what fn returns as the output, or its error with its kind. It
// returns what the exported function has to return to the host: 0 for success,
// 1 for an error.
//
// Fields that In does not have are ignored; a value of the wrong type is an
// error of kind Invalid that names the field. Empty input decodes as an empty
// object. A panic in fn becomes an error of kind Failed.
func Handle[In, Out any](fn func(In) (Out, error)) int32 {
	data, err := InputBytes()
	if err == nil {
		data, err = answer(data, fn)
	}
	if err == nil {
		err = OutputBytes(data)
	}
	if err != nil {
		return Fail(KindOf(err), err.Error())
	}
	return statusOK
}

// Prepare makes encoding/json compute now what it caches for the two types. Calls
// begin from the state of the module after its init functions, so a skill that
// calls Prepare in init does not compute that again in every call, which takes
// longer than many tools do.
func Prepare[In, Out any]() {
	var in In
	var out Out
	for _, v := range []any{&in, &out} {
		_, _ = json.Marshal(v) // what cannot be encoded is an error in the call
	}
	_ = json.Unmarshal([]byte("{}"), &in)
}

// answer decodes the input, calls fn and encodes its result, turning a panic of
// any of them into an error.
func answer[In, Out any](input []byte, fn func(In) (Out, error)) (encoded []byte, err error) {
	defer func() {
		if p := recover(); p != nil {
			encoded, err = nil, &Error{Kind: Failed, Message: panicText(p)}
		}
	}()
	var in In
	if err := decode(input, &in); err != nil {
		return nil, err
	}
	out, err := fn(in)
	if err != nil {
		return nil, err
	}
	return encode(out)
}

// Input decodes the JSON input of the current call into v. It follows the rules
// of Handle: unknown fields are ignored, a wrong type is an error of kind
// Invalid naming the field, and empty input leaves v as it is.
func Input(v any) error {
	data, err := InputBytes()
	if err != nil {
		return err
	}
	return decode(data, v)
}

// Output encodes v as JSON and appends it to the output of the current call.
func Output(v any) error {
	data, err := encode(v)
	if err != nil {
		return err
	}
	return OutputBytes(data)
}

func decode(data []byte, v any) error {
	if len(bytes.TrimSpace(data)) == 0 {
		return nil
	}
	err := json.Unmarshal(data, v)
	if err == nil {
		return nil
	}
	return &Error{Kind: Invalid, Message: decodeText(err)}
}

// decodeText says what is wrong with the input in words for a person who did
// not write the skill: no Go type names.
func decodeText(err error) string {
	var wrong *json.UnmarshalTypeError
	if errors.As(err, &wrong) {
		return fieldName(wrong.Field) + ": must be " + jsonType(wrong) + ", not " + wrong.Value
	}
	var syntax *json.SyntaxError
	if errors.As(err, &syntax) {
		return "input: not valid JSON at byte " + strconv.FormatInt(syntax.Offset, 10) + ": " + syntax.Error()
	}
	return "input: " + err.Error()
}

func fieldName(path string) string {
	if path == "" {
		return "input"
	}
	return path
}

// encode is json.Marshal without the escaping of <, > and &, which only matters
// inside HTML and would triple the size of markup in an output.
func encode(v any) ([]byte, error) {
	var buf bytes.Buffer
	enc := json.NewEncoder(&buf)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return nil, Errorf(Failed, "encode output: %w", err)
	}
	return bytes.TrimSuffix(buf.Bytes(), []byte("\n")), nil
}

func panicText(p any) string {
	switch p := p.(type) {
	case error:
		return "panic: " + p.Error()
	case string:
		return "panic: " + p
	default:
		return fmt.Sprintf("panic: %v", p)
	}
}
