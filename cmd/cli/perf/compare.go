package perf

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"triton/cmd/cli/flags"
	"triton/cmd/cli/process"
	"triton/perf/result"
)

// noVerdict is the exit code of --require-verdict without a verdict.
const noVerdict = 3

// compareOptions holds what the flags of `triton perf compare` set.
type compareOptions struct {
	output, file, threshold, figures, runSpread, baseline, failOn string
	significance                                                  float64
	maxBaselineAge                                                int // days
	allowDifferent, requireVerdict, live                          bool
	save                                                          string // folder for the results of live
}

func (o *compareOptions) bind(f *flags.Set) {
	f.StringVar(&o.output, "output", "text", strings.Join(result.ComparisonFormats(), ", "))
	f.StringVarP(&o.file, "output-file", "o", "", "file to write (default standard output)")
	f.StringVar(&o.threshold, "threshold", "5%", "relative difference up to which figures count as equal")
	f.StringVar(&o.figures, "figures", strings.Join(result.DefaultCompareOptions().Figures, ","), "figures to compare: throughput, avg, and percentiles such as p99")
	f.Float64Var(&o.significance, "significance", result.DefaultCompareOptions().Significance, "probability that a comparison of equal servers finds a difference")
	f.StringVar(&o.runSpread, "run-spread", "12%", "assumed coefficient of variation between runs; counts little from five runs a side on")
	f.StringVar(&o.baseline, "baseline", "", "A: a result file, a list with commas, or a folder; then only B is an argument")
	f.IntVar(&o.maxBaselineAge, "max-baseline-age", 30, "days from which on a baseline gets a note that it is old; 0: never")
	f.StringVar(&o.failOn, "fail-on", "", "what fails instead of any figure that is worse: a list such as p99>10%,throughput<5%")
	f.BoolVar(&o.requireVerdict, "require-verdict", false, "exit with 3 if no figure has a verdict")
	f.BoolVar(&o.live, "live", false, "A and B are addresses of servers, which are measured in turn; options of triton perf follow --")
	f.StringVar(&o.save, "save", "", "with --live: folder for the two results, a.json and b.json")
	f.BoolVar(&o.allowDifferent, "allow-different", false, "compare measurements of different machines, models or protocols")
}

// newCompareCommand returns `triton perf compare`.
func newCompareCommand(p process.Process) *cobra.Command {
	var o compareOptions
	cmd := &cobra.Command{
		Use:   "compare A B [-- options of triton perf]",
		Short: "Compare two results level by level",
		Long: `Compare result B with result A level by level, and say which differences are more
than chance. A side is a result file, several with commas between them, or a folder.

Runs of one server differ by more than the interval of each run shows. The unit of
the test is therefore a run: a file, or a repeat of 'triton perf --repeat'. With one
run a side only large differences can be told from the spread between runs; measure
with --repeat 10 to tell 10 %. Intervals are corrected for the number of figures, so
that all of them hold together.

The interval of the change decides: a figure is the same if all of it is within the
threshold; better or worse if it excludes 0 and the change is beyond the threshold;
small if it excludes 0 and the change is not; else undecided, and more runs would
decide. A level that the client limited, that was not stable or has grade D to F has
no verdict. Results of other processors, models or protocols are not comparable.

With --live A and B are servers: every level is measured on one and then on the other,
in turn, 5 times unless --repeat says otherwise. What changes on the machine meanwhile
concerns both, so that this finds smaller differences than two files do.

A limit of --fail-on is passed if the difference is more than chance and the estimate
of the change is beyond the limit.

The exit code is 0 when no figure is shown to be worse (with --fail-on: no limit is
passed), which does not mean that both are equal, 1 when one is, 2 when the command line is wrong, a file cannot be read, a measurement of --live
failed or the sides have no level in common, and 3 when no figure has a verdict and --require-verdict is given.`,
		Example: `  triton perf compare main.json branch.json --threshold 3%
  triton perf compare --baseline main.json branch.json --fail-on 'p99>10%' --output markdown
  triton perf compare main1.json,main2.json,main3.json branch/
  triton perf compare --live localhost:8000 localhost:9000 -- -m simple --concurrency-range 1,8`,
	}
	f := flags.New(p, "perf compare", cmd.Flags())
	o.bind(f)
	f.FillBefore(cmd, nil)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if !o.live {
			return runCompare(p, o, args)
		}
		options := []string(nil)
		if at := cmd.ArgsLenAtDash(); at >= 0 {
			args, options = args[:at], args[at:]
		}
		return runLive(cmd.Context(), p, o, args, options)
	}
	return cmd
}

