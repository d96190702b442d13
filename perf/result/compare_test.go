package result

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/sharedtest"
)

// simulated returns a level of 9000 requests.
func simulated(load, mean float64, batch int, seed uint64) Level {
	l := simulate(rand.New(rand.NewPCG(seed, 3)), 9000, mean)
	l.Load, l.BatchSize = load, batch
	l.Throughput *= float64(max(1, batch))
	return l
}

// repeated returns five repeats of a level that differ by about 1 %.
func repeated(load, mean float64, batch int, seed uint64) []Level {
	var all []Level
	for r, off := range []float64{0.01, -0.01, 0.015, -0.015, 0} {
		l := simulated(load, mean*(1+off), batch, seed*10+uint64(r))
		l.Repeat = r + 1
		all = append(all, l)
	}
	return all
}

func side(name string, levels ...[]Level) Side {
	f := file()
	for _, l := range levels {
		f.Levels = append(f.Levels, l...)
	}
	return Side{Name: name, Runs: []Run{{name, f}}}
}

func changed(levels []Level, change func(*Level)) []Level {
	for i := range levels {
		change(&levels[i])
	}
	return levels
}

func compared(t *testing.T, a, b Side, o CompareOptions) *Comparison {
	t.Helper()
	c, err := Compare(a, b, o)
	require.NoError(t, err)
	return c
}

// example compares levels that are equal, slower, faster, limited by the client and in one file only.
func example(t *testing.T) *Comparison {
	t.Helper()
	limited := changed(repeated(8, 1000, 1, 9), func(l *Level) { l.ClientLimit = "it is busy" })
	a := side("a.json", repeated(1, 1000, 1, 1), repeated(2, 1000, 1, 2), repeated(4, 1000, 4, 3), limited, repeated(99, 1000, 1, 4))
	b := side("b|.json", repeated(1, 1000, 1, 5), repeated(2, 1200, 1, 6), repeated(4, 850, 4, 7), repeated(8, 1000, 1, 8), repeated(98, 1000, 1, 4))
	b.Runs[0].File.Settings.Input, a.Runs[0].File.Settings.Input = "zero", "random"
	return compared(t, a, b, DefaultCompareOptions())
}

func verdictsOf(c *Comparison) map[float64][]Verdict {
	all := map[float64][]Verdict{}
	for _, d := range c.Differences {
		all[d.Load] = append(all[d.Load], d.Verdict)
	}
	return all
}

func TestVerdicts(t *testing.T) {
	t.Parallel()
	c := example(t)
	require.Equal(t, map[float64][]Verdict{
		1: {Undecided, Undecided, Undecided}, 2: {Worse, Worse, Worse}, 4: {Better, Better, Better}, 8: {NoVerdict, NoVerdict, NoVerdict},
	}, verdictsOf(c))
	require.Equal(t, []int{3, 3, 0, 3, 3, 3}, []int{c.Worse, c.Better, c.Same, c.Undecided, c.NoVerdict, c.Failed})
	require.Equal(t, []string{
		"the input data differs: random and zero",
		"only a.json has batch size 1, concurrency 99", "only b|.json has batch size 1, concurrency 98",
	}, c.Notes)
}

