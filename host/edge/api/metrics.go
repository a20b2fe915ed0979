package api

import (
	"bytes"
	"cmp"
	"context"
	"net"
	"net/http"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"

	"github.com/skillet-run/skillet/host/app/govern"
	"github.com/skillet-run/skillet/host/app/principal"
	"github.com/skillet-run/skillet/host/app/work"
	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/base/trace"
)

// meter counts requests. Its labels are bounded: routes are those of the table.
type meter struct {
	requests *prometheus.CounterVec
	seconds  *prometheus.HistogramVec
	refused  *prometheus.CounterVec // by the limit that was reached
	panics   prometheus.Counter
	open     prometheus.Gauge
	own      *prometheus.Registry
}

// The limits by which requests are turned away: each has a row from the beginning.
var limitNames = []string{"rate", "token_rate", "stranger_rate", "health_rate", "busy", "token_busy", "streams", "token_streams", "verifying"}

func newMeter(version string, l *limits) *meter {
	m := &meter{
		requests: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "skillet_http_requests_total", Help: "Requests that were answered."}, []string{"method", "route", "status"}),
		seconds: prometheus.NewHistogramVec(prometheus.HistogramOpts{
			Name: "skillet_http_request_duration_seconds", Help: "How long requests took; streams are not among them.", Buckets: prometheus.ExponentialBuckets(0.0001, 4, 10),
		}, []string{"route"}),
		refused: prometheus.NewCounterVec(prometheus.CounterOpts{Name: "skillet_http_refused_total", Help: "Requests that were turned away, by the limit that was reached."}, []string{"limit"}),
		panics:  prometheus.NewCounter(prometheus.CounterOpts{Name: "skillet_http_panics_total", Help: "Requests that ended with a panic."}),
		open:    prometheus.NewGauge(prometheus.GaugeOpts{Name: "skillet_http_connections", Help: "Connections that are open, those of the local socket too."}),
		own:     prometheus.NewRegistry(),
	}
	for _, name := range limitNames {
		m.refused.WithLabelValues(name)
	}
	build := prometheus.NewGauge(prometheus.GaugeOpts{Name: "skillet_build_info", Help: "The version that runs.", ConstLabels: prometheus.Labels{"version": version}})
	build.Set(1)
	running, streams := func() float64 { n, _ := l.taken(); return float64(n) }, func() float64 { _, n := l.taken(); return float64(n) }
	m.own.MustRegister(m.requests, m.seconds, m.refused, m.panics, m.open, build,
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "skillet_http_in_flight", Help: "Requests that run."}, running),
		prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: "skillet_http_streams", Help: "Streams of events that are open."}, streams),
		collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// otherRoute stands for requests that no route is for.
const otherRoute = "other"

// watch counts the requests that inner answers, and makes spans of them.
func (a *API) watch(inner http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		began, told := time.Now(), &watched{ResponseWriter: w, status: http.StatusOK}
		_ = http.NewResponseController(w).SetWriteDeadline(time.Time{}) // that of the request before
		ctx, span := trace.Serve(r.Context(), r.Method, r.Header.Get)
		if id := trace.ID(ctx); id != "" {
			r = r.WithContext(ctx)
			w.Header().Set("Trace-Id", id)
		}
		a.serve(inner, told, r)
		method, route, found := strings.Cut(r.Pattern, " ")
		if !found {
			method, route = otherRoute, otherRoute // a client may invent methods and paths
		}
		a.meter.requests.WithLabelValues(method, route, strconv.Itoa(told.status)).Inc()
		if w.Header().Get("Content-Type") != streamType {
			a.meter.seconds.WithLabelValues(route).Observe(time.Since(began).Seconds())
		}
		span.Name(method + " " + route)
		span.Set(trace.Int("http.response.status_code", int64(told.status)))
		span.End(nil)
		if told.aborted {
			panic(http.ErrAbortHandler) // which ends the connection
		}
	})
}

// serve has inner answer a request, and answers for it when that panics: with a problem, or by
// ending the connection when the answer was begun. A panic with [http.ErrAbortHandler] is that end.
func (a *API) serve(inner http.Handler, w *watched, r *http.Request) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		if v != http.ErrAbortHandler {
			a.meter.panics.Inc()
			a.log.Error("a request panicked", "method", r.Method, "route", r.Pattern, "panic", v, "stack", string(debug.Stack()))
		}
		if w.begun || v == http.ErrAbortHandler {
			w.aborted = true
			return
		}
		write(w, problemOf(fault.Errorf(fault.KindInternal, "the request was not answered because of a fault of the host").WithHint("its log says more")))
	}()
	inner.ServeHTTP(w, r)
}

