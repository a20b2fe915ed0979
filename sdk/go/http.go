package skill

import "time"

// Request is one HTTP request.
type Request struct {
	// Method is the HTTP method; empty means GET.
	Method string
	// URL is absolute, with scheme http or https.
	URL string
	// Headers are sent as given; the host drops those a guest may not set.
	Headers map[string][]string
	// Body is the content to send; empty sends none.
	Body []byte
	// Timeout bounds the whole exchange; 0 means the host's default. It is
	// rounded up to milliseconds.
	Timeout time.Duration
	// MaxBytes bounds the body of the response; 0 means the host's default.
	MaxBytes int64
}

// Response is the answer to a Request.
type Response struct {
	// Status is the HTTP status code.
	Status int
	// Headers are the header fields of the response.
	Headers map[string][]string
	// URL is where the response came from, after redirects.
	URL string
	// Truncated is true when the body was longer than allowed and was cut.
	Truncated bool
	// Body is the content of the response.
	Body []byte
}

// HTTP sends a request. It needs a grant http for the method and URL, and for
// those of every redirect. A status of 400 or more is not an error. Errors have
// kind Denied, Invalid, Limit, IO or Timeout.
func HTTP(r Request) (Response, error) {
	ask := httpRequestRequest{Method: r.Method, URL: r.URL, Headers: r.Headers, TimeoutMS: whole(r.Timeout, time.Millisecond), MaxBytes: r.MaxBytes}
	got, body, err := ask.send(r.Body)
	return Response{Status: int(got.Status), Headers: got.Headers, URL: got.URL, Truncated: got.Truncated, Body: body}, err
}

// whole returns how many units a duration has, the last one begun counted.
func whole(d, unit time.Duration) int64 {
	n := d / unit
	if d%unit > 0 {
		n++
	}
	return int64(n)
}
