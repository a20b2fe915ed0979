package daemon

import (
	"context"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// Ready tells the system that the service answers, and goes on telling it that for as long
// as well returns nil, when the system wants to hear it (sd_notify(3), sd_watchdog_enabled(3)). A
// system that hears nothing for long starts the service again. stop, which may be called again,
// ends that, and says that the service is about to end. Without systemd nothing is told.
func Ready(ctx context.Context, well func(context.Context) error) (stop func()) {
	_, _ = daemon.SdNotify(false, daemon.SdNotifyReady) // nobody may be listening any more
	ctx, cancel := context.WithCancel(ctx)
	if every, err := daemon.SdWatchdogEnabled(false); err == nil && every > 0 {
		go watch(ctx, every/2, well)
	}
	return func() {
		if ctx.Err() == nil {
			_, _ = daemon.SdNotify(false, daemon.SdNotifyStopping)
		}
		cancel()
	}
}

func watch(ctx context.Context, every time.Duration, well func(context.Context) error) {
	for t := time.NewTicker(every); ; {
		select {
		case <-ctx.Done():
			t.Stop()
			return
		case <-t.C:
		}
		if well(ctx) == nil {
			_, _ = daemon.SdNotify(false, daemon.SdNotifyWatchdog)
		}
	}
}
