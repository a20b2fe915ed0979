package main

import (
	"context"
	"errors"
	"net"
	"os"
	"os/signal"
	"path/filepath"
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
	edge, sent, err := t.newAPI(ctx, c, h, common)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	defer t.mountMCP(ctx, h, edge, !c.Bool("no-tasks"))()
	defer func() { err = errors.Join(err, sent.Close(ctx)) }()
	s := api.Serving{
		Drain: c.Duration("drain"), Shown: shown, Requests: trace.With(context.Background(), sent.Tracer()),
		Started: func() func() { return daemon.Ready(ctx, h.CatchUp) },
	}
	ls, err := t.announce(ctx, h, claim, s, l)
	if err != nil {
		return errors.Join(err, l.Close())
	}
	defer reloading(func() { t.reload(ctx, c, h, edge, shown) })()
	if c.Bool("no-tasks") {
		return edge.Serve(ctx, s, ls...)
	}
	return t.whileWorking(trace.With(ctx, sent.Tracer()), h, func(ctx context.Context) error { return edge.Serve(ctx, s, ls...) })
}

// newAPI makes the edge with the limits that are set, and what sends away what is traced and
// counted; nil when nothing is. common is what commands that use the service share with it.
func (t *terminal) newAPI(ctx context.Context, c *cli.Context, h *host.Host, common string) (*api.API, *otlp.Exporter, error) {
	settings, err := upkeep.SettingsOfService(ctx, t.person(), h.Home(), t.settingLayers(c))
	if err != nil {
		return nil, nil, err
	}
	edge := api.New(h.Log().Named("api"), api.Services{
		Admit: h.Admit(), Invoke: h.Invoke(), Code: h.Code(), Govern: h.Govern(), Work: h.Work(), Explain: meaning.Of, Ready: h.CatchUp,
	}, api.Settings{Version: upkeep.ThisBuild().Version, Limits: limitsOf(settings), Common: common})
	sent, err := otlp.Open(ctx, otlp.Options{
		Getenv: t.getenv, Version: upkeep.ThisBuild().Version, Metrics: edge.Gather(context.WithoutCancel(ctx), t.person()),
		Failed: func(err error) { h.Log().Named("otlp").Warn("what was traced or counted is not sent", "err", err) },
	})
	return edge, sent, err
}

// announce tells commands and the person where the home is served: at l, and at the local
// socket where there can be one.
func (t *terminal) announce(ctx context.Context, h *host.Host, claim *upkeep.Claim, s api.Serving, l net.Listener) ([]net.Listener, error) {
	path, err := claim.Socket()
	if err != nil {
		return nil, err
	}
	ls := []net.Listener{l}
	socket, err := api.ListenLocally(ctx, path)
	switch {
	case err != nil:
		return nil, err
	case socket == nil:
		path = ""
	default:
		ls = append(ls, socket)
	}
	at, err := claim.Announce(s.Scheme()+"://"+l.Addr().String(), path)
	if err != nil {
		return nil, err
	}
	return ls, t.sayServing(h, at, s.Shown)
}

// reload reads again what may change while a home is served: the limits, and the certificate.
func (t *terminal) reload(ctx context.Context, c *cli.Context, h *host.Host, edge *api.API, shown *cert.Reloader) {
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

// served is what the command prints when it begins.
type served struct {
	Home string `json:"home"`
	upkeep.Serving
	// Certificate is the file with the certificate, and Fingerprint its SHA-256; empty without
	// TLS.
	Certificate string `json:"certificate,omitempty"`
	Fingerprint string `json:"sha256,omitempty"`
}

func (t *terminal) sayServing(h *host.Host, at upkeep.Serving, shown *cert.Reloader) error {
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

func limitsOf(s upkeep.ServiceSettings) api.Limits {
	return api.Limits{PerToken: s.TokenRate, All: s.Rate, InFlight: s.InFlight, Streams: s.Streams, Connections: s.Connections}
}

// certificateOf is the certificate that the service shows; nil for none, which does on this
// machine alone.
func certificateOf(c *cli.Context, home string) (*cert.Reloader, error) {
	file, key, own := c.String("tls-cert"), c.String("tls-key"), c.Bool("tls-self-signed")
	if (file == "") != (key == "") || own && file != "" {
		return nil, fault.Errorf(fault.KindUsage, "a certificate is --tls-cert with --tls-key, or --tls-self-signed")
	}
	listen := c.String("listen")
	local, err := api.IsLocal(listen)
	switch {
	case err != nil:
		return nil, fault.Errorf(fault.KindUsage, "--listen %s: it is not HOST:PORT", listen).WithHint("such as --listen %s", defaultListen)
	case file == "" && !own && local:
		return nil, nil
	case file == "" && !own:
		return nil, fault.Errorf(fault.KindUsage, "--listen %s: others on the network could read the tokens there, so it needs TLS", listen).
			WithHint("name a certificate, --tls-cert and --tls-key, or have one made, --tls-self-signed; or listen on this machine alone, --listen %s", defaultListen)
	case file != "":
		return cert.Open(cert.Source{Cert: file, Key: key})
	}
	return cert.Open(cert.Source{Dir: filepath.Join(home, "tls"), Names: cert.NamesAt(listen)})
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
