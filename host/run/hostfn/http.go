package hostfn

import (
	"context"
	"encoding/json"
	"net/http"
	"time"
)

func httpFunctions() []function {
	return []function{
		{name: httpName, example: `{"method":"GET","url":"https://example.com/"}`, fuel: 100_000, run: httpRequest},
	}
}

// httpName is the name of the function, also where the Extism ABI calls it otherwise.
const httpName = "http_request"

// httpAsk is the request of http_request.
type httpAsk struct {
	Method    string              `json:"method,omitempty"`
	URL       string              `json:"url"`
	Headers   map[string][]string `json:"headers,omitempty"`
	TimeoutMS int64               `json:"timeout_ms,omitempty"`
	MaxBytes  int64               `json:"max_bytes,omitempty"`
}

// httpResponse is its answer.
type httpResponse struct {
	Status    int         `json:"status"`
	Headers   http.Header `json:"headers"`
	URL       string      `json:"url"`
	Truncated bool        `json:"truncated"`
}

// httpRequest sends one request and returns the answer.
func httpRequest(ctx context.Context, e *Env, meta, body []byte) (any, []byte, error) {
	var ask httpAsk
	if err := decode(meta, &ask); err != nil {
		return nil, nil, err
	}
	if ask.TimeoutMS < 0 || ask.MaxBytes < 0 {
		return nil, nil, failf(KindInvalid, "timeout_ms and max_bytes cannot be negative")
	}
	r := outgoing{method: ask.Method, url: ask.URL, header: http.Header{}, body: body, maxBytes: ask.MaxBytes}
	if ask.TimeoutMS > 0 && ask.TimeoutMS < e.s.HTTPTimeout.Milliseconds() {
		r.timeout = time.Duration(ask.TimeoutMS) * time.Millisecond
	}
	for k, vs := range ask.Headers {
		for _, v := range vs {
			r.header.Add(k, v)
		}
	}
	in, err := e.fetch(ctx, r)
	if err != nil {
		return nil, nil, err
	}
	return in.response(), in.body, nil
}

// response is what http_request answers beside the body.
func (in *incoming) response() httpResponse {
	return httpResponse{Status: in.status, Headers: in.header, URL: in.url, Truncated: in.truncated}
}

// answer is the whole of it.
func (in *incoming) answer() Answer {
	meta, err := json.Marshal(in.response())
	if err != nil { // texts, numbers and a truth value cannot fail to marshal
		return Refused(KindIO, err.Error())
	}
	return Answer{Meta: meta, Body: in.body}
}

// received reads the answer of a tape.
func received(a Answer) (*incoming, error) {
	var told httpResponse
	if err := json.Unmarshal(a.Meta, &told); err != nil {
		return nil, failf(KindIO, "the answer in place of the host's is not one of http_request").because(err)
	}
	return &incoming{status: told.Status, header: told.Headers, url: told.URL, body: a.Body, truncated: told.Truncated}, nil
}
