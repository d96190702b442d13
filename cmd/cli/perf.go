package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"github.com/spf13/cobra"

	"triton/perf"
	"triton/perf/report"
)

// perf_analyzer's exit codes.
const (
	perfUnstable   = 2
	perfNoRequests = 3
	perfFailed     = 99
)

func newPerfCommand(w World) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "perf -m MODEL [options]",
		Short: "Measure throughput and latency of a model on a running server",
		Long: `Measure a model on a running server: put it under load, take windows until
throughput and latency are stable, level by level. Options, text and CSV are
those of NVIDIA's perf_analyzer.`,
		Example: `  triton perf -m resnet50 --concurrency-range 1:4
  triton perf -m resnet50 -b 1,4,16 -i grpc --concurrency-range 1:8 -f report.csv`,
		DisableFlagParsing: true, // perf_analyzer's syntax is getopt's
		RunE: func(cmd *cobra.Command, args []string) error {
			return runPerf(cmd.Context(), w, args)
		},
	}
	cmd.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		_ = writePerfHelp(cmd.OutOrStdout(), cmd.Long, cmd.Example)
	})
	return cmd
}

func runPerf(ctx context.Context, w World, args []string) error {
	s, err := parsePerf(w, args)
	switch {
	case err != nil:
		return perfUsage(w, err)
	case s.help:
		c := newPerfCommand(w)
		return writePerfHelp(w.Stdout, c.Long, c.Example)
	case s.version:
		fmt.Fprintf(w.Stderr, "Perf Analyzer Version %s (commit %s)\n", w.Version, cmp.Or(w.Commit, "unknown"))
		return nil
	}
	for _, text := range s.warnings {
		fmt.Fprintln(w.Stderr, text)
	}
	rep, err := measurePerf(ctx, w, s)
	if errors.Is(err, errQuit) {
		return nil
	}
	if rep != nil {
		if csvErr := writeCSVs(w, s, rep); csvErr != nil {
			err = errors.Join(err, csvErr)
		}
	}
	return perfResult(w, rep, err)
}

// perfUsage is a wrong command line: perf_analyzer's exit code.
func perfUsage(w World, err error) error {
	prefix := "Error"
	if errors.As(err, new(syntaxError)) {
		prefix = "triton perf"
	}
	fmt.Fprintf(w.Stderr, "%s: %s\nRun 'triton perf --help' for the options.\n\n", prefix, err)
	return &exitError{code: perfFailed}
}

// errQuit is the second interrupt.
var errQuit = errors.New("quit")

// measurePerf runs the measurement with its view and the interrupts.
func measurePerf(ctx context.Context, w World, s *perfSettings) (*perf.Report, error) {
	if ctx == nil {
		ctx = context.Background()
	}
	ctx, cancel := context.WithCancelCause(ctx)
	out := report.NewScreen(report.ScreenOptions{
		Out: w.Stdout, Notes: w.Stderr,
		Verbose: s.verbose > 0,
		Live:    w.Terminal && s.verbose == 0, NotesApart: !w.NotesTerminal,
		Table: s.table == "always" || s.table == "auto" && (w.Terminal || len(s.config.Batches) > 1),
	})
	interrupt := make(chan struct{})
	signals, unsubscribe := w.Signals()
	var watch sync.WaitGroup
	watch.Go(func() { watchPerf(ctx, signals, out, interrupt, cancel) })
	defer func() {
		cancel(nil)
		watch.Wait()
		unsubscribe()
	}()
	s.config.Live = w.Terminal && s.verbose == 0
	rep, err := perf.Run(ctx, s.config, perf.Deps{
		Dial:      func(context.Context) (perf.Target, error) { return perf.Connect(s.client) },
		Observer:  out,
		Interrupt: interrupt,
	})
	err = errors.Join(err, out.Close())
	if errors.Is(context.Cause(ctx), errQuit) {
		return nil, errQuit
	}
	return rep, err
}

