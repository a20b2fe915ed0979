// Package otlp sends what the host traces and counts to a collector, by OTLP over HTTP.
//
// Where to, and what, is said by the environment variables that OpenTelemetry has for that;
// nothing is sent without one of them.
package otlp

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	bridge "go.opentelemetry.io/contrib/bridges/prometheus"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdk "go.opentelemetry.io/otel/sdk/trace"

	"github.com/skillet-run/skillet/host/base/fault"
	"github.com/skillet-run/skillet/host/base/trace"
)

// Options say what is sent.
type Options struct {
	// Getenv reads the environment, which has to be that of the process.
	Getenv func(string) string
	// Version is that of the program.
	Version string
	// Metrics are sent every minute, or as OTEL_METRIC_EXPORT_INTERVAL says.
	Metrics prometheus.Gatherer
	// Failed is told what could not be sent.
	Failed func(error)
}

// An Exporter sends. Nil sends nothing.
type Exporter struct {
	traces  *sdk.TracerProvider
	metrics *metric.MeterProvider
}

// variables of OpenTelemetry.
const (
	endpoint = "OTEL_EXPORTER_OTLP_ENDPOINT"
	protocol = "OTEL_EXPORTER_OTLP_PROTOCOL"
	spoken   = "http/protobuf"
)

// Open begins to send, if the environment says where to; otherwise the result is nil. The
// error is a [fault.KindUsage] one for a protocol that is not spoken.
func Open(ctx context.Context, o Options) (*Exporter, error) {
	if strings.EqualFold(o.Getenv("OTEL_SDK_DISABLED"), "true") {
		return nil, nil
	}
	as, err := resource.New(ctx, resource.WithAttributes(attribute.String("service.name", "skillet"), attribute.String("service.version", o.Version)), resource.WithFromEnv())
	if err != nil {
		return nil, fault.Wrap(fault.KindUsage, fmt.Errorf("OTEL_RESOURCE_ATTRIBUTES: %w", err))
	}
	e := &Exporter{}
	for _, signal := range []struct {
		name string
		open func(context.Context, Options, *resource.Resource) error
	}{{"TRACES", e.openTraces}, {"METRICS", e.openMetrics}} {
		wanted, err := wants(o.Getenv, signal.name)
		if err == nil && wanted {
			err = signal.open(ctx, o, as)
		}
		if err != nil {
			return nil, errors.Join(err, e.Close(ctx))
		}
	}
	if e.traces == nil && e.metrics == nil {
		return nil, nil
	}
	if o.Failed != nil {
		otel.SetErrorHandler(otel.ErrorHandlerFunc(o.Failed))
	}
	return e, nil
}

// wants reports whether the environment says where a signal is sent.
func wants(getenv func(string) string, signal string) (bool, error) {
	own := strings.Replace(endpoint, "OTLP_", "OTLP_"+signal+"_", 1)
	if getenv("OTEL_"+signal+"_EXPORTER") == "none" || getenv(endpoint) == "" && getenv(own) == "" {
		return false, nil
	}
	for _, name := range []string{strings.Replace(protocol, "OTLP_", "OTLP_"+signal+"_", 1), protocol} {
		if p := getenv(name); p != "" {
			if p != spoken {
				return false, fault.Errorf(fault.KindUsage, "%s is %s, which is not spoken here", name, p).WithHint("set it to %s; collectors listen for that at port 4318", spoken)
			}
			break
		}
	}
	return true, nil
}

func (e *Exporter) openTraces(ctx context.Context, _ Options, as *resource.Resource) error {
	to, err := otlptracehttp.New(ctx)
	if err != nil {
		return fmt.Errorf("send traces: %w", err)
	}
	e.traces = sdk.NewTracerProvider(sdk.WithBatcher(to), sdk.WithResource(as))
	return nil
}

func (e *Exporter) openMetrics(ctx context.Context, o Options, as *resource.Resource) error {
	if o.Metrics == nil {
		return nil
	}
	to, err := otlpmetrichttp.New(ctx)
	if err != nil {
		return fmt.Errorf("send metrics: %w", err)
	}
	reader := metric.NewPeriodicReader(to, metric.WithProducer(bridge.NewMetricProducer(bridge.WithGatherer(o.Metrics))))
	e.metrics = metric.NewMeterProvider(metric.WithReader(reader), metric.WithResource(as))
	return nil
}

// Tracer makes spans that are sent; nil when none are.
func (e *Exporter) Tracer() trace.Tracer {
	if e == nil || e.traces == nil {
		return nil
	}
	return e.traces.Tracer("skillet")
}

// closeTime is how long the last may take to be sent.
const closeTime = 5 * time.Second

// Close sends the last of it.
func (e *Exporter) Close(ctx context.Context) error {
	if e == nil {
		return nil
	}
	ctx, stop := context.WithTimeout(context.WithoutCancel(ctx), closeTime)
	defer stop()
	var errs []error
	if e.traces != nil {
		errs = append(errs, e.traces.Shutdown(ctx))
	}
	if e.metrics != nil {
		errs = append(errs, e.metrics.Shutdown(ctx))
	}
	return errors.Join(errs...)
}
