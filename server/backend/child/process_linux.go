package child

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Process is a child that was started. It leads a process group of its own, which
// ends with it, and it is killed when this process ends in whatever way.
type Process struct {
	control *Conn
	events  outbox
	done    chan struct{}
	exit    *Exit // set before done is closed
	stderr  tail
	pid     int

	mu struct {
		sync.Mutex
		reaped     bool        // the process ID may belong to another process
		reason     string      // of Fail
		background *background // nil: the child has the usual priority
	}
}

// Start starts a child.
func Start(s Spec) (*Process, error) {
	p := &Process{done: make(chan struct{})}
	control, controlEnds, err := channel("control")
	if err != nil {
		return nil, err
	}
	defer controlEnds.close()
	event, eventEnds, err := channel("event")
	if err != nil {
		return nil, errors.Join(err, control.Close())
	}
	defer eventEnds.close()
	out, errs, err := p.pipes(s.Line)
	if err != nil {
		return nil, errors.Join(err, control.Close(), event.Close())
	}
	defer out.end.Close()
	defer errs.end.Close()
	p.control = control
	p.events.init(event)

	cmd := exec.Command(s.Path, s.Args...) //nolint:noctx // the child outlives the call; Kill ends it
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = s.Env, s.Dir, out.end, errs.end
	cmd.ExtraFiles = slices.Concat(controlEnds[:], eventEnds[:], s.Files)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	events := stream{from: event, read: func() { p.readEvents(s.Event, s.Panicked) }}
	started := make(chan error)
	begin := s.Go
	if begin == nil {
		begin = func(f func()) error { go f(); return nil }
	}
	if err = begin(func() { p.supervise(cmd, started, out, errs, events) }); err == nil {
		err = <-started
	}
	if err != nil {
		return nil, errors.Join(err, control.Close(), event.Close(), out.from.Close(), errs.from.Close())
	}
	p.enterBackground(s.Background)
	return p, nil
}

// stream is a pipe or a channel that is read until the child has ended.
type stream struct {
	from interface{ Close() error }
	read func()
	end  *os.File // the child's end, which Start closes; nil for a channel
}

// pipes makes the pipes of the standard output and the standard error.
func (p *Process) pipes(line func(bool, string)) (out, errs stream, err error) {
	if line == nil {
		line = func(bool, string) {}
	}
	or, ow, err := os.Pipe()
	if err != nil {
		return out, errs, fmt.Errorf("making a pipe for a child: %w", err)
	}
	er, ew, err := os.Pipe()
	if err != nil {
		return out, errs, errors.Join(fmt.Errorf("making a pipe for a child: %w", err), or.Close(), ow.Close())
	}
	out = stream{from: or, end: ow, read: func() { readLines(or, func(l string) { line(false, l) }) }}
	errs = stream{from: er, end: ew, read: func() {
		readLines(er, func(l string) {
			p.stderr.add(l)
			line(true, l)
		})
	}}
	return out, errs, nil
}

// supervise starts the child, waits for its end and leaves nothing of it behind. It
// has a thread of its own as long as the child lives: the kernel sends the signal of
// the parent's death when the thread ends that has started the child.
func (p *Process) supervise(cmd *exec.Cmd, started chan<- error, streams ...stream) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := cmd.Start(); err != nil {
		started <- fmt.Errorf("starting a child: %w", err)
		return
	}
	p.pid = cmd.Process.Pid
	started <- nil
	var reading sync.WaitGroup
	for _, s := range streams {
		reading.Go(s.read)
	}
	exit := p.reap(cmd)
	p.control.Close()
	read := make(chan struct{})
	go func() {
		reading.Wait()
		close(read)
	}()
	select {
	case <-read:
	case <-time.After(drainGrace): // a process outside of the group holds them open
	}
	for _, s := range streams {
		s.from.Close()
	}
	<-read
	p.events.close()
	exit.Stderr, exit.Reason = p.stderr.lines(), p.reason()
	p.exit = exit
	close(p.done)
}

