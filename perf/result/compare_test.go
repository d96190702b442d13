package result

import (
	"bytes"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/sharedtest"
)

func simulated(load, mean float64, batch int, seed uint64) Level {
	l := simulate(rand.New(rand.NewPCG(seed, 3)), 9000, mean)
	l.Load, l.BatchSize = load, batch
	l.Throughput *= float64(max(1, batch))
	return l
}

// example compares levels that are equal, slower, faster, too short and in one file only.
func example(t *testing.T) *Comparison {
	t.Helper()
	short := simulated(8, 1000, 1, 9)
	short.Timeline, short.Requests = short.Timeline[:2], 40
	unstable := simulated(4, 900, 4, 7)
	unstable.Stable, unstable.Problem = false, "not stable"
	a := file(simulated(1, 1000, 1, 1), simulated(2, 1000, 1, 2), simulated(4, 1000, 4, 3), short, simulated(99, 1, 1, 4))
	b := file(simulated(1, 1000, 1, 5), simulated(2, 1200, 1, 6), unstable, simulated(8, 1000, 1, 8), simulated(98, 1, 1, 4))
	b.Settings.Protocol, a.Settings.Protocol = "gRPC", "HTTP"
	b.Settings.Model = "m|<n>"
	c, err := Compare("a.json", a, "b|.json", b, DefaultCompareOptions())
	require.NoError(t, err)
	return c
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	c := example(t)
	verdicts := map[float64]map[string]Verdict{}
	for _, d := range c.Differences {
		if verdicts[d.Load] == nil {
			verdicts[d.Load] = map[string]Verdict{}
		}
		verdicts[d.Load][d.Figure] = d.Verdict
	}
	require.Equal(t, map[float64]map[string]Verdict{
		1: {Throughput: Same, Average: Same, "p99": Unclear}, // its interval is wider than the threshold,
		2: {Throughput: Worse, Average: Worse, "p99": Worse},
		4: {Throughput: Better, Average: Better, "p99": Unclear},
		8: {Throughput: Unclear, Average: Unclear, "p99": Unclear},
	}, verdicts)
	require.Equal(t, []int{3, 2, 5}, []int{c.Worse, c.Better, c.Unclear})
	require.Equal(t, []string{
		"the model differs: m and m|<n>", "the protocol differs: HTTP and gRPC",
		"only a.json has batch size 1, concurrency 99", "only b|.json has batch size 1, concurrency 98",
	}, c.Notes)
}

func TestWrite(t *testing.T) {
	t.Parallel()
	for _, format := range ComparisonFormats() {
		var b bytes.Buffer
		require.NoError(t, WriteComparison(&b, example(t), format))
		name := filepath.Join("testdata", "compare."+format)
		if sharedtest.UpdateGolden() {
			require.NoError(t, os.MkdirAll("testdata", 0o755))
			require.NoError(t, os.WriteFile(name, b.Bytes(), 0o600))
		}
		want, err := os.ReadFile(name)
		require.NoError(t, err)
		require.Equal(t, string(want), b.String())
	}
	require.ErrorContains(t, WriteComparison(nil, nil, "xml"), `there is no format "xml"; the formats are text, json, markdown`)
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	one := file(simulated(1, 1000, 1, 1))
	_, err := Compare("a", one, "b", file(simulated(2, 1000, 1, 1)), DefaultCompareOptions())
	require.ErrorIs(t, err, errNothing)
	rate := file(simulated(1, 1000, 1, 1))
	rate.Settings.Mode = RequestRate
	_, err = Compare("a", one, "b", rate, DefaultCompareOptions())
	require.EqualError(t, err, "a has levels of concurrency and b of request_rate")
	_, err = ParseFigures("avg,p0")
	require.ErrorContains(t, err, `"p0" is no figure`)
	figures, err := ParseFigures("avg, p99.9,avg")
	require.NoError(t, err)
	require.Equal(t, []string{Average, "p99.9"}, figures)
}

// TestUnknownBatchSize: exports of perf_analyzer have no batch size.
func TestUnknownBatchSize(t *testing.T) {
	t.Parallel()
	c, err := Compare("a", file(simulated(1, 1000, 0, 1)), "b", file(simulated(1, 1000, 1, 1)), DefaultCompareOptions())
	require.NoError(t, err)
	for _, d := range c.Differences {
		require.NotContains(t, []Verdict{Better, Worse}, d.Verdict)
		require.Equal(t, 1, d.BatchSize)
		require.Zero(t, d.Change)
	}
}
