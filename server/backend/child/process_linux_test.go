package child

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"triton/server/backend"
)

// inChild is the argument that makes this program a child of a test; the
// argument after it selects what the child does.
const inChild = "in-child"

func TestMain(m *testing.M) {
	if len(os.Args) > 2 && os.Args[1] == inChild {
		os.Exit(behave(os.Args[2]))
	}
	goleak.VerifyTestMain(m)
}

// Frames of the children of the tests.
const (
	frameEcho, frameExit, frameEvent = 1, 2, 3
)

// behave is what a child does until it is asked to exit, with the code that it
// returns.
func behave(how string) int {
	switch how {
	case "parent":
		return grandparent()
	case "orphan":
		return wait()
	case "unprivileged":
		return unprivileged()
	}
	control := inherited(ControlFD)
	switch how {
	case "exit":
		fmt.Fprintln(os.Stderr, "first")
		fmt.Fprintln(os.Stderr, "the reason")
		return 3
	case "crash":
		syscall.Kill(os.Getpid(), syscall.SIGKILL)
		return wait()
	case "stubborn":
		signal.Ignore(syscall.SIGTERM)
		var m Message
		control.Send(m.Begin(frameEcho))
		return wait()
	case "family":
		cmd := exec.Command(os.Args[0], inChild, "orphan")
		cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
		if cmd.Start() != nil {
			return 1
		}
		fmt.Println(cmd.Process.Pid)
	case "garbage":
		for range 1000 {
			inherited(EventFD).to.Write(make([]byte, 8<<10))
		}
		return wait()
	case "mute":
		control.Close()
		return wait()
	}
	return answer(control)
}

// answer returns what it gets until it is asked to exit.
func answer(control *Conn) int {
	var m Message
	for {
		f, err := control.Receive()
		if err != nil {
			return 9
		}
		switch f.Kind {
		case frameExit:
			return 0
		case frameEvent:
			events := inherited(EventFD)
			for f, err := events.Receive(); err == nil; f, err = events.Receive() {
				m.Begin(f.Kind + 1).Raw(f.Body)
				if events.Send(&m) != nil || len(f.Body) == 0 {
					break
				}
			}
			fmt.Println("reported")
		}
		m.Begin(f.Kind).Raw(f.Body)
		if control.Send(&m) != nil {
			return 8
		}
	}
}

// grandparent starts a child and prints its ID; the test kills it.
func grandparent() int {
	p, err := Start(Spec{Path: os.Args[0], Args: []string{inChild, "orphan"}})
	if err != nil {
		return 1
	}
	fmt.Println(p.PID())
	return wait()
}

// wait waits for a signal that ends the process.
func wait() int {
	time.Sleep(time.Hour)
	return 7
}

// inherited returns the child's end of a channel.
func inherited(fd uintptr) *Conn { return NewConn(os.NewFile(fd, "from"), os.NewFile(fd+1, "to")) }

// start starts a child whose lines go to the returned function.
func start(t *testing.T, how string, change ...func(*Spec)) (p *Process, lines func() []string) {
	t.Helper()
	var mu sync.Mutex
	var all []string
	s := Spec{Path: os.Args[0], Args: []string{inChild, how}, Line: func(stderr bool, line string) {
		mu.Lock()
		defer mu.Unlock()
		all = append(all, fmt.Sprintf("%v %s", stderr, line))
	}}
	for _, c := range change {
		c(&s)
	}
	p, err := Start(s)
	require.NoError(t, err)
	t.Cleanup(func() {
		p.Kill()
		p.Exit()
	})
	return p, func() []string {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(all)
	}
}

func ask(t *testing.T, p *Process, kind uint8, body string) string {
	t.Helper()
	var m Message
	m.Begin(kind).Raw([]byte(body))
	require.NoError(t, p.Control().Send(&m))
	f, err := p.Control().Receive()
	require.NoError(t, err)
	require.Equal(t, kind, f.Kind)
	return string(f.Body)
}

