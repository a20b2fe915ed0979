package main

import (
	"strings"
	"time"

	skill "github.com/skillet-run/skillet/sdk/go"
)

const (
	defaultMaxBytes  = 1 << 20
	maxMaxBytes      = 8 << 20
	defaultTimeoutMS = 10_000
	maxTimeoutMS     = 30_000
)

type getInput struct {
	URL       string            `json:"url"`
	Headers   map[string]string `json:"headers"`
	MaxBytes  *int64            `json:"max_bytes"`
	TimeoutMS *int64            `json:"timeout_ms"`
	Body      string            `json:"body"`
}

type getOutput struct {
	headOutput
	Text      *string `json:"text,omitempty"`
	Base64    *string `json:"base64,omitempty"`
	Bytes     int     `json:"bytes"`
	Truncated bool    `json:"truncated"`
}

type headInput struct {
	URL       string            `json:"url"`
	Headers   map[string]string `json:"headers"`
	TimeoutMS *int64            `json:"timeout_ms"`
}

type headOutput struct {
	Status      int                 `json:"status"`
	OK          bool                `json:"ok"`
	URL         string              `json:"url"`
	ContentType string              `json:"content_type"`
	Headers     map[string][]string `json:"headers"`
}

// get fetches what is at a URL.
func get(in getInput) (getOutput, error) {
	form, err := bodyForm(in.Body)
	if err != nil {
		return getOutput{}, err
	}
	limit, err := within("max_bytes", in.MaxBytes, defaultMaxBytes, 1, maxMaxBytes)
	if err != nil {
		return getOutput{}, err
	}
	request, err := newRequest("GET", in.URL, in.Headers, in.TimeoutMS)
	if err != nil {
		return getOutput{}, err
	}
	request.MaxBytes = limit
	response, err := skill.HTTP(request)
	if err != nil {
		return getOutput{}, err
	}
	return newOutput(response, form), nil
}

// head asks what is at a URL without fetching it.
func head(in headInput) (headOutput, error) {
	request, err := newRequest("HEAD", in.URL, in.Headers, in.TimeoutMS)
	if err != nil {
		return headOutput{}, err
	}
	response, err := skill.HTTP(request)
	if err != nil {
		return headOutput{}, err
	}
	return newHead(response), nil
}

// newRequest checks what can be checked without the host.
func newRequest(method, url string, headers map[string]string, timeout *int64) (skill.Request, error) {
	lower := strings.ToLower(url)
	if !strings.HasPrefix(lower, "http://") && !strings.HasPrefix(lower, "https://") {
		return skill.Request{}, skill.Errorf(skill.Invalid, "url: must start with http:// or https://")
	}
	ms, err := within("timeout_ms", timeout, defaultTimeoutMS, 1, maxTimeoutMS)
	if err != nil {
		return skill.Request{}, err
	}
	all := make(map[string][]string, len(headers))
	for name, value := range headers {
		all[name] = []string{value}
	}
	return skill.Request{Method: method, URL: url, Headers: all, Timeout: time.Duration(ms) * time.Millisecond}, nil
}

// within returns the value of an option, or its default when it is not given.
func within(name string, value *int64, preset, low, high int64) (int64, error) {
	if value == nil {
		return preset, nil
	}
	if *value < low || *value > high {
		return 0, skill.Errorf(skill.Invalid, "%s: must be from %d to %d, not %d", name, low, high, *value)
	}
	return *value, nil
}
