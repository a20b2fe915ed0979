package plugins

import (
	"errors"

	"github.com/skillet-run/skillet/host/base/redact"
	"github.com/skillet-run/skillet/plugins/provider"
)

// struck is what stands where a secret was.
const struck = "[redacted]"

// scrubber takes the values of secrets out of what a plugin says of failures: a
// server may send back the key that it refuses.
type scrubber struct{ known redact.Values }

func newScrubber(secrets []string) *scrubber {
	s := &scrubber{}
	for _, value := range secrets {
		s.known.Add(value)
	}
	return s
}

// text is a text without secrets.
func (s *scrubber) text(text string) string {
	return s.known.Replace(text, func(int) string { return struck })
}

// err is an error whose text has no secrets. One that had is still what it was for
// errors.Is, and a *provider.Error is one without them.
func (s *scrubber) err(err error) error {
	if err == nil {
		return nil
	}
	said := err.Error()
	text := s.text(said)
	if text == said {
		return err
	}
	var e *provider.Error
	if errors.As(err, &e) {
		clean := *e
		clean.Message = s.text(e.Message)
		return &clean
	}
	return &scrubbed{text, err}
}

// scrubbed is an error that says something else. What it was made from cannot be
// had, only compared.
type scrubbed struct {
	text string
	was  error
}

// Error is the text without secrets.
func (e *scrubbed) Error() string { return e.text }

// Is implements errors.Is.
func (e *scrubbed) Is(target error) bool { return errors.Is(e.was, target) }
