package main

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"time"

	"triton/pkg/log"
	"triton/pkg/status"
	"triton/server"
	"triton/server/backend/onnx"
	"triton/server/capi/inprocess"
)

// library starts the servers of a program. They share its log.
type library struct {
	version string
	getenv  func(string) string
	sink    *log.Sink
	log     *slog.Logger
}

// start starts a server and waits until its models are loaded.
func (l *library) start(settings []inprocess.Setting) (inprocess.Options, error) {
	o, err := options(settings)
	if err != nil {
		return inprocess.Options{}, err
	}
	if l.version != "" {
		o.Version = l.version
	}
	o.Log, o.Logs = l.log, l.sink
	search := onnx.Search{Getenv: l.getenv, Backends: o.BackendDirectory}
	if dir, err := os.Getwd(); err == nil {
		search.Directory = dir
	}
	o.Backends = server.NewBackends(search)
	s, err := server.New(o)
	if err != nil {
		return inprocess.Options{}, cause(err)
	}
	ctx, stop := context.WithCancel(context.Background())
	r := &running{stop: stop, done: make(chan struct{})}
	go r.run(ctx, s)
	select {
	case <-s.Serving():
	case <-r.done:
		stop()
		return inprocess.Options{}, cause(r.err)
	}
	return inprocess.Options{
		Service:  s.Service(),
		Poll:     func() error { return s.Poll(context.Background()) },
		Register: s.RegisterRepository, Unregister: s.UnregisterRepository,
		Metrics: s.MetricsText, Stop: r.end, SetExitTimeout: s.SetExitTimeout,
	}, nil
}

// running is a server until it has ended.
type running struct {
	stop context.CancelFunc
	done chan struct{} // closed when the server has ended
	err  error         // valid then
}

func (r *running) run(ctx context.Context, s *server.Server) {
	defer close(r.done)
	r.err = s.Run(ctx)
}

// end stops the server and waits until it has ended.
func (r *running) end() error {
	r.stop()
	<-r.done
	return cause(r.err)
}

// cause returns an error as Triton's library does, without the words for the console before it.
func cause(err error) error {
	var e *status.Error
	if errors.As(err, &e) {
		return e
	}
	return err
}

// setLog changes a setting of the log.
func (l *library) setLog(name, text string, number int64) error {
	return l.sink.Update(func(s *log.Settings) error {
		switch name {
		case "info":
			s.Info = number != 0
		case "warning":
			s.Warning = number != 0
		case "error":
			s.Error = number != 0
		case "verbose":
			s.Verbose = int(max(number, 0))
		case "format":
			s.Format = log.Format(number)
		case "file":
			s.File = text
		}
		return nil
	})
}

// seconds returns a duration of an unsigned number of seconds.
func seconds(n int64) time.Duration { return time.Duration(n) * time.Second }