// TestQuality: which levels have a verdict.
func TestQuality(t *testing.T) {
	t.Parallel()
	few := func(n int, change func(*Level)) func([]Level) []Level {
		return func(l []Level) []Level { changed(l[:n], change); return l }
	}
	grade := func(g string) func(*Level) { return func(l *Level) { l.Grade = g } }
	for _, c := range []struct {
		name   string
		runs   int
		change func([]Level) []Level
		note   string
	}{
		{"sound", 1, few(0, nil), ""},
		{"grade C", 1, few(1, grade("C")), ""},
		{"grade D", 1, few(1, grade("D")), "B has grade D"},
		{"grade F", 1, few(1, grade("F")), "B has grade F"},
		{"not stable", 1, few(1, func(l *Level) { l.Problem = "not stable" }), "B not stable"},
		{"few requests", 1, few(1, func(l *Level) { l.Timeline = l.Timeline[:2] }), "too few requests"},
		{"wide intervals of repeats", 5, few(5, grade("D")), ""},
		{"not stable within repeats", 5, few(5, func(l *Level) { l.Problem = "not stable" }), ""},
		{"some repeats of grade F", 5, few(2, grade("F")), ""},
		{"most repeats of grade F", 5, few(3, grade("F")), "B has grade F (3 of 5 runs)"},
		{"late", 5, few(4, func(l *Level) { l.Late = "all" }), "B sent requests late (4 of 5 runs)"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			b := c.change(repeated(1, 1000, 1, 2))[:c.runs]
			o := DefaultCompareOptions()
			o.Figures = []string{Average}
			d := compared(t, side("a", repeated(1, 1000, 1, 1)[:c.runs]), side("b", b), o).Differences[0]
			require.Equal(t, c.note, d.Note)
			require.Equal(t, c.note != "", d.Verdict == NoVerdict)
		})
	}
}

// TestHeadline: the answer comes first.
func TestHeadline(t *testing.T) {
	t.Parallel()
	a := repeated(1, 1000, 1, 1)
	other := side("b", repeated(1, 1000, 1, 2))
	other.Runs[0].File.Machine = Machine{Host: "elsewhere", CPU: "Y", CPUs: 8}
	here := side("a", a)
	here.Runs[0].File.Machine = Machine{Host: "here", CPU: "X", CPUs: 2}
	narrow := DefaultCompareOptions()
	narrow.Figures = []string{Throughput}
	twoFiles := func(name string, seeds ...uint64) Side {
		s := Side{Name: name}
		for _, seed := range seeds {
			s.Runs = append(s.Runs, side(name, repeated(1, 1000, 1, seed)).Runs...)
		}
		return s
	}
	for _, c := range []struct {
		name           string
		a, b           Side
		headline, next string
	}{
		{"one run", side("a", a[:1]), side("b", repeated(1, 1100, 1, 2)[:1]), "Undecided: b is shown neither to differ from a nor to be within 5 % of it.", "Not ruled out: throughput up to "},
		{"equal", twoFiles("a", 1, 3), twoFiles("b", 2, 4), "Same: every figure of b is shown to be within 5 % of that of a.", ""},
		{"slower", side("a", a), side("b", repeated(1, 1200, 1, 2)), "b is worse than a: throughput at concurrency 1 is 1", ""},
		{"faster", side("a", a), side("b", repeated(1, 800, 1, 2)), "b is better than a: throughput at concurrency 1 is 2", ""},
		{"another machine", here, other, "Not comparable: the processor differs: X and Y; the number of CPUs differs: 2 and 8.", "Measure both sides in the same way"},
		{"useless", side("a", a), side("b", changed(repeated(1, 1000, 1, 2), func(l *Level) { l.Grade = "F" })), "No verdict: B has grade F (5 of 5 runs).", "Measure again"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			got := compared(t, c.a, c.b, narrow)
			require.True(t, strings.HasPrefix(got.Headline, c.headline), got.Headline)
			require.True(t, strings.HasPrefix(got.Next, c.next), got.Next)
			if c.next == "" {
				require.Empty(t, got.Next)
			}
		})
	}
	allowing := narrow
	allowing.AllowDifferent = true
	c := compared(t, here, other, allowing)
	require.Empty(t, c.NotComparable)
	require.Contains(t, c.Notes, "the processor differs: X and Y")
}