// watched is an answer whose status is seen, and that nobody who does not read it holds up.
type watched struct {
	http.ResponseWriter
	status  int
	begun   bool
	aborted bool // the connection is to end
}

// WriteHeader implements [http.ResponseWriter].
func (s *watched) WriteHeader(status int) {
	s.status, s.begun = status, true
	s.ResponseWriter.WriteHeader(status)
}

// pieceSize is how much of an answer a client has [writeTime] to read.
const pieceSize = 64 << 10

// Write implements [http.ResponseWriter].
func (s *watched) Write(b []byte) (n int, err error) {
	s.begun = true
	control := http.NewResponseController(s.ResponseWriter)
	for piece := range slices.Chunk(b, pieceSize) {
		_ = control.SetWriteDeadline(time.Now().Add(writeTime)) // where there is none, there is none
		m, err := s.ResponseWriter.Write(piece)
		if n += m; err != nil {
			return n, err
		}
	}
	return n, nil
}

// Unwrap is for [http.ResponseController].
func (s *watched) Unwrap() http.ResponseWriter { return s.ResponseWriter }

// ConnState counts the connections that are open. It is for [http.Server].
func (a *API) ConnState(_ net.Conn, s http.ConnState) {
	switch s {
	case http.StateNew:
		a.meter.open.Inc()
	case http.StateClosed, http.StateHijacked:
		a.meter.open.Dec()
	}
}

// Gather is what was counted, as somebody may see it who may see figures. It is for who
// sends it on.
func (a *API) Gather(ctx context.Context, by principal.Principal) prometheus.Gatherer {
	return prometheus.Gatherers{a.meter.own, prometheus.GathererFunc(func() (families []*dto.MetricFamily, err error) {
		m, err := a.s.Work.Usage().Metrics(ctx, by)
		if err != nil {
			return nil, err
		}
		r := prometheus.NewRegistry()
		if err := r.Register(counted{m}); err != nil {
			return nil, err
		}
		return r.Gather()
	})}
}

func metrics(a *API) {
	text := expfmt.NewFormat(expfmt.TypeTextPlain)
	addFile(a, route{method: http.MethodGet, path: "/metrics", id: "metrics", tag: "stats", summary: "Shows what this process counted, as Prometheus reads it", rights: needs(govern.RightRead)},
		[]string{"text/plain"}, func(ctx context.Context, p govern.Pass, _ *struct{}) (*file, error) {
			families, err := a.Gather(ctx, p.By()).Gather()
			var b bytes.Buffer
			for _, f := range families {
				if _, failed := expfmt.MetricFamilyToText(&b, f); err == nil {
					err = failed
				}
			}
			return &file{Type: string(text), Body: b.Bytes()}, err
		})
}

// counted makes metrics of what the application layer counted. The names without "skillet_"
// are those that the design has for tasks and models.
type counted struct{ work.Metrics }

// Describe implements [prometheus.Collector]: which metrics there are is not known before.
func (counted) Describe(chan<- *prometheus.Desc) {}

// Collect implements [prometheus.Collector].
func (c counted) Collect(to chan<- prometheus.Metric) {
	for _, m := range slices.Concat(c.ofSkills(), c.ofTasks(), c.ofModels(), c.ofQueue()) {
		to <- m
	}
}

func (c counted) ofSkills() (all []prometheus.Metric) {
	for _, s := range c.Skills {
		for outcome, n := range s.Outcomes {
			all = append(all, counter(callsTotal, n, s.Skill, outcome))
		}
		all = append(all, distribution(callSeconds, s.Seconds, s.Skill), distribution(callFuel, s.Fuel, s.Skill),
			counter(denialsTotal, s.Denials, s.Skill), counter(cachedTotal, s.Cached, s.Skill), counter(retriesTotal, s.Retries, s.Skill), counter(fallbacksTotal, s.Fallbacks, s.Skill))
	}
	return append(all, distribution(auditGroup, c.Groups))
}

func (c counted) ofTasks() (all []prometheus.Metric) {
	for _, a := range c.Agents {
		for state, n := range a.States {
			all = append(all, counter(tasksTotal, n, a.Agent, string(state)))
		}
		all = append(all, distribution(taskSeconds, a.Seconds, a.Agent), distribution(agentIterations, a.Thoughts, a.Agent), counter(agentToolCalls, a.ToolCalls, a.Agent))
	}
	return append(all, gauge(activeTasks, float64(c.Queue.Running)))
}

