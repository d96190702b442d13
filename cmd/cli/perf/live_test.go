package perf_test

import (
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/cmd/cli/clitest"
	"triton/perf/result"
)

func TestCompareLive(t *testing.T) {
	t.Parallel()
	a, b := nullServer(t), nullServer(t)
	folder := filepath.Join(t.TempDir(), "results")
	code, out, errs := run(t, nil, "compare", "--live", a.Address, b.Address, "--threshold", "900%", "--save", folder,
		"--", "-m", "null", "--concurrency-range", "2", "--request-count", "20", "--repeat", "3")
	require.Zero(t, code, errs)
	require.Contains(t, out, "A is "+a.Address+" (3 runs), B is "+b.Address+" (3 runs)")
	require.Contains(t, errs, "repeat 3 of 3, A: ")
	require.Less(t, strings.Index(errs, "repeat 2 of 3, B: "), strings.Index(errs, "repeat 2 of 3, A: "), "each other repeat goes backwards")

	fileA, err := result.ReadFile(filepath.Join(folder, "a.json"))
	require.NoError(t, err)
	fileB, err := result.ReadFile(filepath.Join(folder, "b.json"))
	require.NoError(t, err)
	require.NotEmpty(t, fileA.Settings.Live)
	require.Equal(t, fileA.Settings.Live, fileB.Settings.Live)
	var loads, repeats, numbers []int
	for _, l := range fileB.Levels {
		loads, repeats, numbers = append(loads, int(l.Load)), append(repeats, l.Repeat), append(numbers, l.Number)
	}
	require.Equal(t, []int{2, 2, 2}, loads)
	require.Equal(t, []int{1, 2, 3}, repeats)
	require.Equal(t, []int{1, 2, 3}, numbers)
}

func TestCompareLiveErrors(t *testing.T) {
	t.Parallel()
	s := nullServer(t)
	for args, want := range map[string]string{
		"--live a:1 -- -m null": "takes the addresses of two servers",
		"--live a:1 b:1":        "-m (model name)",
		"--live a:1 b:1 -- -m null --concurrency-range 1:8 --binary-search -l 9": "a range with an end",
		"--live a:1 b:1 -- -m null -f out.csv":                                   "use --save FOLDER",
		"--live a:1 b:1 --baseline x.json -- -m null":                            "--live measures both sides",
		"x.json y.json --save folder":                                            "--save belongs to --live",
		"--live " + s.Address + " 127.0.0.1:1 -- -m null --request-count 20":     "B (127.0.0.1:1): ",
	} {
		code, _, errs := run(t, nil, append([]string{"compare"}, strings.Fields(args)...)...)
		require.Equal(t, 2, code, args)
		require.Contains(t, errs, want, args)
	}
}

func TestCompareLiveInterrupted(t *testing.T) {
	t.Parallel()
	s := nullServer(t)
	c := clitest.New().Start(nil, "perf", "compare", "--live", s.Address, s.Address, "--threshold", "900%",
		"--", "-m", "null", "--request-count", "20", "--repeat", "1000")
	require.Eventually(t, func() bool {
		return strings.Contains(c.Stderr.String(), "repeat 2 of 1000, A: ") || len(c.Exit) > 0
	}, time.Minute, 2*time.Millisecond)
	c.Signals <- syscall.SIGINT
	code, out, errs := c.Wait(t)
	require.Zero(t, code, errs)
	require.Contains(t, errs, "comparing the repeats that are complete")
	require.Contains(t, out, "A is "+s.Address)
}

// TestCompareLiveEnded: the second signal ends a measurement, and a gate does not pass for that.
func TestCompareLiveEnded(t *testing.T) {
	t.Parallel()
	hang := nullServer(t)
	release := make(chan struct{})
	defer close(release)
	c := clitest.New()
	hang.Respond = func(uint64) (string, bool) {
		again := time.NewTicker(100 * time.Millisecond)
		defer again.Stop()
		for {
			select {
			case <-again.C:
				select {
				case c.Signals <- syscall.SIGINT:
				default: // the program has not taken the last ones
				}
			case <-release:
				return "", true
			}
		}
	}
	code, out, errs := c.Start(nil, "perf", "compare", "--live", hang.Address, hang.Address, "--", "-m", "null", "-p", "60000").Wait(t)
	require.Equal(t, 2, code)
	require.Empty(t, out)
	require.Contains(t, errs, "interrupted: nothing is compared")
}