func TestChildAnswersAndExits(t *testing.T) {
	t.Parallel()
	echoed := make(chan int, 100)
	p, lines := start(t, "answer", func(s *Spec) {
		s.Event = func(_ *Process, f Frame) error { echoed <- int(f.Kind)<<24 | len(f.Body); return nil }
	})
	require.Equal(t, "hello", ask(t, p, frameEcho, "hello"))
	large := strings.Repeat("z", 3<<20)
	require.Equal(t, large, ask(t, p, frameEcho, large))
	var m Message
	for i := range 100 { // more than the pipe holds, before the child reads
		m.Begin(uint8(i)).Raw([]byte(large[:(99-i)<<10]))
		require.NoError(t, p.Post(&m))
	}
	ask(t, p, frameEvent, "")
	for i := range 100 {
		require.Equal(t, (i+1)<<24|(99-i)<<10, <-echoed)
	}
	require.NoError(t, p.Control().Send(m.Begin(frameExit)))
	exit := p.Stop(time.Minute)
	require.EqualError(t, exit, "the process exited with code 0")
	require.ErrorIs(t, exit, backend.ErrBroken)
	require.Equal(t, []string{"false reported"}, lines())
	_, err := p.Control().Receive()
	require.Error(t, err)
	p.Kill() // of a child that has ended: nothing
}

func TestChildEnds(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		how, text string
		stderr    []string
	}{
		{"exit", "the process exited with code 3", []string{"first", "the reason"}},
		{"crash", "the process was ended by signal 9 (killed)", nil},
	} {
		p, lines := start(t, c.how)
		_, err := p.Control().Receive()
		require.Error(t, err)
		exit := p.Lost()
		require.EqualError(t, exit, c.text)
		for _, l := range c.stderr {
			require.Contains(t, lines(), "true "+l)
			require.Contains(t, exit.Output(), l)
		}
	}
}

// A child that is killed is reported at once, and so is one that hides.
func TestChildIsLost(t *testing.T) {
	t.Parallel()
	p, _ := start(t, "answer")
	p.Kill()
	_, err := p.Control().Receive()
	require.Error(t, err)
	require.True(t, p.ended(time.Minute), "without another signal")
	require.Equal(t, syscall.SIGKILL, p.Lost().Signal)

	p, _ = start(t, "mute")
	_, err = p.Control().Receive()
	require.ErrorIs(t, err, io.EOF)
	require.NotZero(t, p.Lost().Signal)
}

func TestStopEscalates(t *testing.T) {
	t.Parallel()
	p, _ := start(t, "answer")
	require.Equal(t, "up", ask(t, p, frameEcho, "up"))
	require.Equal(t, syscall.SIGTERM, p.Stop(0).Signal)

	p, _ = start(t, "stubborn")
	_, err := p.Control().Receive()
	require.NoError(t, err)
	require.Equal(t, syscall.SIGKILL, p.Stop(0).Signal)
}

// The first frame that the caller refuses ends the child, with the reason, and is the last
// one that is handled.
func TestFaultyEvents(t *testing.T) {
	t.Parallel()
	handled, panics := 0, 0
	for _, c := range []struct {
		event func(*Process, Frame) error
		text  string
	}{
		{func(_ *Process, f Frame) error { return fmt.Errorf("%w of type %d", ErrFrame, f.Kind) }, "the event channel: malformed frame of type 0"},
		{func(*Process, Frame) error { panic("here") }, "internal error while a frame of its event channel was handled"},
	} {
		handled = 0
		p, _ := start(t, "garbage", func(s *Spec) {
			s.Event = func(p *Process, f Frame) error { handled++; return c.event(p, f) }
			s.Panicked = func(any) { panics++ }
		})
		require.EqualError(t, p.Exit(), "the process was ended by signal 9 (killed): "+c.text)
		require.Equal(t, 1, handled)
	}
	require.Equal(t, 1, panics)
}

// A child that does not read its event channel is killed before much waits for it.
func TestChildDoesNotRead(t *testing.T) {
	t.Parallel()
	p, _ := start(t, "answer")
	require.Equal(t, "up", ask(t, p, frameEcho, "up"))
	require.NoError(t, syscall.Kill(p.PID(), syscall.SIGSTOP))
	var m Message
	m.Begin(1).Raw(make([]byte, 1<<20))
	posted := 0
	for ended := false; !ended; posted++ {
		require.NoError(t, p.Post(&m))
		require.Less(t, posted, 3*maxWaiting>>20)
		select {
		case <-p.done:
			ended = true
		default:
			p.mu.Lock()
			ended = p.mu.reason != ""
			p.mu.Unlock()
		}
	}
	require.GreaterOrEqual(t, posted, maxWaiting>>20)
	require.EqualError(t, p.Exit(), "the process was ended by signal 9 (killed): it does not read its event channel")
	require.NoError(t, p.Post(&m))
}

