package daemon

import (
	"context"
	"sync"
	"time"

	"github.com/coreos/go-systemd/v22/daemon"
)

// Ready tells the system that the service answers, and goes on telling it that for as long
// as well returns nil, when the system wants to hear it (sd_notify(3), sd_watchdog_enabled(3)). A
// system that hears nothing for long starts the service again. stop, which may be called again, and
// after ctx has ended, ends that, and says that the service is about to end. Without systemd nothing is told.
func Ready(ctx context.Context, well func(context.Context) error) (stop func()) {
	_, _ = daemon.SdNotify(false, daemon.SdNotifyReady) // nobody may be listening any more
	ctx, cancel := context.WithCancel(ctx)
	if every, err := daemon.SdWatchdogEnabled(false); err == nil && every > 0 {
		go watch(ctx, every/watches, well)
	}
	return sync.OnceFunc(func() {
		cancel()
		_, _ = daemon.SdNotify(false, daemon.SdNotifyStopping)
	})
}

// watches is how often a service is looked after in the time in which the system wants to hear
// of it: one that was not well once is not started again for that.
const watches = 4

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
