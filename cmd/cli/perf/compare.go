package perf

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"triton/cmd/cli/flags"
	"triton/cmd/cli/process"
	"triton/perf/result"
)

// compareOptions holds what the flags of `triton perf compare` set.
type compareOptions struct {
	output, file, threshold, figures string
	significance                     float64
}

func (o *compareOptions) bind(f *flags.Set) {
	f.StringVar(&o.output, "output", "text", strings.Join(result.ComparisonFormats(), ", "))
	f.StringVarP(&o.file, "output-file", "o", "", "file to write (default standard output)")
	f.StringVar(&o.threshold, "threshold", "5%", "relative difference up to which figures count as equal")
	f.StringVar(&o.figures, "figures", strings.Join(result.DefaultCompareOptions().Figures, ","), "figures to compare: throughput, avg, and percentiles such as p99")
	f.Float64Var(&o.significance, "significance", result.DefaultCompareOptions().Significance, "probability that a comparison of equal systems finds a difference")
}

// newCompareCommand returns `triton perf compare`.
func newCompareCommand(p process.Process) *cobra.Command {
	var o compareOptions
	cmd := &cobra.Command{
		Use:   "compare A B",
		Short: "Compare two results level by level",
		Long: `Compare result B with result A level by level, and say which differences are more
than chance: the interval of a difference is that of batch means, so that it holds
for requests that depend on each other, and the probabilities are corrected for the
number of figures.

A figure is better or worse if the difference is more than chance and more than the
threshold; the same if it is within the threshold; else it is unclear, and a longer
measurement would tell.

The exit code is 0 when no figure is worse, 1 when one is, and 2 when the command
line is wrong, a file cannot be read or the files have no level in common.`,
		Example: `  triton perf compare main.json branch.json --threshold 3%
  triton perf compare main.json branch.json --figures p99 --output markdown`,
	}
	f := flags.New(p, "perf compare", cmd.Flags())
	o.bind(f)
	f.FillBefore(cmd, nil)
	cmd.RunE = func(_ *cobra.Command, args []string) error { return runCompare(p, o, args) }
	return cmd
}

func (o *compareOptions) options() (result.CompareOptions, error) {
	threshold, err := parseShare(o.threshold)
	if err != nil {
		return result.CompareOptions{}, fmt.Errorf("--threshold: %w", err)
	}
	figures, err := result.ParseFigures(o.figures)
	switch {
	case err != nil:
		return result.CompareOptions{}, fmt.Errorf("--figures: %w", err)
	case !(o.significance > 0 && o.significance < 1):
		return result.CompareOptions{}, fmt.Errorf("--significance: %g is not between 0 and 1", o.significance)
	case !slices.Contains(result.ComparisonFormats(), o.output):
		return result.CompareOptions{}, fmt.Errorf("--output: unknown form %q: use one of %s", o.output, strings.Join(result.ComparisonFormats(), ", "))
	}
	return result.CompareOptions{Figures: figures, Threshold: threshold, Significance: o.significance}, nil
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
	if len(names) != 2 {
		return process.UsageError("perf compare takes the names of two result files, the one to compare with first")
	}
	options, err := o.options()
	if err != nil {
		return process.UsageError("%w", err)
	}
	runs, err := result.ReadRuns(names)
	if err != nil {
		return &process.ExitError{Code: process.Usage, Err: err}
	}
	c, err := result.Compare(runs[0].Name, runs[0].File, runs[1].Name, runs[1].File, options)
	if err != nil {
		return &process.ExitError{Code: process.Usage, Err: err}
	}
	if err := writeTo(p, o.file, func(w io.Writer) error { return result.WriteComparison(w, c, o.output) }); err != nil {
		return &process.ExitError{Code: process.Usage, Err: err}
	}
	if c.Worse > 0 {
		return &process.ExitError{Code: process.Failure, Err: errWorse(c)}
	}
	return nil
}

func errWorse(c *result.Comparison) error {
	if c.Worse == 1 {
		return errors.New("1 figure is worse")
	}
	return fmt.Errorf("%d figures are worse", c.Worse)
}
