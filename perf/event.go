package perf

// Observer is told what happens during a run.
type Observer interface{ Observe(Event) }

// Event is one of the types below.
type Event interface{ event() }

type (
	// DataRead tells of input data read from files.
	DataRead struct{ Streams, Steps int }
	// Started comes once, before any load.
	Started struct {
		Settings Settings
		// Progress is the state of the level under way; for any goroutine.
		Progress func() Progress
	}
	// BatchStarted comes before the levels of each batch size, when there are
	// several.
	BatchStarted struct{ Batch int }
	// LevelStarted comes when the load is up.
	LevelStarted struct{ Batch, Concurrency int }
	// WindowDone comes after each window; Err is why it does not count.
	WindowDone struct {
		Trial   int
		Summary *Summary // nil with Err
		Err     error
	}
	// LevelDone ends a level.
	LevelDone struct{ Level *Level }
	// Notice is a remark for the user, without a line end.
	Notice struct{ Text string }
	// Finished comes last, also after an error that left levels to report.
	Finished struct{ Report *Report }
)

func (DataRead) event()     {}
func (Started) event()      {}
func (BatchStarted) event() {}
func (LevelStarted) event() {}
func (WindowDone) event()   {}
func (LevelDone) event()    {}
func (Notice) event()       {}
func (Finished) event()     {}
