package upstream

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/skillet-run/skillet/plugins/provider"
)

// A Failure is what a server says of one. Class is empty when it says no more
// than the status does; RetryAfter is 0 when the body does not tell.
type Failure struct {
	Class      provider.Class
	Message    string
	RetryAfter time.Duration
}

// classes of the statuses that servers of models answer with. 529 is
// "overloaded", as Anthropic has it.
var classes = map[int]provider.Class{
	400: provider.ClassInvalid,
	401: provider.ClassAuth,
	402: provider.ClassUnavailable, // nothing left to pay with
	403: provider.ClassAuth,
	404: provider.ClassUnavailable, // the model is not there
	408: provider.ClassTimeout,
	413: provider.ClassContextLength,
	422: provider.ClassInvalid,
	429: provider.ClassRateLimited,
	500: provider.ClassInternal,
	504: provider.ClassTimeout,
}

func classOf(status int) provider.Class {
	if class, ok := classes[status]; ok {
		return class
	}
	if status < 500 {
		return provider.ClassInvalid
	}
	return provider.ClassUnavailable
}

func failed(status int, h http.Header, f Failure) error {
	e := &provider.Error{Class: f.Class, Message: f.Message, RetryAfter: f.RetryAfter}
	if e.Class == "" {
		e.Class = classOf(status)
	}
	if e.Message == "" {
		e.Message = strings.ToLower(http.StatusText(status))
	}
	e.Message += fmt.Sprintf(" (status %d)", status)
	if wait := RetryAfter(h, time.Now()); wait > 0 {
		e.RetryAfter = wait
	}
	return e
}

func invalid(format string, args ...any) error {
	return &provider.Error{Class: provider.ClassInvalid, Message: fmt.Sprintf(format, args...)}
}

func unavailable(format string, args ...any) error {
	return &provider.Error{Class: provider.ClassUnavailable, Message: fmt.Sprintf(format, args...)}
}

// TooLong says whether a message tells that a request has more tokens than the
// model takes: servers have no common code for it.
func TooLong(message string) bool {
	message = strings.ToLower(message)
	for _, words := range []string{
		"context length", "context_length", "context window", "context size", "maximum context", "prompt is too long",
		"maximum number of tokens", "input is too long", "too many tokens", "exceeds the context", "input length",
	} {
		if strings.Contains(message, words) {
			return true
		}
	}
	return false
}

// Fail makes an error of a provider of whatever ended a call: an error of the
// server that [Settings.Client] returned, of the network, or of an SDK that could
// not read an answer. doing says what was done, and with which model.
func (s Settings) Fail(ctx context.Context, doing string, err error) error {
	if err == nil {
		return nil
	}
	e := s.class(ctx, err)
	e.Message = bounded(s.Scrub(s.Provider + ": " + doing + ": " + e.Message))
	return &e
}

func (s Settings) class(ctx context.Context, err error) provider.Error {
	var known *provider.Error
	var network net.Error
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &known):
		return *known
	case errors.Is(ctx.Err(), context.Canceled):
		return provider.Error{Class: provider.ClassCancelled, Message: "cancelled"}
	case errors.Is(ctx.Err(), context.DeadlineExceeded):
		return provider.Error{Class: provider.ClassTimeout, Message: "no answer in time"}
	case errors.Is(err, ErrTooLarge):
		return provider.Error{Class: provider.ClassInternal, Message: ErrTooLarge.Error()}
	case errors.Is(err, io.ErrUnexpectedEOF) && !errors.As(err, &syntax), errors.Is(err, io.EOF):
		return provider.Error{Class: provider.ClassUnavailable, Message: "the connection ended in the middle of the answer"}
	case errors.As(err, &network):
		return networkError(network, err)
	}
	// What an SDK says of an answer it cannot read may repeat the whole of it.
	return provider.Error{Class: provider.ClassInternal, Message: "the answer cannot be read: " + short(err.Error(), maxUnread)}
}

func networkError(network net.Error, err error) provider.Error {
	var request *url.Error
	if errors.As(err, &request) {
		err = request.Err // without the address, which may be long
	}
	if network.Timeout() {
		return provider.Error{Class: provider.ClassTimeout, Message: err.Error()}
	}
	return provider.Error{Class: provider.ClassUnavailable, Message: err.Error()}
}

// Bytes of a message, and of one that is about an answer nobody can read.
const (
	maxMessage = 600
	maxUnread  = 160
)

// bounded makes one line of at most maxMessage bytes of what a server wrote.
func bounded(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, "?"))
	return short(text, maxMessage)
}

func short(text string, n int) string {
	if len(text) <= n {
		return text
	}
	return strings.ToValidUTF8(text[:n], "") + "..."
}

const maxWait = 24 * time.Hour

// RetryAfter reads how long a server wants to be left alone: Retry-After (RFC
// 9110, section 10.2.3), retry-after-ms, and without them the latest reset of a
// limit that has nothing left: x-ratelimit-reset-* of OpenAI, which are
// durations, and anthropic-ratelimit-*-reset, which are times. 0 is not told.
func RetryAfter(h http.Header, now time.Time) time.Duration {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil {
		return clamp(ms * float64(time.Millisecond))
	}
	if wait := retryAfter(h.Get("Retry-After"), now); wait > 0 {
		return wait
	}
	var latest time.Duration
	for name := range h {
		latest = max(latest, reset(h, name, now))
	}
	return latest
}

func retryAfter(value string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseFloat(value, 64); err == nil {
		return clamp(seconds * float64(time.Second))
	}
	if at, err := http.ParseTime(value); err == nil {
		return clamp(float64(at.Sub(now)))
	}
	return 0
}

// reset is when the limit of one header is full again, if nothing of it is left.
func reset(h http.Header, name string, now time.Time) time.Duration {
	if rest, ok := strings.CutPrefix(name, "X-Ratelimit-Reset-"); ok && h.Get("X-Ratelimit-Remaining-"+rest) == "0" {
		wait, _ := time.ParseDuration(h.Get(name))
		return clamp(float64(wait))
	}
	kind, ok := strings.CutPrefix(name, "Anthropic-Ratelimit-")
	kind, ends := strings.CutSuffix(kind, "-Reset")
	if ok && ends && h.Get("Anthropic-Ratelimit-"+kind+"-Remaining") == "0" {
		at, _ := time.Parse(time.RFC3339, h.Get(name))
		return clamp(float64(at.Sub(now)))
	}
	return 0
}

func clamp(wait float64) time.Duration {
	if !(wait > 0) { // NaN, too
		return 0
	}
	return time.Duration(min(wait, float64(maxWait)))
}
