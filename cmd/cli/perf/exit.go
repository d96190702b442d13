package perf

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"triton/cmd/cli/process"
	"triton/perf"
	"triton/perf/data"
)

// perf_analyzer's exit codes. A wrong command line exits with failed.
const (
	unstable   = 2
	noRequests = 3
	failed     = 99
)

// usageError prints the mistake in a command line.
func usageError(p process.Process, err error) error {
	prefix := "Error"
	if errors.As(err, new(syntaxError)) {
		prefix = "triton perf"
	}
	fmt.Fprintf(p.Stderr, "%s: %s\nRun 'triton perf --help' for the options.\n\n", prefix, err)
	return &process.ExitError{Code: failed}
}

// exitResult prints how the measurement ended, in perf_analyzer's words, and returns the exit
// code.
//
// Of several reasons the first one decides: no request was completed, the run failed, a condition
// of --fail-on, no level within the latency threshold.
func exitResult(p process.Process, o *options, rep *perf.Report, err error) error {
	var setup *perf.SetupError
	var load *perf.LoadError
	switch {
	case errors.As(err, &setup) && setup.What != "":
		fmt.Fprintf(p.Stderr, "error: %s\n\n", setup)
		if setup.Data {
			fmt.Fprintln(p.Stderr)
		}
		var dynamic *data.DynamicShapeError
		if errors.As(setup, &dynamic) {
			fmt.Fprintf(p.Stderr, "Give its shape without the batch dimension, such as --shape %s\n\n", exampleShape(dynamic.Input))
		}
	case errors.As(err, &load):
		fmt.Fprintln(p.Stderr, load)
		for _, f := range load.Failures {
			fmt.Fprintf(p.Stderr, "Thread [%d] had error: %s\n\n", f.Worker, f.Err)
		}
		fmt.Fprintln(p.Stderr)
	case err != nil:
		fmt.Fprintf(p.Stderr, "%s\n\n", err)
	}
	switch {
	case errors.Is(err, perf.ErrNoRequests):
		return &process.ExitError{Code: noRequests}
	case err != nil:
		return &process.ExitError{Code: failed}
	case rep.Interrupted:
		fmt.Fprintln(p.Stderr, "Received exit signal.")
		return nil
	case rep.Unstable && o.failsOn(failOnUnstable):
		fmt.Fprint(p.Stderr, "Failed to obtain stable measurement.\n\n")
		return &process.ExitError{Code: unstable}
	case rep.ClientLimited() && o.failsOn(failOnLate):
		fmt.Fprint(p.Stderr, "The client limited a level.\n\n")
		return &process.ExitError{Code: unstable}
	case len(rep.Levels) == 0 && !rep.Unstable: // none within the latency threshold, as the notices say
		return &process.ExitError{Code: unstable}
	}
	return nil
}

// exampleShape returns an argument of --shape for an input, with 1 for variable dimensions.
func exampleShape(in data.Tensor) string {
	dims := make([]string, len(in.Shape))
	for i, d := range in.Shape {
		dims[i] = strconv.FormatInt(max(d, 1), 10)
	}
	return in.Name + ":" + strings.Join(dims, ",")
}
