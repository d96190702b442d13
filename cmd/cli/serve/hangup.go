package serve

import (
	"sync"

	"triton/cmd/cli/process"
	"triton/pkg/log"
	"triton/server"
)

// reopenOnHangup opens the log file and the audit log again at each SIGHUP, until the returned
// function is called. Programs that rotate files send it. A server without such files ends with the
// terminal that started it, as before.
func reopenOnHangup(p process.Process, sink *log.Sink, opts *server.Options) (stop func()) {
	records := &opts.Guard.Audit
	if p.Hangups == nil || sink.Settings().File == "" && (records.File == "" || records.File == "stderr") {
		return func() {}
	}
	reopen := make(chan struct{}, 1)
	records.Reopen = reopen
	signals, unsubscribe := p.Hangups()
	done := make(chan struct{})
	var watch sync.WaitGroup
	watch.Go(func() {
		for {
			select {
			case <-done:
				return
			case <-signals:
			}
			err := sink.Reopen()
			select {
			case reopen <- struct{}{}:
			default: // the file will be opened after this signal, for an earlier one
			}
			if err != nil {
				sink.Logger().Error("the log file cannot be opened again", "error", err)
				continue
			}
			sink.Logger().Info("Signal (1) received: log files are opened again.")
		}
	})
	return func() {
		close(done)
		watch.Wait()
		unsubscribe()
	}
}
