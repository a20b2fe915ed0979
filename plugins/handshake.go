package plugins

import (
	"encoding/base64"
	"fmt"
	"net/netip"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"

	goplugin "github.com/hashicorp/go-plugin"
)

// Protocol is the version of the protocol of plugins: of the handshake's use, and
// of both gRPC contracts.
const Protocol = 1

// cookie is what tells a program that it is started as a plugin. It is not a secret.
func cookie() goplugin.HandshakeConfig {
	return goplugin.HandshakeConfig{
		ProtocolVersion: Protocol, MagicCookieKey: "SKILLET_PLUGIN", MagicCookieValue: "a4c1f0d27b5e4e90",
	}
}

// The names of variables that every plugin of ours finds in its environment.
const (
	envHost   = "SKILLET_PLUGIN_HOST"   // the number of the host's process
	envMark   = "SKILLET_PLUGIN_MARK"   // which no other start of a plugin has
	envLimits = "SKILLET_PLUGIN_LIMITS" // memory, open files, processor seconds
)

// isHandshake reports whether a line is meant to be the handshake: a number, and
// what is between it and the next.
func isHandshake(line string) bool {
	number, _, ok := strings.Cut(line, "|")
	return ok && len(number) <= 3 && strings.Trim(number, "0123456789") == "" && strings.Count(line, "|") >= 3
}

// checkHandshake refuses what go-plugin would take and we do not: another
// version, a connection that others can reach, or one without TLS. The line is
//
//	1|PROTOCOL|unix|ADDRESS|grpc|CERTIFICATE
//
// as in go-plugin's guide for plugins in other languages; the certificate is DER
// in base64 without padding. dir is where the socket has to be.
func checkHandshake(line, dir string) error {
	parts := strings.Split(line, "|")
	if len(parts) < 6 {
		return fmt.Errorf("%w: its first line has %d parts, not 6: %q", ErrHandshake, len(parts), shorten(line))
	}
	if parts[0] != strconv.Itoa(goplugin.CoreProtocolVersion) {
		return fmt.Errorf("%w: of the handshake %s, this host %d", ErrVersion, parts[0], goplugin.CoreProtocolVersion)
	}
	if parts[1] != strconv.Itoa(Protocol) {
		return fmt.Errorf("%w: %s, this host %d; use a version of it that is made for this host", ErrVersion, shorten(parts[1]), Protocol)
	}
	if parts[4] != string(goplugin.ProtocolGRPC) {
		return fmt.Errorf("%w: it speaks %q, not grpc", ErrHandshake, shorten(parts[4]))
	}
	if cert, err := base64.RawStdEncoding.DecodeString(parts[5]); err != nil || len(cert) < minCertificate {
		return fmt.Errorf("%w: it has no certificate", ErrHandshake)
	}
	return checkAddress(parts[2], parts[3], dir)
}

// minCertificate is fewer bytes than any certificate has, and more than go-plugin
// takes for one.
const minCertificate = 64

// checkAddress refuses a connection that is not to a socket in the plugin's own
// directory. Windows has no such sockets for go-plugin; there it is a port of the
// loopback address.
func checkAddress(network, address, dir string) error {
	if runtime.GOOS == "windows" && network == "tcp" {
		if a, err := netip.ParseAddrPort(address); err == nil && a.Addr().IsLoopback() {
			return nil
		}
	}
	if network == "unix" && filepath.IsAbs(address) {
		if rel, err := filepath.Rel(dir, filepath.Clean(address)); err == nil && rel != "." && filepath.IsLocal(rel) {
			return nil
		}
	}
	return fmt.Errorf("%w: it listens on %s %q and not in its own directory", ErrHandshake, shorten(network), shorten(address))
}

// shorten is as much of foreign text as an error repeats.
func shorten(s string) string {
	const most = 80
	if len(s) > most {
		s = s[:most] + "..."
	}
	return strings.ToValidUTF8(s, "?")
}
