package transfer

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/skillet-run/skillet/host/base/fault"
)

// The ways in which getting something can fail, for errors.Is. Errors of this
// package that wrap one are [fault.Error]s that name what was asked for, and say
// how to get out of it.
var (
	// ErrNotFound: the place answers, and does not have it.
	ErrNotFound = errors.New("not found")
	// ErrUnauthorized: the place wants credentials, or others.
	ErrUnauthorized = errors.New("not authorized")
	// ErrUnreachable: the place does not answer, or says that it cannot now.
	ErrUnreachable = errors.New("unreachable")
	// ErrTimeout: it took too long, in all or for the next byte.
	ErrTimeout = errors.New("timed out")
	// ErrTooLarge: it has more bytes than are accepted.
	ErrTooLarge = errors.New("too large")
	// ErrTampered: the bytes are not those of the digest or size they were
	// asked for or announced with.
	ErrTampered = errors.New("not the bytes that were promised")
	// ErrRedirect: the place sends requests where they may not go.
	ErrRedirect = errors.New("redirected elsewhere")
	// ErrTransport: the connection cannot be trusted: no TLS, or no good
	// certificate.
	ErrTransport = errors.New("connection not trusted")
	// errUnknownCA is an ErrTransport whose way out is another.
	errUnknownCA = fmt.Errorf("%w", ErrTransport)
	// ErrProtocol: an answer that makes no sense.
	ErrProtocol = errors.New("an answer that makes no sense")
)

// meaning is what an error means to a caller.
type meaning struct {
	is    error
	kind  fault.Kind
	class fault.Class
	hint  fault.Hint
}

// meanings are looked through in order.
func meanings() []meaning {
	return []meaning{
		{ErrRedirect, fault.KindDenied, fault.ClassDenied, fault.Hintf("if you trust where it leads, list that host under redirects of the registry in config.yaml")},
		{ErrTampered, fault.KindVerification, fault.ClassPermanent, fault.Hintf("do not use it: tell whoever runs that server, or use another source")},
		{ErrTooLarge, fault.KindVerification, fault.ClassLimit, fault.Hintf("packages of that size are not accepted")},
		{ErrTimeout, fault.KindLimit, fault.ClassTransient, fault.Hintf("try again: large downloads go on where they stopped; download_timeout_seconds allows more time")},
		{ErrUnauthorized, fault.KindDenied, fault.ClassDenied, fault.Hintf("%s stores credentials for a registry", fault.LogIn(""))},
		{ErrNotFound, fault.KindNotFound, fault.ClassPermanent, fault.Hintf("check the spelling, and that it was published")},
		{errUnknownCA, fault.KindVerification, fault.ClassPermanent, fault.Hintf("if it is your own, name the file of its certificate authority in SSL_CERT_FILE, in the environment of skillet")},
		{ErrTransport, fault.KindVerification, fault.ClassPermanent, fault.Hintf("a registry without TLS needs plain_http: true in config.yaml, or %s", fault.SetField(fault.FieldPlainHTTP))},
		{ErrProtocol, fault.KindVerification, fault.ClassPermanent, fault.Hintf("it may not be a registry, or a proxy on the way may have answered")},
		{ErrUnreachable, fault.KindUnreachable, fault.ClassTransient, fault.Hintf("check the network and the address, or add a mirror in config.yaml; then try again")},
	}
}

// Explain makes the error of doing what: what failed, in words, and what it
// means. Errors that say so already keep what they say, behind the words.
func Explain(what string, err error) error {
	if err == nil {
		return nil
	}
	var known *fault.Error
	if errors.As(err, &known) {
		return fmt.Errorf("%s: %w", what, err)
	}
	err = Classify(err)
	for _, m := range meanings() {
		if errors.Is(err, m.is) {
			e := fault.Wrap(m.kind, fmt.Errorf("%s: %w", what, err)).Hinted(m.hint)
			e.Class = m.class
			return e
		}
	}
	return fmt.Errorf("%s: %w", what, err)
}

// Classify wraps the errors of the network in those of this package; others
// stay as they are.
func Classify(err error) error {
	for _, known := range meanings() {
		if errors.Is(err, known.is) {
			return err
		}
	}
	if is := kindOf(err); is != nil {
		return fmt.Errorf("%w: %s", is, inShort(err))
	}
	return err
}

func kindOf(err error) error {
	var (
		dns     *net.DNSError
		op      *net.OpError
		timeout interface{ Timeout() bool }
		cert    *tls.CertificateVerificationError
		unknown x509.UnknownAuthorityError
		record  tls.RecordHeaderError
	)
	switch {
	case errors.Is(err, context.Canceled):
		return nil
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &timeout) && timeout.Timeout():
		return ErrTimeout
	case errors.As(err, &unknown):
		return errUnknownCA
	case errors.As(err, &cert), errors.As(err, &record), strings.Contains(err.Error(), "gave HTTP response to HTTPS client"):
		return ErrTransport
	case errors.As(err, &dns), errors.As(err, &op), errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return ErrUnreachable
	}
	return nil
}

// inShort is an error without the address and method it begins with, which the
// caller names already.
func inShort(err error) string {
	var u *url.Error
	if errors.As(err, &u) {
		return u.Err.Error()
	}
	return err.Error()
}

// Status is the error of an answer that is not the one that was hoped for; nil
// for success.
func Status(resp *http.Response) error {
	var is error
	switch code := resp.StatusCode; {
	case code < 300:
		return nil
	case code == http.StatusUnauthorized, code == http.StatusForbidden:
		is = ErrUnauthorized
	case code == http.StatusNotFound, code == http.StatusGone:
		is = ErrNotFound
	case code == http.StatusRequestTimeout, code == http.StatusGatewayTimeout:
		is = ErrTimeout
	case code == http.StatusTooManyRequests, code >= 500:
		is = ErrUnreachable
	default:
		is = ErrProtocol
	}
	return fmt.Errorf("%w: it answers %s", is, resp.Status)
}

// Reason is what is wrong with a place, without what it was asked for: of all that is asked
// of a place that is down, it is the same. It is empty for what may be wrong with one thing
// that it has.
func Reason(err error) string {
	for _, is := range []error{ErrUnreachable, ErrTimeout, ErrUnauthorized, ErrTransport} {
		if !errors.Is(err, is) {
			continue
		}
		for next := errors.Unwrap(err); next != nil && next.Error() != is.Error(); next = errors.Unwrap(err) {
			err = next
		}
		return err.Error()
	}
	return ""
}