func (c counted) ofModels() (all []prometheus.Metric) {
	spent, dollars := map[string]*[3]uint64{}, map[string]float64{}
	for _, m := range c.Models {
		name := m.Provider + "/" + m.Model
		all = append(all, counter(modelRequests, uint64(m.Calls), name, cmp.Or(string(m.Tier), "none")))
		if spent[name] == nil {
			spent[name] = &[3]uint64{}
		}
		for i, n := range []int64{m.InputTokens, m.OutputTokens, m.Failed} {
			spent[name][i] += uint64(n)
		}
		dollars[name] += float64(m.MicroUSD) / 1e6
	}
	for name, n := range spent {
		all = append(all, counter(modelTokens, n[0], name, "input"), counter(modelTokens, n[1], name, "output"), counter(modelFailures, n[2], name),
			prometheus.MustNewConstMetric(modelCost, prometheus.CounterValue, dollars[name], name))
	}
	for name, answers := range c.Providers {
		up := 0.0
		if answers {
			up = 1
		}
		all = append(all, gauge(providerUp, up, name))
	}
	return all
}

func (c counted) ofQueue() (all []prometheus.Metric) {
	q := c.Queue
	for state, n := range map[string]int{"waiting": q.Waiting, "delayed": q.Delayed, "running": q.Running, "dead": q.DeadLetters} {
		all = append(all, gauge(queueDepth, float64(n), state))
	}
	return append(all, gauge(queueOldest, q.OldestSeconds), gauge(queueLimit, float64(q.Limit)), counter(queueShed, q.Totals.Shed))
}

func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc(name, help, labels, nil)
}

var (
	callsTotal     = desc("skillet_calls_total", "Calls of tools, by how they ended: ok, or the kind of failure.", "skill", "outcome")
	callSeconds    = desc("skillet_call_duration_seconds", "How long calls of tools took.", "skill")
	callFuel       = desc("skillet_call_fuel", "How much calls that ran computed.", "skill")
	denialsTotal   = desc("skillet_denials_total", "Requests of skills that were refused.", "skill")
	cachedTotal    = desc("skillet_cached_calls_total", "Calls that were answered with a kept answer.", "skill")
	retriesTotal   = desc("skillet_retries_total", "Attempts after the first.", "skill")
	fallbacksTotal = desc("skillet_fallbacks_total", "Calls that a fallback answered.", "skill")
	auditGroup     = desc("skillet_audit_group_entries", "How many records of calls were signed and acknowledged together.")

	tasksTotal      = desc("tasks_total", "Tasks that ended, by how.", "agent", "status")
	taskSeconds     = desc("task_duration_seconds", "How long tasks were worked on.", "agent")
	activeTasks     = desc("active_tasks", "Tasks that are worked on.")
	agentIterations = desc("agent_iterations", "How often models were asked for a task.", "agent")
	agentToolCalls  = desc("agent_tool_calls_total", "Calls of tools made for tasks.", "agent")

	modelRequests = desc("model_requests_total", "Requests to models.", "model", "tier")
	modelFailures = desc("model_failures_total", "Requests to models that failed.", "model")
	modelTokens   = desc("model_tokens_total", "Tokens of requests to models.", "model", "direction")
	modelCost     = desc("model_cost_usd_total", "What requests to models cost, in US dollars.", "model")
	providerUp    = desc("skillet_provider_up", "Whether a provider answered when it was asked last.", "provider")

	queueDepth  = desc("skillet_queue_depth", "Tasks in the queue.", "state")
	queueOldest = desc("skillet_queue_oldest_seconds", "How long the task has waited that has waited longest.")
	queueLimit  = desc("skillet_queue_limit", "How many tasks the queue takes.")
	queueShed   = desc("skillet_queue_shed_total", "Tasks that the queue turned away, in all processes.")
)

func counter(d *prometheus.Desc, n uint64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.CounterValue, float64(n), labels...)
}

func gauge(d *prometheus.Desc, v float64, labels ...string) prometheus.Metric {
	return prometheus.MustNewConstMetric(d, prometheus.GaugeValue, v, labels...)
}

func distribution(d *prometheus.Desc, h work.Histogram, labels ...string) prometheus.Metric {
	buckets, sum := map[float64]uint64{}, uint64(0)
	for i, bound := range h.Bounds {
		sum += h.Counts[i]
		buckets[bound] = sum
	}
	return prometheus.MustNewConstHistogram(d, h.Count(), h.Sum, buckets, labels...)
}
