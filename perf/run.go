package perf

import "context"

// Observer is told what happens during a run.
type Observer interface{ Observe(Event) }

// Event is one of the Event types.
type Event interface{ event() }

type (
	// DataRead tells of input data read from files.
	DataRead struct{ Streams, Steps int }
	// Started comes once, before any load.
	Started struct {
		Settings Settings
		// Progress is the state of the level under way; safe from any goroutine.
		Progress func() Progress
	}
	// BatchStarted comes before the levels of each batch size of a sweep over
	// several.
	BatchStarted struct{ Batch int }
	// LevelStarted comes when the load is up.
	LevelStarted struct{ Batch, Concurrency int }
	// WindowDone comes after each window; Err is why it does not count.
	WindowDone struct {
		Trial   int
		Summary *Summary
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

// Run measures a model. The error may come with a report of the levels that
// were complete before it.
func Run(ctx context.Context, c Config, d Deps) (*Report, error) {
	return nil, nil
}