func TestLimits(t *testing.T) {
	t.Parallel()
	limits, err := ParseLimits("p99>10%, throughput < 5 %")
	require.NoError(t, err)
	require.Equal(t, []Limit{{"p99", true, 0.1}, {Throughput, false, 0.05}}, limits)
	for _, text := range []string{"", "p99", "p99>10", "x>1%", "p99>-1%", "p99>ten%"} {
		_, err := ParseLimits(text)
		require.Error(t, err, text)
	}
	for text, want := range map[string]int{"p99>10%": 1, "p99>60%": 0, "throughput<10%": 1, "throughput<30%": 0, "p99<1%": 0, "avg>10%,p99>10%": 2} {
		o := DefaultCompareOptions()
		o.Limits, err = ParseLimits(text)
		require.NoError(t, err)
		require.Equal(t, want, compared(t, side("a", repeated(1, 1000, 1, 1)), side("b", repeated(1, 1200, 1, 2)), o).Failed, text)
	}
}

// TestPairs: what disturbs both runs of a pair is in no difference.
func TestPairs(t *testing.T) {
	t.Parallel()
	noisy := func(mean float64, seed uint64) []Level {
		var all []Level
		for r, factor := range []float64{1, 1.4, 0.8, 1.7, 1.1, 0.7} {
			l := simulated(1, mean*factor, 1, seed+uint64(r))
			l.Repeat = r + 1
			all = append(all, l)
		}
		return all
	}
	a, b := side("a", noisy(1000, 100)), side("b", noisy(1150, 200))
	require.Zero(t, compared(t, a, b, DefaultCompareOptions()).Worse)
	a.Runs[0].File.Settings.Live, b.Runs[0].File.Settings.Live = "x", "x"
	c := compared(t, a, b, DefaultCompareOptions())
	require.True(t, c.Paired)
	require.Equal(t, Worse, c.Differences[0].Verdict)
	b.Runs[0].File.Levels = b.Runs[0].File.Levels[1:]
	require.Equal(t, 5, compared(t, a, b, DefaultCompareOptions()).Differences[0].RunsA, "a repeat without its other half does not count")
}

func TestWrite(t *testing.T) {
	t.Parallel()
	c := example(t)
	for _, format := range ComparisonFormats() {
		var b bytes.Buffer
		require.NoError(t, WriteComparison(&b, c, format))
		sharedtest.GoldenFile(t, "compare."+format, b.String())
		switch format {
		case "text":
			sharedtest.GoldenWidths(t, "compare", func(w io.Writer) error { return WriteComparison(w, c, format) })
		case "json":
			require.NoError(t, json.Unmarshal(b.Bytes(), &Comparison{}))
		case "junit":
			var err error
			for d := xml.NewDecoder(&b); err == nil; {
				_, err = d.Token()
			}
			require.ErrorIs(t, err, io.EOF)
		}
	}
	require.ErrorContains(t, WriteComparison(nil, nil, "xml"), `there is no format "xml"; the formats are text, json, markdown, junit`)
}

// TestUndecided: what is not shown is not called equal, and the intervals of the table agree with the verdicts.
func TestUndecided(t *testing.T) {
	t.Parallel()
	a, b := simulateSides(rand.New(rand.NewPCG(11, 37)), 25, 0.08, 0.97, disturbances[0], false)
	a.Name, b.Name = "main.json", "branch.json"
	c := compared(t, a, b, DefaultCompareOptions())
	require.Equal(t, len(c.Differences), c.Undecided, c.Headline)
	for _, format := range []string{"text", "markdown", "junit"} {
		var b bytes.Buffer
		require.NoError(t, WriteComparison(&b, c, format))
		sharedtest.GoldenFile(t, "undecided."+format, b.String())
	}
}

// TestIntervalsDecide: an interval excludes 0 exactly if the figure has a verdict that says so.
func TestIntervalsDecide(t *testing.T) {
	t.Parallel()
	rng := rand.New(rand.NewPCG(11, 38))
	seen := map[Verdict]int{}
	for _, factor := range []float64{1, 0.97, 0.95, 0.9, 1.08} {
		for _, cv := range []float64{0.01, 0.04} {
			a, b := simulateSides(rng, 10, cv, factor, disturbances[0], false)
			c := compared(t, a, b, DefaultCompareOptions())
			for _, d := range c.Differences {
				seen[d.Verdict]++
				excludes := *d.Low > 0 || *d.High < 0
				require.Equal(t, excludes, *d.Probability < c.Significance)
				switch d.Verdict {
				case Better, Worse, Small:
					require.True(t, excludes)
				case Undecided:
					require.False(t, excludes)
				case Same:
					require.True(t, *d.Low >= -c.Threshold && *d.High <= c.Threshold)
				}
			}
		}
	}
	require.Len(t, seen, 5, "all verdicts of sound measurements")
}

