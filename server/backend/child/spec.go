package child

import (
	"os"
	"time"
)

// The descriptors of a child. Each of the two channels is a pipe that the child reads, and
// one that it writes, with the next descriptor.
const (
	ControlFD = 3 // the control channel: the parent asks, the child answers
	EventFD   = 5 // the event channel: frames that either side sends by itself
	FirstFile = 7 // the first of Spec.Files
)

// Spec says what to run.
type Spec struct {
	Path string
	Args []string // without the program's name
	Env  []string // all of it; nil: that of this process
	Dir  string   // empty: that of this process
	// Files are inherited by the child from descriptor FirstFile on. They stay the
	// caller's.
	Files []*os.File
	// Line gets each line that the child prints, without its end. The calls for one
	// stream do not overlap. Nil: the lines are dropped.
	Line func(stderr bool, line string)
	// Event gets each frame of the event channel; the calls do not overlap, and the
	// last one has returned when Exit returns. It must not wait for the child. After an
	// error, such as ErrFrame, there are no more calls, and the child is killed. Nil: the
	// frames are dropped.
	Event func(*Process, Frame) error
	// Go calls a function on a new goroutine, on a thread whose processors and memory policy
	// the child shall have; nil: those of the caller's process.
	Go func(func()) error
	// Background is how long, at most, the child has a low priority, until Process.Foreground is called; 0:
	// it never has. It has no effect where this process could not raise the priority again.
	Background time.Duration
	// Panicked gets the value of a panic of Event, on the goroutine that has panicked; the
	// child is killed. Nil: the value is dropped.
	Panicked func(any)
}

// Bounds of the end of a child.
const (
	termGrace  = time.Second            // between SIGTERM and SIGKILL
	drainGrace = 500 * time.Millisecond // for the rest of the output of a child that has ended
	// exitGrace is how long a child may live after its control channel was closed.
	exitGrace = 2 * time.Second
)

// Bounds of what is kept of the output.
const (
	maxLine   = 16 << 10
	keepLines = 20
)
