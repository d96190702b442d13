package bench

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"triton/analyzer/trial"
)

// options returns what Model Analyzer passes for a model.
func options() LoadOptions {
	var o LoadOptions
	o.Set("model-name", "m")
	o.Set("latency-report-file", "m-results.csv")
	o.Set("measurement-mode", "count_windows")
	o.Set("verbose-csv", "true")
	o.Set("protocol", "grpc")
	o.Set("url", "localhost:8001")
	o.Set("collect-metrics", "True")
	o.Set("metrics-url", "http://localhost:8002/metrics")
	o.Set("metrics-interval", "1000")
	o.Set("batch-size", "1")
	o.Set("concurrency-range", "4")
	return o
}

func TestArgs(t *testing.T) {
	t.Parallel()
	o := options()
	assert.Equal(t, []string{
		"-m", "m", "-b", "1", "-u", "localhost:8001", "-i", "grpc", "-f", "m-results.csv", "--verbose-csv",
		"--concurrency-range=4", "--measurement-mode=count_windows", "--collect-metrics",
		"--metrics-url=http://localhost:8002/metrics", "--metrics-interval=1000",
	}, o.Args())
	o.Set("measurement-request-count", "100")
	// The text is that of a checkpoint of Model Analyzer 1.58.
	assert.Equal(t, "-m m -b 1 -i grpc -f m-results.csv --verbose-csv --concurrency-range=4 --measurement-mode=count_windows "+
		"--collect-metrics --metrics-url=http://localhost:8002/metrics --metrics-interval=1000", o.Representation())
	require.Equal(t, "100", o.Get("measurement-request-count"), "Representation changes nothing")

	o.Set("request-rate-range", "50")
	require.Empty(t, o.Get("concurrency-range"), "only one option sets the load")
	o.Set("streaming", "FALSE")
	o.Set("input-data", "a=1.json", "b c.json")
	o.Set("stop-when", "ci<2%")
	o.Set("llm", "true")
	args := o.Args()
	assert.NotContains(t, args, "--streaming")
	assert.Contains(t, args, "--input-data=a=1.json")
	assert.Contains(t, args, "--input-data=b c.json", "blanks do not split an argument")
	assert.Equal(t, []string{"--stop-when=ci<2%", "--llm"}, args[len(args)-2:])
}

func TestOptionsInJSON(t *testing.T) {
	t.Parallel()
	o := options()
	o.Set("shape", "a:1", "b:2")
	o.Set("stop-when", "ci<2%")
	text, err := json.Marshal(o)
	require.NoError(t, err)
	var stored map[string]map[string]any
	require.NoError(t, json.Unmarshal(text, &stored))
	assert.Equal(t, "m", stored["_options"]["-m"])
	assert.InDelta(t, 4, stored["_args"]["concurrency-range"], 0)
	assert.Contains(t, stored["_args"], "percentile", "options without a value are there")
	var back LoadOptions
	require.NoError(t, json.Unmarshal(text, &back))
	assert.Equal(t, o.Args()[:6], back.Args()[:6])
	assert.ElementsMatch(t, o.Args(), back.Args())
}

// script answers runs one after another.
type script struct {
	answers [][]Outcome
	ran     [][]LoadOptions
	wait    bool // for the end of the context
}

func (s *script) Run(ctx context.Context, models []LoadOptions) []Outcome {
	run := make([]LoadOptions, len(models))
	for i, m := range models {
		run[i] = m.Clone()
	}
	s.ran = append(s.ran, run)
	if s.wait {
		<-ctx.Done()
		return make([]Outcome, len(models))
	}
	return s.answers[len(s.ran)-1]
}

var (
	good  = Outcome{Figures: Figures{Values: trial.Values{trial.Throughput: 100}}}
	brief = Outcome{Err: errors.New("failed to obtain stable measurement"), Unsettled: true}
	bad   = Outcome{Err: errors.New("connection refused"), Output: "E: connection refused"}
)

func TestMeasure(t *testing.T) {
	t.Parallel()
	timed := options()
	timed.Set("measurement-mode", "time_windows")
	own := options()
	own.Set("measurement-request-count", "500")
	for name, c := range map[string]struct {
		models  []LoadOptions
		answers [][]Outcome
		want    string // of the last run
		option  string
		err     string
	}{
		"at once":      {[]LoadOptions{options()}, [][]Outcome{{good}}, "", "measurement-request-count", ""},
		"more samples": {[]LoadOptions{options()}, [][]Outcome{{brief}, {brief}, {good}}, "150", "measurement-request-count", ""},
		"user's count": {[]LoadOptions{own}, [][]Outcome{{brief}, {good}}, "550", "measurement-request-count", ""},
		"longer":       {[]LoadOptions{timed}, [][]Outcome{{brief}, {good}}, "6000", "measurement-interval", ""},
		"exhausted": {
			[]LoadOptions{options()},
			[][]Outcome{{brief}, {brief}, {brief}},
			"150", "measurement-request-count",
			"Ran perf_analyzer 3 times, but no valid requests recorded",
		},
		"failure": {[]LoadOptions{options()}, [][]Outcome{{bad}}, "", "measurement-request-count", "model m: connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &script{answers: c.answers}
			failed := 0
			figures, err := Supervisor{Generator: s, Attempts: 3, Timeout: time.Minute, Failed: func(LoadOptions, Outcome) { failed++ }}.Measure(t.Context(), c.models)
			if c.err != "" {
				require.EqualError(t, err, c.err)
				require.Equal(t, 1, failed, "only the last run is told")
			} else {
				require.NoError(t, err)
				require.InDelta(t, 100, figures[0].Values[trial.Throughput], 0)
			}
			require.Len(t, s.ran, len(c.answers))
			assert.Equal(t, c.want, s.ran[len(s.ran)-1][0].Get(c.option))
		})
	}
}

// Only the model that did not settle gets longer windows.
func TestMeasureTogether(t *testing.T) {
	t.Parallel()
	s := &script{answers: [][]Outcome{{good, brief}, {good, good}}}
	figures, err := Supervisor{Generator: s, Attempts: 10, Timeout: time.Minute}.Measure(t.Context(), []LoadOptions{options(), options()})
	require.NoError(t, err)
	require.Len(t, figures, 2)
	assert.Empty(t, s.ran[1][0].Get("measurement-request-count"))
	assert.Equal(t, "100", s.ran[1][1].Get("measurement-request-count"))
}

func TestTimeout(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		_, err := Supervisor{Generator: &script{wait: true}, Attempts: 10, Timeout: 10 * time.Minute}.Measure(t.Context(), []LoadOptions{options()})
		require.EqualError(t, err, "the load generator did not finish within 10m0s and was stopped; --perf-analyzer-timeout allows longer runs")
		require.Equal(t, 10*time.Minute, time.Since(begin))

		ctx, cancel := context.WithCancelCause(t.Context())
		gone := errors.New("the server has ended")
		time.AfterFunc(time.Second, func() { cancel(gone) })
		_, err = Supervisor{Generator: &script{wait: true}, Attempts: 10, Timeout: 10 * time.Minute}.Measure(ctx, []LoadOptions{options()})
		require.ErrorIs(t, err, gone)
	})
}
