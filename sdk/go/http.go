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
	Status int `json:"status"`
	// Headers are the header fields of the response.
	Headers map[string][]string `json:"headers"`
	// URL is where the response came from, after redirects.
	URL string `json:"url"`
	// Truncated is true when the body was longer than allowed and was cut.
	Truncated bool `json:"truncated"`
	// Body is the content of the response.
	Body []byte `json:"-"`
}

// HTTP sends a request. It needs a grant http for the method and URL, and for
// those of every redirect. A status of 400 or more is not an error. Errors have
// kind Denied, Invalid, Limit, IO or Timeout.
func HTTP(r Request) (Response, error) {
	if r.Method == "" {
		r.Method = "GET"
	}
	ask := struct {
		Method    string              `json:"method"`
		URL       string              `json:"url"`
		Headers   map[string][]string `json:"headers,omitempty"`
		TimeoutMS int64               `json:"timeout_ms,omitempty"`
		MaxBytes  int64               `json:"max_bytes,omitempty"`
	}{r.Method, r.URL, r.Headers, milliseconds(r.Timeout), r.MaxBytes}
	var got Response
	body, err := request(httpRequest, r.Method+" "+r.URL, ask, &got, r.Body)
	got.Body = body
	return got, err
}

func milliseconds(d time.Duration) int64 {
	return int64((d + time.Millisecond - 1) / time.Millisecond)
}