// watchPerf turns the first interrupt into the end of the level and the second
// into the end of everything.
func watchPerf(ctx context.Context, signals <-chan os.Signal, out *report.Screen, interrupt chan<- struct{}, cancel context.CancelCauseFunc) {
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-signals:
		}
		if n == 2 {
			out.Print("Interrupt signal (2) received.\nExiting immediately...")
			cancel(errQuit)
			return
		}
		out.Print("Interrupt signal (2) received.\nWaiting for in-flight inferences to complete.")
		close(interrupt)
	}
}

// perfResult words the outcome the way perf_analyzer does and picks its exit
// code.
func perfResult(w World, rep *perf.Report, err error) error {
	var setup *perf.SetupError
	var load *perf.LoadError
	switch {
	case errors.As(err, &setup) && setup.What != "":
		fmt.Fprintf(w.Stderr, "error: %s\n\n", setup)
		if setup.Data {
			fmt.Fprintln(w.Stderr)
		}
	case errors.As(err, &load):
		fmt.Fprintln(w.Stderr, load)
		for _, f := range load.Failures {
			fmt.Fprintf(w.Stderr, "Thread [%d] had error: %s\n\n", f.Worker, f.Err)
		}
		fmt.Fprintln(w.Stderr)
	case err != nil:
		fmt.Fprintf(w.Stderr, "%s\n\n", err)
	}
	switch {
	case errors.Is(err, perf.ErrNoRequests):
		return &exitError{code: perfNoRequests}
	case err != nil:
		return &exitError{code: perfFailed}
	case rep.Interrupted:
		fmt.Fprintln(w.Stderr, "Received exit signal.")
		return nil
	case rep.Unstable:
		fmt.Fprint(w.Stderr, "Failed to obtain stable measurement.\n\n")
		return &exitError{code: perfUnstable}
	case len(rep.Levels) == 0:
		return &exitError{code: perfUnstable}
	}
	return nil
}

// writeCSVs writes the report and, for an ensemble, one for each of its parts.
func writeCSVs(w World, s *perfSettings, rep *perf.Report) error {
	if s.csv == "" || len(rep.Levels) == 0 {
		return nil
	}
	o := report.CSVOptions{Verbose: s.csvMore, Notes: w.Stderr}
	err := writeFile(s.csv, func(f io.Writer) error { return report.WriteCSV(f, rep, o) })
	if err != nil {
		return err
	}
	dir, base := filepath.Split(s.csv)
	for _, p := range report.Parts(rep) {
		name := dir + filepath.Base(p.Model) + "_v" + filepath.Base(p.Version) + "." + base
		if err := writeFile(name, func(f io.Writer) error { return report.WritePartCSV(f, rep, p, o) }); err != nil {
			return err
		}
	}
	return nil
}

func writeFile(name string, write func(io.Writer) error) error {
	f, err := os.Create(name)
	if err != nil {
		return fmt.Errorf("report: %w", err)
	}
	return errors.Join(write(f), f.Close())
}

func writePerfHelp(w io.Writer, long, example string) error {
	var b strings.Builder
	fmt.Fprintf(&b, "%s\n\nUsage: triton perf -m MODEL [options]\n\n%s\n", long, example)
	for _, group := range perfGroups {
		fmt.Fprintf(&b, "\n%s:\n", group)
		for i := range perfOptions {
			if o := &perfOptions[i]; o.group == group {
				fmt.Fprintf(&b, "  %-46s %s\n", o.synopsis(), o.help)
			}
		}
	}
	b.WriteString("\nAny unique prefix of a long option will do. Long options may also come from the\nenvironment, as TRITON_PERF_MEASUREMENT_INTERVAL for --measurement-interval.\n")
	_, err := io.WriteString(w, b.String())
	return err
}

func (o *option) synopsis() string {
	name := o.name()
	if o.long != "" && o.short != 0 {
		name += " (-" + string(o.short) + ")"
	}
	return strings.TrimSpace(name + " " + o.value)
}
