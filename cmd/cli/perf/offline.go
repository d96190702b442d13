package perf

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"triton/cmd/cli/flags"
	"triton/cmd/cli/process"
	"triton/perf/offline"
	"triton/pkg/client"
)

// rowsFailed is the exit code of a run that is complete and has rows that failed.
const rowsFailed = 3

// newRunCommand returns `triton perf run`.
func newRunCommand(p process.Process) *cobra.Command {
	var o offlineOptions
	cmd := &cobra.Command{
		Use:   "run -m MODEL --input FILE --output FILE",
		Short: "Send every row of a file to a model and write the responses",
		Long: `Send every row of a file to a model, as fast as the server answers, and write
one line for each row, in the order of the rows. Rows are sent in batches if the
model has them, and again after transient failures.

The input is a file of JSON lines (.jsonl, .ndjson), a Parquet file (.parquet) or
NumPy arrays (.npy), one for each input of the model. The output is a file of
JSON lines: {"OUTPUT0": [...]}, or {"error": "..."} for a row that failed. It
appears when it is complete. A run that was ended goes on with the same command.

The exit code is 0 when all rows were answered, 3 when some failed, 1 when rows
are left, and 2 when the command line is wrong.`,
		Example: `  triton perf run -m resnet50 --input images.npy --output classes.jsonl
  triton perf run -m bert --input rows.jsonl --output answers.jsonl -i grpc
  triton perf run -m dlrm --input dense=d.npy --input sparse=s.npy --output out.jsonl`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 0 {
				return process.UsageError("%q belongs to no option", args[0])
			}
			return nil
		},
	}
	f := flags.New(p, "perf run", cmd.Flags())
	o.bind(f)
	f.FillBefore(cmd, nil)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		if err := o.finish(); err != nil {
			return process.UsageError("%w", err)
		}
		return runOffline(cmd.Context(), p, &o)
	}
	return cmd
}

// connectTime bounds reading the model's description.
const connectTime = 10 * time.Second

func runOffline(ctx context.Context, p process.Process, o *offlineOptions) (err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	show := &offlineProgress{process: p}
	interrupt := make(chan struct{})
	defer p.OnSignal(process.SignalWindow, func(os.Signal) {
		show.print("Interrupted: waiting for the requests in flight. A second signal ends them.")
		close(interrupt)
	}, func(os.Signal) { cancel() })()

	c, err := client.New(o.client)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Close()) }()
	o.run.Interrupt, o.run.Stdin = interrupt, p.Stdin
	o.run.Notice = show.print
	r, err := prepareOffline(ctx, interrupt, c, o)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.Close()) }()
	show.start(r)
	res, err := r.Run(ctx)
	err = errors.Join(err, show.stop())
	return concludeOffline(p, o, res, err)
}

// prepareOffline reads the model's description, which an interrupt ends.
func prepareOffline(ctx context.Context, interrupt <-chan struct{}, c *client.Client, o *offlineOptions) (*offline.Run, error) {
	ctx, cancel := context.WithTimeout(ctx, connectTime)
	defer cancel()
	done := make(chan struct{})
	defer close(done)
	go func() {
		select {
		case <-interrupt:
			cancel()
		case <-done:
		}
	}()
	r, err := offline.New(ctx, c, o.run)
	if errors.Is(err, context.DeadlineExceeded) {
		return nil, fmt.Errorf("the server at %s did not answer within %s: %w", o.client.Address, connectTime, err)
	}
	return r, err
}

// concludeOffline prints how the run ended and returns the exit code.
func concludeOffline(p process.Process, o *offlineOptions, res *offline.Result, err error) error {
	rate := float64(res.Rows-res.Resumed) / max(res.Elapsed.Seconds(), 1e-9)
	earlier := ""
	if res.Resumed > 0 {
		earlier = fmt.Sprintf(" (%d of them earlier)", res.Resumed)
	}
	fmt.Fprintf(p.Stderr, "%d rows%s in %.1f s, %.1f rows/s: %d failed, %d requests were retried, %d rows in a request, %d requests at a time\n",
		res.Rows, earlier, res.Elapsed.Seconds(), rate, res.Failed, res.Retries, res.Batch, res.Concurrency)
	rest := fmt.Sprintf("the rows so far are in %s.part: run the same command to go on", o.run.Output)
	switch {
	case errors.Is(err, context.Canceled):
		return fmt.Errorf("stopped; %s", rest)
	case err != nil:
		return fmt.Errorf("%w; %s", err, rest)
	case res.Interrupted:
		return fmt.Errorf("interrupted; %s", rest)
	case res.Failed > 0:
		return &process.ExitError{Code: rowsFailed, Err: fmt.Errorf(`%d of %d rows failed: their lines in %s are {"error": "..."}`, res.Failed, res.Rows, o.run.Output)}
	}
	return nil
}
