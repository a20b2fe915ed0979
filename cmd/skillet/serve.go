package main

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/skillet-run/skillet/cmd/skillet/internal/daemon"
	"github.com/skillet-run/skillet/host"
	"github.com/skillet-run/skillet/host/app/meaning"
	"github.com/skillet-run/skillet/host/app/upkeep"
	"github.com/skillet-run/skillet/host/app/work"
	"github.com/skillet-run/skillet/host/base/cert"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/base/otlp"
	"github.com/skillet-run/skillet/host/base/trace"
	"github.com/skillet-run/skillet/host/edge/api"
)

// defaultListen is where the service listens when nobody says.
const defaultListen = "127.0.0.1:7777"

func (t *terminal) serveCommand() *cli.Command {
	return command("serve", []cli.Flag{
		&cli.StringFlag{Name: "listen", Usage: "listen at `HOST:PORT`; a host beyond this machine needs TLS, and port 0 takes any that is free", Value: defaultListen},
		&cli.StringFlag{Name: "tls-cert", Usage: "the certificate to show, a `FILE` in PEM"},
		&cli.StringFlag{Name: "tls-key", Usage: "its key, a `FILE` in PEM"},
		&cli.BoolFlag{Name: "tls-self-signed", Usage: "show a certificate that is made here and kept in the home, for the names and addresses of this machine"},
		&cli.DurationFlag{Name: "drain", Usage: "how long requests that run may go on once it is told to end, `TIME`", Value: 10 * time.Second},
		&cli.BoolFlag{Name: "no-tasks", Usage: "work on no tasks"},
	}, t.serveCommon)
}

// serveCommon serves the home, to commands too that have its settings.
func (t *terminal) serveCommon(c *cli.Context) error {
	common := ""
	if home, err := t.home(c); err == nil {
		if home, err = upkeep.MakeHome(home); err == nil { // what is wrong is said when it is opened
			common, _ = commonOf(t.options(c, home)) // empty for a service that no command uses
		}
	}
	return t.withHostFor(func(*cli.Context) host.Expectation { return host.ExpectMuch }, func(ctx context.Context, c *cli.Context, h *host.Host) error {
		return t.serve(ctx, c, h, common)
	})(c)
}

// serve serves the home until the command is told to end.
func (t *terminal) serve(ctx context.Context, c *cli.Context, h *host.Host, common string) (err error) {
	if err := h.CatchUp(ctx); err != nil {
		return err
	}
	shown, err := certificateOf(c, h.Home())
	if err != nil {
		return err
	}
	if c.Duration("drain") < 0 {
		return fault.Errorf(fault.KindUsage, "--drain %s has no meaning", c.Duration("drain")).WithHint("give a time, or 0s")
	}
	claim, err := h.Upkeep().Claim(ctx, t.person())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, claim.Release()) }()
	l, err := new(net.ListenConfig).Listen(ctx, "tcp", c.String("listen"))
	if err != nil {
		return fault.Errorf(fault.KindUsage, "serve: %w", err).WithHint("name another port: --listen 127.0.0.1:0 takes any that is free")
	}
	defer func() {
		err = errors.Join(err, h.Govern().Tokens.FlushRefusals(context.WithoutCancel(ctx), t.person()))
	}()
	settings, err := upkeep.SettingsOfService(ctx, t.person(), h.Home(), t.settingLayers(c))
	if err != nil {
		return errors.Join(err, l.Close())
	}
	s, err := t.newServer(ctx, h, serverOptions{c.Duration("drain"), limitsOf(settings), common, shown})
	if err != nil {
		return errors.Join(err, l.Close())
	}
	defer func() { err = errors.Join(err, s.sent.Close(ctx)) }()
	l = s.edge.Limit(l)
	address := s.scheme + "://" + l.Addr().String()
	if shown != nil {
		l = tls.NewListener(l, s.http.TLSConfig)
	}
	ls, path := []net.Listener{l}, ""
	socket, err := listenLocally(ctx, claim)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	if socket != nil {
		ls, path = append(ls, socket), socket.Addr().String()
	}
	at, err := claim.Announce(address, path)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	if err := t.sayServing(h, at, shown); err != nil {
		return errors.Join(err, l.Close())
	}
	s.serving = func() func() { return daemon.Ready(ctx, h.CatchUp) }
	defer reloading(func() { t.reload(ctx, c, h, s.edge, shown) })()
	if c.Bool("no-tasks") {
		return s.run(ctx, ls...)
	}
	return t.whileWorking(trace.With(ctx, s.sent.Tracer()), h, func(ctx context.Context) error { return s.run(ctx, ls...) })
}

// reload reads again what may change while a home is served: the limits, and the certificate.
func (t *terminal) reload(ctx context.Context, c *cli.Context, h *host.Host, edge *api.API, shown *cert.Keeper) {
	settings, err := upkeep.SettingsOfService(ctx, t.person(), h.Home(), t.settingLayers(c))
	if err == nil {
		edge.SetLimits(limitsOf(settings))
	}
	if shown != nil {
		err = errors.Join(err, shown.Reload())
	}
	if err != nil {
		h.Log().Error("what is set was not read again", "err", err)
	}
}

