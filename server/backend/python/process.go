package python

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"time"

	"triton/pkg/status"
	"triton/server/backend/child"
	"triton/server/hostpolicy"
)

// process is a running child: its channels, its hello and its events.
type process struct {
	name    string // of the instance
	process *child.Process
	control *child.Conn
	out     child.Message
	hello   hello
	events  *events
}

// start starts a child and waits until it can import models.
func (m *model) start(ctx context.Context, name string, policy hostpolicy.Policy) (*process, error) {
	e := newEvents(ctx, m, name)
	args := []string{"-u", m.runtime + string(os.PathSeparator) + "runner.py"}
	if m.limits != "" {
		args = append(args, m.limits)
	}
	s := child.Spec{
		Path: m.environment.Interpreter, Args: args, Env: m.environment.Env,
		Files: []*os.File{m.memory.file}, Line: e.log.line, Event: e.handle, Panicked: e.panicked,
	}
	if policy.Binds() {
		s.Go = policy.Go
	}
	if !m.niced {
		s.Background = min(maxBackground, m.settings.start/10)
	}
	p, err := child.Start(s)
	if err != nil {
		return nil, status.New(status.Internal, "Launch stub process failed for %s: %w", m.spec.Name, err)
	}
	c := &process{name: name, process: p, control: p.Control(), events: e}
	if err := c.greet(ctx, m.environment.Interpreter, m.settings.start); err != nil {
		c.kill()
		return nil, err
	}
	return c, nil
}

// maxBackground bounds how long a child imports numpy at a low priority, which takes ten times as long
// as usual if requests take all processors.
const maxBackground = 3 * time.Second

// greet waits for the first frame. Until then the child runs no code of the model: it imports numpy, which
// takes most of the processor time of a load, and gives way to requests meanwhile.
func (c *process) greet(ctx context.Context, interpreter string, within time.Duration) error {
	defer context.AfterFunc(ctx, c.process.Kill)()
	if err := c.control.Deadline(time.Now().Add(within)); err != nil {
		return c.lost()
	}
	f, err := c.control.Receive()
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		return status.New(status.Internal, "Stub process '%s' is not healthy. %s did not start within %s (start-timeout-seconds)", c.name, interpreter, within)
	case errors.Is(err, child.ErrFrame):
		return c.violated(err)
	case err != nil:
		return c.lost()
	case f.Kind != frameHello || json.Unmarshal(f.Body, &c.hello) != nil:
		return c.violated(fmt.Errorf("%w: frame %d is no hello", child.ErrFrame, f.Kind))
	case c.hello.Limit != "":
		return status.New(status.InvalidArg, "the limits of '%s' cannot be set: %s", c.name, c.hello.Limit)
	case c.hello.Numpy == "" || c.hello.Error != "":
		return errNumpy(interpreter, c.hello.Error)
	}
	c.process.Foreground()
	return c.control.Deadline(time.Time{})
}

// ask sends a question as JSON and returns the answer, which the next frame
// overwrites. It takes as long as the model does.
func (c *process) ask(ctx context.Context, kind uint8, question any) ([]byte, error) {
	defer context.AfterFunc(ctx, c.process.Kill)()
	m := c.out.Begin(kind)
	if question != nil {
		text, err := json.Marshal(question)
		if err != nil {
			return nil, err
		}
		m.Raw(text)
	}
	if err := c.control.Send(m); err != nil {
		return nil, c.lost()
	}
	f, err := c.control.Receive()
	switch {
	case errors.Is(err, child.ErrFrame):
		return nil, c.violated(err)
	case err != nil:
		return nil, c.lost()
	case f.Kind == frameFailed:
		return nil, status.New(status.Internal, "%s", f.Body)
	case f.Kind != frameDone:
		return nil, c.violated(fmt.Errorf("%w: frame %d is no answer", child.ErrFrame, f.Kind))
	}
	return f.Body, nil
}

// lost returns the error of a child whose control channel is closed.
func (c *process) lost() error {
	return unhealthy(c.name, c.process.Lost())
}

// violated ends a child that has violated the protocol, and returns the error.
func (c *process) violated(err error) error {
	c.process.Fail("the control channel: " + err.Error())
	return unhealthy(c.name, c.process.Exit())
}

// The part of the standard error that is in the errors of requests.
const (
	shownLines = 5
	shownBytes = 256 // of a line
)

// unhealthy returns the error of requests whose child has ended.
func unhealthy(name string, exit *child.Exit) error {
	msg := "Stub process '" + name + "' is not healthy. The cause: " + exit.Error()
	for i, line := range exit.Stderr[max(0, len(exit.Stderr)-shownLines):] {
		if i == 0 {
			msg += ". Its last lines on the standard error:"
		}
		if len(line) > shownBytes {
			line = line[:shownBytes] + "..."
		}
		msg += "\n" + strings.ToValidUTF8(line, "?")
	}
	return &status.Error{Code: status.Internal, Msg: msg, Cause: exit}
}

// end lets the child run finalize, within a time, and stops it.
func (c *process) end(within time.Duration) (err error) {
	if c.control.Send(c.out.Begin(frameFinalize)) != nil || c.control.Deadline(time.Now().Add(within)) != nil {
		c.kill()
		return nil // its end was reported before
	}
	f, err := c.control.Receive()
	switch {
	case errors.Is(err, os.ErrDeadlineExceeded):
		c.kill()
		return status.New(status.Internal, "finalize of '%s' took longer than %s (stub-timeout-seconds)", c.name, within)
	case err == nil && f.Kind == frameFailed:
		err = status.New(status.Internal, "%s", f.Body)
	default:
		err = nil
	}
	_ = c.process.Stop(exitGrace)
	return err
}

// exitGrace is how long an interpreter may take to exit.
const exitGrace = 5 * time.Second

// kill ends the child at once.
func (c *process) kill() {
	c.process.Kill()
	exit := c.process.Exit()
	c.events.free()
	c.events.releaseMetrics(exit)
}

// logger writes the output and the log records of a child to the server's log.
type logger struct {
	log             *slog.Logger
	model, instance string
}

func (l *logger) line(stderr bool, line string) {
	stream := "stdout"
	if stderr {
		stream = "stderr"
	}
	l.log.Info(line, slog.String("model", l.model), slog.String("instance", l.instance), slog.String("stream", stream))
}

// levels are the levels of pb_utils.Logger, by number.
var levels = [...]slog.Level{slog.LevelInfo, slog.LevelWarn, slog.LevelError, slog.LevelDebug}

// record logs a record of pb_utils.Logger.
func (l *logger) record(r *child.Reader) {
	level, line, file, msg := r.Uint8(), r.Uint32(), r.String(), r.String()
	if r.Err() != nil || int(level) >= len(levels) {
		return
	}
	l.log.Log(context.Background(), levels[level], msg, slog.String("model", l.model), slog.String("instance", l.instance), //nolint:sloglint // the model's own text
		slog.String("source", file+":"+strconv.Itoa(int(line))))
}