// PostWait waits for a child that does not read yet, and for the end of one that never reads.
func TestPostWait(t *testing.T) {
	t.Parallel()
	const frames = 3 * maxWaiting / 2 >> 20
	for _, reads := range []bool{true, false} {
		echoed := make(chan int, frames+1)
		p, _ := start(t, "answer", func(s *Spec) {
			s.Event = func(_ *Process, f Frame) error { echoed <- len(f.Body); return nil }
		})
		sent := make(chan error, 1)
		go func() {
			var m Message
			for range frames {
				m.Begin(1).Raw(make([]byte, 1<<20))
				if err := p.PostWait(&m); err != nil {
					sent <- err
					return
				}
			}
			sent <- p.Post(m.Begin(1))
		}()
		require.Eventually(t, func() bool {
			p.events.mu.Lock()
			defer p.events.mu.Unlock()
			return len(p.events.mu.buf) > maxWaiting/2-2<<20
		}, time.Minute, time.Millisecond)
		if !reads {
			p.Kill()
			require.NoError(t, <-sent)
			continue
		}
		ask(t, p, frameEvent, "")
		require.NoError(t, <-sent)
		for range frames {
			require.Equal(t, 1<<20, <-echoed)
		}
		require.Zero(t, <-echoed)
	}
}

// What a child has started ends with it and does not hold up the end.
func TestGroupEndsWithTheChild(t *testing.T) {
	t.Parallel()
	p, lines := start(t, "family")
	require.Equal(t, "up", ask(t, p, frameEcho, "up"))
	var m Message
	require.NoError(t, p.Control().Send(m.Begin(frameExit)))
	require.Zero(t, p.Stop(time.Minute).Code)
	pid, err := strconv.Atoi(strings.TrimPrefix(lines()[0], "false "))
	require.NoError(t, err)
	require.Eventually(t, func() bool { return gone(pid) }, time.Minute, 10*time.Millisecond)
}

// gone reports whether a process has ended. It may be a zombie that its parent does not reap.
func gone(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(stat), ") Z ")
}

func TestChildDiesWithItsParent(t *testing.T) {
	t.Parallel()
	parent := exec.CommandContext(t.Context(), os.Args[0], inChild, "parent")
	out, err := parent.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, parent.Start())
	line, err := bufio.NewReader(out).ReadString('\n')
	require.NoError(t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(line))
	require.NoError(t, err)
	require.False(t, gone(pid))
	require.NoError(t, parent.Process.Kill())
	var exit *exec.ExitError
	require.True(t, errors.As(parent.Wait(), &exit))
	require.Eventually(t, func() bool { return gone(pid) }, time.Minute, 10*time.Millisecond)
}

func TestStartFails(t *testing.T) {
	_, err := Start(Spec{Path: "/no/such/program"})
	require.ErrorContains(t, err, "starting a child")
}

// Children that have ended leave no descriptors and no processes behind.
func TestNothingIsLeft(t *testing.T) {
	count := func() int {
		all, err := os.ReadDir("/proc/self/fd")
		require.NoError(t, err)
		return len(all)
	}
	p, _ := start(t, "answer") // opens what stays open
	p.Kill()
	p.Exit()
	before := count()
	for range 20 {
		p, err := Start(Spec{Path: os.Args[0], Args: []string{inChild, "answer"}})
		require.NoError(t, err)
		p.Kill()
		p.Exit()
		_, err = Start(Spec{Path: "/no/such/program"})
		require.Error(t, err)
		_, err = os.Stat(fmt.Sprintf("/proc/%d", p.PID()))
		require.ErrorIs(t, err, os.ErrNotExist)
	}
	require.LessOrEqual(t, count(), before)
}

// Files are inherited from FirstFile on.
func TestFilesAreInherited(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	p, err := Start(Spec{Path: "/bin/sh", Args: []string{"-c", "echo here >&7"}, Files: []*os.File{w}})
	require.NoError(t, err)
	require.Zero(t, p.Exit().Code)
	require.NoError(t, w.Close())
	text, err := io.ReadAll(r)
	require.NoError(t, err)
	require.NoError(t, r.Close())
	require.Equal(t, "here\n", string(text))
}