// longestSocket is the longest path of a socket that every system takes.
const longestSocket = 100

// listenLocally listens at the local socket of the home, which only its owner may open. It
// is nil where the system does not say who is at the other end, and where the path is too long.
func listenLocally(ctx context.Context, claim *upkeep.Claim) (net.Listener, error) {
	path, err := claim.Socket()
	if err != nil || !api.LocalSocket || len(path) > longestSocket {
		return nil, err
	}
	l, err := new(net.ListenConfig).Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("serve: %w", err)
	}
	if err := os.Chmod(path, 0o600); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// served is what the command prints when it begins.
type served struct {
	Home string `json:"home"`
	upkeep.Serving
	// Certificate is the file with the certificate, and Fingerprint its SHA-256; empty without
	// TLS.
	Certificate string `json:"certificate,omitempty"`
	Fingerprint string `json:"sha256,omitempty"`
}

func (t *terminal) sayServing(h *host.Host, at upkeep.Serving, shown *cert.Keeper) error {
	v := served{Home: h.Home(), Serving: at}
	if shown != nil {
		v.Certificate, v.Fingerprint = shown.File(), shown.Fingerprint()
	}
	return t.answer(v, func() {
		t.say("serving %s at %s; a token: `skillet token create NAME --role caller`", plain(h.Home()), at.Address)
		if shown != nil {
			t.say("its certificate is %s, SHA-256 %s", plain(v.Certificate), v.Fingerprint)
		}
	})
}

// checkListen refuses to listen where others than this machine could come from: tokens would
// be read on the way.
func checkListen(address string) error {
	name, _, err := net.SplitHostPort(address)
	if err != nil {
		return fault.Errorf(fault.KindUsage, "--listen %s: it is not HOST:PORT", address).WithHint("such as --listen %s", defaultListen)
	}
	if ip := net.ParseIP(name); name == "localhost" || ip != nil && ip.IsLoopback() {
		return nil
	}
	return fault.Errorf(fault.KindUsage, "--listen %s: others on the network could read the tokens there, so it needs TLS", address).
		WithHint("name a certificate, --tls-cert and --tls-key, or have one made, --tls-self-signed; or listen on this machine alone, --listen %s", defaultListen)
}

// whileWorking works on the tasks that wait, for as long as do runs.
func (t *terminal) whileWorking(ctx context.Context, h *host.Host, do func(context.Context) error) error {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	var working sync.WaitGroup
	var failed error
	working.Go(func() {
		failed = h.Work().Tasks().RunWorkers(ctx, t.person(), work.WorkRequest{Watch: true})
		if ctx.Err() != nil && errors.Is(failed, context.Canceled) {
			failed = nil
		}
		stop() // without tasks there is no service
	})
	err := do(ctx)
	stop()
	working.Wait()
	return errors.Join(err, failed)
}

// A server answers requests over HTTP.
type server struct {
	http     *http.Server
	drain    time.Duration
	edge     *api.API
	scheme   string
	cancel   context.CancelFunc // ends requests that run
	endCalls func()             // ends those whose clients have gone
	ending   chan struct{}      // closed when no more are taken in
	sent     *otlp.Exporter     // nil when nothing is
	// serving tells the system that the service answers, and returns what tells it that it ends.
	serving func() (stop func())
}

func limitsOf(s upkeep.ServiceSettings) api.Limits {
	return api.Limits{PerToken: s.TokenRate, All: s.Rate, InFlight: s.InFlight, Streams: s.Streams, Connections: s.Connections}
}

// serverOptions say how a home is served.
type serverOptions struct {
	drain  time.Duration
	limits api.Limits
	common string       // what commands that use the service have in common with it
	shown  *cert.Keeper // the certificate that is shown; nil without TLS
}

func (t *terminal) newServer(ctx context.Context, h *host.Host, o serverOptions) (*server, error) {
	s := &server{drain: o.drain, ending: make(chan struct{})}
	edge := api.New(h.Log().Named("api"), api.Services{
		Admit: h.Admit(), Invoke: h.Invoke(), Govern: h.Govern(), Work: h.Work(), Explain: meaning.Of,
		Ready: func(ctx context.Context) error {
			select {
			case <-s.ending:
				return fault.Errorf(fault.KindConflict, "the service is about to end")
			default:
				return h.CatchUp(ctx)
			}
		},
	}, api.Settings{Version: upkeep.ThisBuild().Version, Limits: o.limits, Common: o.common})
	s.edge, s.scheme = edge, "http"
	var err error
	s.sent, err = otlp.Open(ctx, otlp.Options{
		Getenv: t.getenv, Version: upkeep.ThisBuild().Version, Metrics: edge.Gather(context.WithoutCancel(ctx), t.person()),
		Failed: func(err error) { h.Log().Named("otlp").Warn("what was traced or counted is not sent", "err", err) },
	})
	if err != nil {
		return nil, err
	}
	requests, cancel := context.WithCancel(trace.With(context.Background(), s.sent.Tracer()))
	s.cancel = cancel
	s.http = &http.Server{
		Handler: edge.Handler(hostCheck(o.shown)), ReadHeaderTimeout: 10 * time.Second, IdleTimeout: 2 * time.Minute, MaxHeaderBytes: 64 << 10,
		BaseContext: func(net.Listener) context.Context { return requests }, ConnContext: edge.ConnContext, ConnState: edge.ConnState,
		ErrorLog: h.Log().Named("http").StandardLogger(nil),
	}
	s.endCalls = edge.EndCalls
	if o.shown != nil {
		s.scheme, s.http.TLSConfig = "https", o.shown.Config()
	}
	s.http.RegisterOnShutdown(edge.EndStreams)
	return s, nil
}

