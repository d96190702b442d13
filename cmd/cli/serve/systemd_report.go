package serve

import (
	"context"
	"log/slog"
	"sync"

	"triton/server"
)

// socketNames are the names of the sockets that systemd may open for the server.
var socketNames = []string{"http", "grpc", "metrics"}

// inherit makes the services use the sockets that systemd opened.
func inherit(u *systemdUnit, o *server.Options) {
	o.HTTP.Inherited, o.GRPC.Inherited, o.Metrics.Inherited = u.Listener("http"), u.Listener("grpc"), u.Listener("metrics")
}

// reporter tells systemd in which state the server is.
type reporter struct {
	unit *systemdUnit
	log  *slog.Logger
}

func (r reporter) notify(messages ...string) {
	if err := r.unit.Notify(messages...); err != nil {
		r.log.Warn(err.Error())
	}
}

func (r reporter) stopping() {
	r.notify(systemdStopping, systemdStatus("answering the requests in flight"))
}

// follow reports that the server serves and, until the returned function is called, that it is
// alive.
func (r reporter) follow(s *server.Server) (stop func()) {
	r.notify(systemdStatus("loading models"))
	ctx, cancel := context.WithCancel(context.Background())
	var wg sync.WaitGroup
	wg.Go(func() {
		select {
		case <-s.Serving():
			r.notify(systemdReady, systemdStatus("serving"))
			// The check takes the locks that requests take.
			r.unit.Watch(ctx, func() bool { s.Service().Index(true); return true })
		case <-ctx.Done():
		}
	})
	return func() {
		cancel()
		wg.Wait()
	}
}
