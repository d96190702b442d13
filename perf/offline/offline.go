// Package offline sends every row of a file to a model, as fast as the server answers, and writes
// one line for each row in the order of the rows. Rows travel in batches where the model has
// them; transient failures are retried; a run that was ended goes on where it stopped. It
// measures nothing: for load and latency use package perf.
package offline

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"triton/pkg/client"
)

// Client is the connection to the server.
type Client interface {
	ModelReady(ctx context.Context, model, version string) (bool, error)
	ModelMetadata(ctx context.Context, model, version string) (*client.ModelMetadata, error)
	ModelConfig(ctx context.Context, model, version string) (*client.ModelConfig, error)
	Infer(ctx context.Context, req *client.Request) (*client.Response, error)
}

// Options configure a run.
type Options struct {
	Model, Version string
	Inputs         []RowFile
	Stdin          io.Reader // read for an input "-"
	Output         string    // a file of JSON lines
	Restart        bool      // drop what an earlier run has written

	Concurrency int // requests in flight; 0: found while it runs
	BatchSize   int // rows in a request; 0: the model's max_batch_size
	Retries     int // of a request that failed for a transient reason; 0: none
	// Backoff is the wait before the first retry, which doubles with each; 0: DefaultBackoff.
	Backoff time.Duration
	// MemoryBytes bounds the rows that are read and not yet written, with their lines; 0:
	// DefaultMemoryBytes.
	MemoryBytes int64

	// Interrupt ends the run after the requests in flight when it is closed.
	Interrupt <-chan struct{}
	// Notice receives warnings for the user.
	Notice func(text string)
}

// The defaults of options.
const (
	DefaultRetries     = 8
	DefaultBackoff     = 100 * time.Millisecond
	DefaultMemoryBytes = 256 << 20
)

// Result is how a run ended.
type Result struct {
	Rows        int64 // lines of the output, those of earlier runs included
	Resumed     int64 // lines of earlier runs
	Failed      int64 // lines that are errors, those of earlier runs included
	Retries     int64
	Batch       int // rows in a request
	Concurrency int // at the end
	Elapsed     time.Duration
	Interrupted bool // rows are left
}

// Run is a run that has been checked and not started. Close it.
type Run struct {
	options Options
	client  Client
	model   *model
	source  rowSource
	out     *output
	begin   int64 // of the input, behind the rows of earlier runs
	state   state
}

// New reads the description of the model and opens the files, so that all that can fail before
// the first request fails here.
func New(ctx context.Context, c Client, o Options) (r *Run, err error) {
	o.setDefaults()
	r = &Run{options: o, client: c}
	if r.model, err = describe(ctx, c, &r.options); err != nil {
		return nil, err
	}
	if r.source, err = openRows(o.Inputs, r.model.inputs, o.Stdin); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.Close())
		}
	}()
	job, err := r.job()
	if err != nil {
		return r, err
	}
	if r.out, err = openOutput(o.Output, job, o.Restart); err != nil {
		return r, err
	}
	if err = r.source.Skip(r.out.lines); err != nil {
		return r, err
	}
	r.state.written.Store(r.out.lines)
	r.begin, _ = r.source.Progress()
	return r, nil
}

func (o *Options) setDefaults() {
	o.Backoff = cmp.Or(o.Backoff, DefaultBackoff)
	o.MemoryBytes = cmp.Or(o.MemoryBytes, DefaultMemoryBytes)
	if o.Notice == nil {
		o.Notice = func(string) {}
	}
}

// Close closes the files. It keeps a partial output for the next run.
func (r *Run) Close() error {
	var err error
	if r.source != nil {
		err = r.source.Close()
	}
	if r.out != nil {
		err = errors.Join(err, r.out.close())
	}
	return err
}

// Run answers the rows that are left. With an error the output keeps the rows before it.
func (r *Run) Run(ctx context.Context) (*Result, error) {
	begin := time.Now()
	p := newPipeline(ctx, r)
	err := p.run()
	res := &Result{
		Rows: r.state.written.Load(), Resumed: r.out.lines, Failed: r.out.failed + r.state.failed.Load(), Retries: r.state.retries.Load(),
		Batch: r.model.batch, Concurrency: p.slots.limit(), Elapsed: time.Since(begin), Interrupted: p.interrupted,
	}
	switch {
	case err != nil:
		return res, err
	case p.interrupted:
		return res, r.out.sync()
	}
	if err := r.out.finish(); err != nil {
		return res, fmt.Errorf("finish the output: %w", err)
	}
	return res, nil
}