// hostCheck says which hosts requests may name: those of the certificate where there is one,
// and this machine otherwise, as at the local socket.
func hostCheck(shown *cert.Keeper) func(*http.Request) bool {
	return func(r *http.Request) bool {
		if r.TLS != nil {
			return shown.IsFor(r.Host)
		}
		return thisMachine(r.Host)
	}
}

// thisMachine reports whether a request names this machine: a page that a browser was led to
// by another name does not speak for whoever sits here.
func thisMachine(hostport string) bool {
	name := hostport
	if n, _, err := net.SplitHostPort(hostport); err == nil {
		name = n
	}
	name = strings.Trim(name, "[]")
	return slices.Contains([]string{"localhost", "127.0.0.1", "::1"}, strings.ToLower(name)) || net.ParseIP(name).IsLoopback()
}

// run answers requests until ctx ends. Those that run then may go on for the time of the
// drain, and are cancelled after it.
func (s *server) run(ctx context.Context, ls ...net.Listener) error {
	defer s.cancel()
	defer s.endCalls()
	failed := make(chan error, len(ls))
	for _, l := range ls {
		go func() { failed <- s.http.Serve(l) }()
	}
	stopping := s.serving()
	defer stopping()
	select {
	case err := <-failed:
		return fmt.Errorf("serve: %w", err)
	case <-ctx.Done():
	}
	stopping()
	close(s.ending)
	draining, stop := context.WithTimeout(context.WithoutCancel(ctx), cmp.Or(s.drain, time.Nanosecond))
	defer stop()
	err := s.http.Shutdown(draining)
	if errors.Is(err, context.DeadlineExceeded) {
		s.cancel()
		s.endCalls()
		err = s.abandon()
	}
	if err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

// abandonTime is how long requests that were cancelled may take to notice it.
const abandonTime = 2 * time.Second

// abandon waits for requests that were cancelled, and closes what is left.
func (s *server) abandon() error {
	ctx, stop := context.WithTimeout(context.Background(), abandonTime)
	defer stop()
	if err := s.http.Shutdown(ctx); errors.Is(err, context.DeadlineExceeded) {
		return s.http.Close()
	} else if err != nil {
		return err
	}
	return nil
}

// certificateOf is the certificate that the service shows; nil for none, which does on this
// machine alone.
func certificateOf(c *cli.Context, home string) (*cert.Keeper, error) {
	file, key, own := c.String("tls-cert"), c.String("tls-key"), c.Bool("tls-self-signed")
	if (file == "") != (key == "") || own && file != "" {
		return nil, fault.Errorf(fault.KindUsage, "a certificate is --tls-cert with --tls-key, or --tls-self-signed")
	}
	listen := c.String("listen")
	if _, _, err := net.SplitHostPort(listen); err != nil || !own && file == "" {
		return nil, checkListen(listen)
	}
	if file != "" {
		return cert.Open(cert.Source{Cert: file, Key: key})
	}
	return cert.Open(cert.Source{Dir: filepath.Join(home, "tls"), Names: namesOf(listen)})
}

// namesOf are the names and addresses by which this machine is reached at a place to listen.
func namesOf(listen string) []string {
	names := []string{"localhost", "127.0.0.1", "::1"}
	host, _, _ := net.SplitHostPort(listen) // which the caller has checked
	if ip := net.ParseIP(host); host != "" && (ip == nil || !ip.IsUnspecified()) {
		return append(names, host)
	}
	if name, err := os.Hostname(); err == nil {
		names = append(names, name)
	}
	all, _ := net.InterfaceAddrs() // what the system does not tell is left out
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && !n.IP.IsLoopback() && !n.IP.IsLinkLocalUnicast() {
			names = append(names, n.IP.String())
		}
	}
	return names
}

// reloadEvery is how often a certificate is looked after without being told to.
const reloadEvery = 12 * time.Hour

// reloading calls reload on SIGHUP and every 12 hours, until stop is called.
func reloading(reload func()) (stop func()) {
	hup, ended := make(chan os.Signal, 1), make(chan struct{})
	signal.Notify(hup, syscall.SIGHUP)
	tick := time.NewTicker(reloadEvery)
	var one sync.WaitGroup
	one.Go(func() {
		for {
			select {
			case <-ended:
				return
			case <-hup:
			case <-tick.C:
			}
			reload()
		}
	})
	return func() {
		signal.Stop(hup)
		tick.Stop()
		close(ended)
		one.Wait()
	}
}
