package skill

import "encoding/json"

// function is one host function: it takes JSON and raw bytes, and returns the
// lengths of the response that waits for them (meta length << 32 | body length).
type function func(meta, body []byte) (int64, error)

// failure is the part of every response that says the request was refused.
type failure struct {
	Error *struct {
		Kind    Kind   `json:"kind"`
		Message string `json:"message"`
	} `json:"error"`
}

// request sends meta and body to a host function, decodes the meta data of the
// response into out and returns the body of the response. Every error starts
// with what: the operation and its subject.
func request(fn function, what string, meta, out any, body []byte) ([]byte, error) {
	head, err := json.Marshal(meta)
	if err != nil {
		return nil, Errorf(Invalid, "%s: %w", what, err)
	}
	respMeta, respBody, err := exchange(fn, head, body)
	if err != nil {
		return nil, Errorf(KindOf(err), "%s: %w", what, err)
	}
	if err := response(respMeta, out); err != nil {
		return nil, Errorf(KindOf(err), "%s: %w", what, err)
	}
	return respBody, nil
}

// response decodes the meta data of a response, or the error it carries.
func response(meta []byte, out any) error {
	var f failure
	if err := json.Unmarshal(meta, &f); err != nil {
		return Errorf(IO, "the host sent a malformed response: %w", err)
	}
	if f.Error != nil {
		return &Error{Kind: f.Error.Kind, Message: f.Error.Message}
	}
	if out == nil {
		return nil
	}
	if err := json.Unmarshal(meta, out); err != nil {
		return Errorf(IO, "the host sent a malformed response: %w", err)
	}
	return nil
}