// TestNeed: what would decide is in runs, or in files where a file says no more, or there is none.
func TestNeed(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		cv   float64
		live bool
		want string
	}{
		{0.015, false, "To decide 5 %, measure about 20 repeats a side for throughput"},
		{0.05, false, "files a side for throughput"},
		{0.3, false, "The machine is too unsteady to decide 5 % of throughput and p99: use --live on a machine without other programs."},
		{0.08, true, "repeats a side for throughput"},
		{0.6, true, "The machine is too unsteady to decide 5 % of throughput and p99: end other programs on it."},
	} {
		a, b := simulateSides(rand.New(rand.NewPCG(11, 39)), 6, c.cv, 0.98, disturbances[0], c.live)
		got := compared(t, a, b, DefaultCompareOptions())
		require.Contains(t, got.Next, c.want, got.Headline)
		require.Contains(t, got.Gate, "exit code 0 means that nothing is shown to be worse")
	}
}

func TestRefusals(t *testing.T) {
	t.Parallel()
	one := side("a", repeated(1, 1000, 1, 1))
	_, err := Compare(one, side("b", repeated(2, 1000, 1, 1)), DefaultCompareOptions())
	require.ErrorIs(t, err, errNothing)
	rate := side("b", repeated(1, 1000, 1, 1))
	rate.Runs[0].File.Settings.Mode = RequestRate
	_, err = Compare(one, rate, DefaultCompareOptions())
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
	c := compared(t, side("a", []Level{simulated(1, 1000, 0, 1)}), side("b", []Level{simulated(1, 1000, 1, 1)}), DefaultCompareOptions())
	for _, d := range c.Differences {
		require.NotContains(t, []Verdict{Better, Worse}, d.Verdict)
		require.Equal(t, 1, d.BatchSize)
		require.InDelta(t, 0, d.Change, 1e-12)
	}
}

// TestReadSide reads a file, a list and a folder.
func TestReadSide(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, created string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(`{"format":"triton-perf-result","version":1,"created":"`+created+`"}`), 0o600))
		return path
	}
	late, early := write("a.json", "2026-02-01T00:00:00Z"), write("b.json", "2026-01-01T00:00:00Z")
	s, err := ReadSide(late)
	require.NoError(t, err)
	require.Equal(t, "a.json", s.Name)
	for text, name := range map[string]string{dir: filepath.Base(dir), late + "," + early: "b.json and 1 more"} {
		s, err := ReadSide(text)
		require.NoError(t, err)
		require.Equal(t, name, s.Name)
		require.Equal(t, "b.json", s.Runs[0].Name, "the earlier one is first")
		require.Len(t, s.Runs, 2)
	}
	_, err = ReadSide(t.TempDir())
	require.ErrorContains(t, err, "the folder has no result files (*.json)")
	_, err = ReadSide(late + ",none.json")
	require.ErrorIs(t, err, os.ErrNotExist)
}

func TestBaselineNotes(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)
	a, b := side("a"), side("b")
	a.Runs[0].File.Created = now.AddDate(0, 0, -40)
	a.Runs[0].File.Program.Version, b.Runs[0].File.Program.Version = "1.0", "1.1"
	require.Equal(t, []string{
		"the baseline is 40 days old: measure it again, or raise --max-baseline-age",
		"the baseline was measured by version 1.0, the other side by 1.1",
	}, BaselineNotes(a, b, now, 30*24*time.Hour))
	require.Len(t, BaselineNotes(a, b, now, 0), 1)
}