// reap waits for the end of the child and of its group.
func (p *Process) reap(cmd *exec.Cmd) *Exit {
	for {
		// The ID stays the child's until it is reaped, so the group is its own.
		err := unix.Waitid(unix.P_PID, p.pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			break
		}
	}
	p.mu.Lock()
	p.mu.reaped = true
	_ = syscall.Kill(-p.pid, syscall.SIGKILL) // what the child has started; it may be nothing
	p.mu.Unlock()
	_ = cmd.Wait() // ProcessState has the result
	exit := &Exit{Code: cmd.ProcessState.ExitCode()}
	if ws, ok := cmd.ProcessState.Sys().(syscall.WaitStatus); ok && ws.Signaled() {
		exit.Signal = ws.Signal()
	}
	return exit
}

// Control returns the connection to the child. It is closed when the child has ended.
func (p *Process) Control() *Conn { return p.control }

// Post queues a frame for the event channel. It does not wait; frames for a child that has
// ended are dropped. A child that does not read is killed when maxWaiting bytes wait. The
// message may be used again.
func (p *Process) Post(m *Message) error { return p.post(m, false) }

// PostWait is Post for a caller that may wait: while much waits for the child, it waits until
// the child reads or has ended.
func (p *Process) PostWait(m *Message) error { return p.post(m, true) }

func (p *Process) post(m *Message, mayWait bool) error {
	err := p.events.post(m, mayWait)
	if errors.Is(err, errFull) {
		p.Fail(err.Error())
		return nil
	}
	return err
}

// PID returns the process ID.
func (p *Process) PID() int { return p.pid }

// Exit waits until the child, its group and their output have ended, and returns why the
// child ended.
func (p *Process) Exit() *Exit {
	<-p.done
	return p.exit
}

// Kill ends the child and its group at once; it does not wait.
func (p *Process) Kill() { p.signal(syscall.SIGKILL) }

// Fail is Kill for a fault of the child. Exit has the first reason.
func (p *Process) Fail(reason string) {
	p.mu.Lock()
	if p.mu.reason == "" && !p.mu.reaped {
		p.mu.reason = reason
	}
	p.mu.Unlock()
	p.Kill()
}

func (p *Process) reason() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.mu.reason
}

func (p *Process) signal(s syscall.Signal) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.mu.reaped {
		_ = syscall.Kill(-p.pid, s)
	}
}

// Stop waits for the end of a child that the caller has asked to exit. When the time is
// over it sends SIGTERM, and SIGKILL a second later. It returns when the child has ended.
func (p *Process) Stop(wait time.Duration) *Exit {
	if !p.ended(wait) {
		p.signal(syscall.SIGTERM)
		if !p.ended(termGrace) {
			p.Kill()
		}
	}
	return p.Exit()
}

// Lost returns why a child whose control channel is closed has ended. It kills a child
// that lives on.
func (p *Process) Lost() *Exit { return p.Stop(exitGrace) }

func (p *Process) ended(within time.Duration) bool {
	t := time.NewTimer(within)
	defer t.Stop()
	select {
	case <-p.done:
		return true
	case <-t.C:
		return false
	}
}

// readEvents calls handle with each frame of the event channel until it is closed, or
// until handle returns an error or panics: then it kills the child.
func (p *Process) readEvents(handle func(*Process, Frame) error, panicked func(any)) {
	defer func() {
		if v := recover(); v != nil {
			p.Fail("internal error while a frame of its event channel was handled")
			if panicked != nil {
				panicked(v)
			}
		}
	}()
	for {
		f, err := p.events.conn.Receive()
		if err != nil && !errors.Is(err, ErrFrame) {
			return
		}
		if err == nil && handle != nil {
			err = handle(p, f)
		}
		if err != nil {
			p.Fail("the event channel: " + err.Error())
			return
		}
	}
}
