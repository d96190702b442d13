package perf

// Observer receives the events of a run.
type Observer interface{ Observe(Event) }

// Event is one of the types below.
type Event interface{ event() }

type (
	// DataRead reports input data that was read from files.
	DataRead struct{ Streams, Steps int }
	// Started is sent once, before any load.
	Started struct {
		Settings Settings
		// Progress returns the state of the current level. Any goroutine may call
		// it.
		Progress func() Progress
	}
	// RepeatStarted is sent before each repeat of the sweep, when there are several.
	RepeatStarted struct{ Repeat int } // from 1
	// BatchStarted is sent before the levels of each batch size, when there are
	// several.
	BatchStarted struct{ Batch int }
	// LevelStarted is sent when the load of a level has started or, with a schedule or a number of
	// requests, is about to. Of the warm-up only a concurrency is reported.
	LevelStarted struct {
		Batch  int
		Load   Load
		WarmUp bool // of the warm-up requests before the level
	}
	// WindowDone is sent after each window; with Err the window does not count.
	WindowDone struct {
		Trial   int
		Summary *Summary // nil with Err
		Err     error
	}
	// LevelMeasured is sent after the last window of a level, while its load still runs. A level with a
	// number of requests has no load left then.
	LevelMeasured struct{}
	// LevelDone is sent at the end of a level.
	LevelDone struct{ Level *Level }
	// Notice is a warning of perf_analyzer for the user, without a line end.
	Notice struct{ Text string }
	// Warning is one that perf_analyzer does not have, so that no program waits for its very line.
	Warning struct{ Text string }
	// Finished is the last event. It is sent after an error too.
	Finished struct{ Report *Report }
)

func (DataRead) event()      {}
func (Started) event()       {}
func (RepeatStarted) event() {}
func (BatchStarted) event()  {}
func (LevelStarted) event()  {}
func (WindowDone) event()    {}
func (LevelMeasured) event() {}
func (LevelDone) event()     {}
func (Warning) event()       {}
func (Notice) event()        {}
func (Finished) event()      {}
