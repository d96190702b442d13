package isolated

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"syscall"

	"triton/server/backend/child"
)

// childLog writes the output and the log records of a child to the server's log, and keeps
// what its runtime says about a crash.
type childLog struct {
	log     *slog.Logger
	model   string
	version int64

	mu    sync.Mutex
	crash []string
}

// Bounds of what is in the errors of requests.
const (
	maxLines     = 5
	maxLineBytes = 256
)

// line logs a line of the child's output.
func (l *childLog) line(stderr bool, line string) {
	stream := "stdout"
	if stderr {
		stream = "stderr"
		l.note(line)
	}
	l.log.Info(line, "model", l.model, "version", l.version, "stream", stream)
}

// note keeps the lines with which Go's runtime names the reason of a crash. They come before
// the stacks of all goroutines.
func (l *childLog) note(line string) {
	for _, begin := range [...]string{"SIG", "[signal ", "fatal error: ", "panic: ", "runtime: ", "unexpected fault address"} {
		if strings.HasPrefix(line, begin) {
			l.mu.Lock()
			if len(l.crash) < maxLines {
				l.crash = append(l.crash, line)
			}
			l.mu.Unlock()
			return
		}
	}
}

// record logs a record of the child's log.
func (l *childLog) record(r *child.Reader) {
	level, text := slog.Level(int64(r.Uint64())), r.String()
	attrs, named := []slog.Attr(nil), false
	for range r.Uint32() {
		if r.Err() != nil {
			return
		}
		a := slog.String(r.String(), r.String())
		named = named || a.Key == "model"
		attrs = append(attrs, a)
	}
	if !named {
		attrs = append(attrs, slog.String("model", l.model), slog.Int64("version", l.version))
	}
	l.log.LogAttrs(context.Background(), level, text, attrs...) //nolint:sloglint // the child's own text
}

// cause returns the error of the requests of a child that has ended.
func (s *session) cause(exit *child.Exit) error {
	text := exit.Error()
	if exit.Signal == syscall.SIGKILL && exit.Reason == "" {
		text += ", perhaps because the system had no more memory"
	}
	s.log.mu.Lock()
	lines := s.log.crash
	s.log.mu.Unlock()
	if len(lines) == 0 && exit.Reason == "" {
		lines = exit.Stderr[max(0, len(exit.Stderr)-maxLines):]
	}
	if len(lines) > 0 {
		text += ". Its last lines on the standard error:"
	}
	for _, line := range lines {
		if len(line) > maxLineBytes {
			line = line[:maxLineBytes] + "..."
		}
		text += "\n" + strings.ToValidUTF8(line, "?")
	}
	return errEnded(s.name, text, exit)
}
