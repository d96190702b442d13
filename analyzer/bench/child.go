package bench

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"

	"triton/pkg/freeport"
)

// shownLines is the number of lines of a server's output in an error.
const shownLines = 12

// child is one server process.
type child struct {
	cmd    *exec.Cmd
	at     Endpoints
	ports  *freeport.Reservation // until it has ended
	grace  time.Duration
	output *tail
	done   chan struct{}
	err    error // why it ended; valid when done is closed
	mu     struct {
		sync.Mutex
		closing bool // Close has signaled it
		killed  bool // Close has killed it
	}
}

// killedFromOutside reports whether another process, or the kernel for lack of memory, killed
// the server. That is an error even if Close was called before Wait returned: a killed server
// drops its connections first, and the failed load calls Close.
func killedFromOutside(end *os.ProcessState, killed bool) bool {
	status, ok := end.Sys().(syscall.WaitStatus)
	return ok && status.Signaled() && status.Signal() == syscall.SIGKILL && !killed
}

// run starts the process and waits for its end. It keeps its thread: the kernel
// kills the child when the thread that started it ends.
func (c *child) run(started chan<- error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer close(c.done)
	defer c.ports.Release()
	err := c.cmd.Start()
	started <- err
	if err != nil {
		return
	}
	err = c.cmd.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.mu.closing && !killedFromOutside(c.cmd.ProcessState, c.mu.killed) {
		return
	}
	if err == nil {
		err = errors.New("exit status 0")
	}
	c.err = fmt.Errorf("the server ended by itself (%w)%s", err, c.lastOutput())
}

func (c *child) Endpoints() Endpoints  { return c.at }
func (c *child) PIDs() []int           { return []int{c.cmd.Process.Pid} }
func (c *child) Done() <-chan struct{} { return c.done }

func (c *child) ended() bool {
	select {
	case <-c.done:
		return true
	default:
		return false
	}
}

func (c *child) Err() error {
	if !c.ended() {
		return nil
	}
	return c.err
}

// Close signals the server to end and kills it after the grace period.
func (c *child) Close() error {
	c.mu.Lock()
	c.mu.closing = true
	c.mu.Unlock()
	if c.ended() {
		return nil
	}
	// Signal fails only if the process has ended; then done is closed.
	_ = c.cmd.Process.Signal(syscall.SIGTERM)
	late := time.NewTimer(c.grace)
	defer late.Stop()
	select {
	case <-c.done:
		return c.err
	case <-late.C:
	}
	c.mu.Lock()
	c.mu.killed = true
	c.mu.Unlock()
	_ = c.cmd.Process.Kill()
	<-c.done
	return fmt.Errorf("the server did not end within %v and was killed", c.grace)
}

func (c *child) lastOutput() string { return c.output.last(shownLines) }

// both returns a writer to a tail, and to more unless that is nil.
func both(t *tail, more io.Writer) io.Writer {
	if more == nil {
		return t
	}
	return io.MultiWriter(t, more)
}

// tail keeps the last bytes that are written to it.
type tail struct {
	limit int
	mu    struct {
		sync.Mutex
		b bytes.Buffer
	}
}

func (t *tail) Write(b []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.mu.b.Write(b)
	if over := t.mu.b.Len() - t.limit; over > 0 {
		t.mu.b.Next(over)
	}
	return len(b), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.mu.b.String()
}

// last returns the last lines as the end of an error text.
func (t *tail) last(n int) string {
	text := strings.TrimSpace(t.String())
	if text == "" {
		return "; it wrote nothing"
	}
	lines := strings.Split(text, "\n")
	return "; its last output:\n  " + strings.Join(lines[max(0, len(lines)-n):], "\n  ")
}
