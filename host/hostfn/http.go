package hostfn

import (
	"context"
	"net/http"
	"time"
)

func httpFunctions() []function {
	return []function{
		{name: "http_request", example: `{"method":"GET","url":"https://example.com/"}`, fuel: 100_000, run: httpRequest},
	}
}

// httpRequest sends one request and returns the answer.
func httpRequest(ctx context.Context, e *Env, meta, body []byte) (any, []byte, error) {
	var ask struct {
		Method    string              `json:"method"`
		URL       string              `json:"url"`
		Headers   map[string][]string `json:"headers"`
		TimeoutMS int64               `json:"timeout_ms"`
		MaxBytes  int64               `json:"max_bytes"`
	}
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
	var answer struct {
		Status    int         `json:"status"`
		Headers   http.Header `json:"headers"`
		URL       string      `json:"url"`
		Truncated bool        `json:"truncated"`
	}
	answer.Status, answer.Headers, answer.URL, answer.Truncated = in.status, in.header, in.url, in.truncated
	return answer, in.body, nil
}