func (o *compareOptions) options() (out result.CompareOptions, err error) {
	if out.Threshold, err = parseShare(o.threshold); err != nil {
		return out, fmt.Errorf("--threshold: %w", err)
	}
	if out.RunSpread, err = parseShare(o.runSpread); err != nil {
		return out, fmt.Errorf("--run-spread: %w", err)
	}
	if out.Figures, err = result.ParseFigures(o.figures); err != nil {
		return out, fmt.Errorf("--figures: %w", err)
	}
	if o.failOn != "" {
		if out.Limits, err = result.ParseLimits(o.failOn); err != nil {
			return out, fmt.Errorf("--fail-on: %w", err)
		}
	}
	for _, l := range out.Limits {
		if !slices.Contains(out.Figures, l.Figure) {
			out.Figures = append(out.Figures, l.Figure)
		}
	}
	switch {
	case !(o.significance > 0 && o.significance < 1):
		return out, fmt.Errorf("--significance: %g is not between 0 and 1", o.significance)
	case !slices.Contains(result.ComparisonFormats(), o.output):
		return out, fmt.Errorf("--output: unknown form %q: use one of %s", o.output, strings.Join(result.ComparisonFormats(), ", "))
	case o.maxBaselineAge < 0:
		return out, fmt.Errorf("--max-baseline-age: %d is no number of days", o.maxBaselineAge)
	}
	out.Significance, out.AllowDifferent = o.significance, o.allowDifferent
	return out, nil
}

// parseShare reads a percentage such as 5%, or a share such as 0.05.
func parseShare(text string) (float64, error) {
	number, percent := strings.CutSuffix(strings.TrimSpace(text), "%")
	v, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if percent {
		v /= 100
	}
	switch {
	case err != nil:
		return 0, fmt.Errorf("%q is no percentage such as 5%%", text)
	case !percent && v >= 1:
		return 0, fmt.Errorf("%q is a share of %g %%: write %s%% if that is meant", text, 100*v, number)
	case !(v >= 0 && v < 100):
		return 0, fmt.Errorf("%q is no percentage such as 5%%", text)
	}
	return v, nil
}

func runCompare(p process.Process, o compareOptions, names []string) error {
	if o.baseline != "" {
		names = append([]string{o.baseline}, names...)
	}
	if len(names) != 2 {
		return process.UsageError("perf compare takes two sides, A (or --baseline) first; several files of one side have commas between them")
	}
	options, err := o.options()
	if err != nil {
		return process.UsageError("%w", err)
	}
	if o.save != "" {
		return process.UsageError("--save belongs to --live: the results of %s and %s are files already", names[0], names[1])
	}
	c, err := o.compare(names[0], names[1], options)
	if err != nil {
		return &process.ExitError{Code: process.Usage, Err: err}
	}
	return o.end(p, c, options)
}

// end writes a comparison and returns the exit code.
func (o *compareOptions) end(p process.Process, c *result.Comparison, options result.CompareOptions) error {
	if err := writeTo(p, o.file, func(w io.Writer) error { return result.WriteComparison(w, c, o.output) }); err != nil {
		return &process.ExitError{Code: process.Usage, Err: err}
	}
	switch {
	case c.Failed > 0:
		return &process.ExitError{Code: process.Failure, Err: errFailed(c.Failed, len(options.Limits) > 0)}
	case o.requireVerdict && c.NoVerdict == len(c.Differences):
		return &process.ExitError{Code: noVerdict, Err: errors.New("no figure has a verdict")}
	}
	return nil
}

// compare reads and compares two sides.
func (o *compareOptions) compare(nameA, nameB string, options result.CompareOptions) (*result.Comparison, error) {
	a, err := result.ReadSide(nameA)
	if err != nil {
		return nil, err
	}
	b, err := result.ReadSide(nameB)
	if err != nil {
		return nil, err
	}
	if a.Name == b.Name { // of files in two folders
		a.Name, b.Name = nameA, nameB
	}
	c, err := compareSides(a, b, options)
	if err != nil {
		return nil, err
	}
	if o.baseline != "" {
		c.Notes = append(c.Notes, result.BaselineNotes(a, b, time.Now(), time.Duration(o.maxBaselineAge)*24*time.Hour)...)
	}
	return c, nil
}

// compareSides compares two sides, and says which limit no level has a figure for.
func compareSides(a, b result.Side, options result.CompareOptions) (*result.Comparison, error) {
	c, err := result.Compare(a, b, options)
	if err != nil {
		return nil, err
	}
	for _, l := range options.Limits {
		if !slices.ContainsFunc(c.Differences, func(d result.Difference) bool { return d.Figure == l.Figure }) {
			return nil, fmt.Errorf("--fail-on: no level that both sides have has %s: measure with --percentile %s", l.Figure, strings.TrimPrefix(l.Figure, "p"))
		}
	}
	return c, nil
}

func errFailed(n int, limits bool) error {
	switch {
	case limits && n == 1:
		return errors.New("1 figure is beyond a limit of --fail-on")
	case limits:
		return fmt.Errorf("%d figures are beyond a limit of --fail-on", n)
	case n == 1:
		return errors.New("1 figure is worse")
	}
	return fmt.Errorf("%d figures are worse", n)
}
