package capacity

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func curve(t *testing.T, points ...CurvePoint) *Curve {
	t.Helper()
	c, err := NewCurve(points)
	require.NoError(t, err)
	return c
}

func TestTime(t *testing.T) {
	t.Parallel()
	c := curve(t, CurvePoint{Batch: 2, Time: 10 * ms}, CurvePoint{Batch: 4, Time: 14 * ms}, CurvePoint{Batch: 8, Time: 18 * ms}, CurvePoint{Batch: 4, Instances: 3, Time: 34 * ms})
	for _, test := range []struct {
		rows, instances int
		want            time.Duration
	}{
		{1, 1, 10 * ms},
		{2, 1, 10 * ms},
		{3, 1, 12 * ms},
		{4, 1, 14 * ms},
		{6, 1, 16 * ms},
		{8, 1, 18 * ms},
		{16, 1, 26 * ms}, // on the last line
		{4, 3, 34 * ms},
		{4, 9, 34 * ms}, // beyond: the nearest
		{4, 2, 24 * ms},
		{4, 0, 14 * ms}, // between 1 and 3 instances
		{8, 3, 68 * ms},
		{8, 2, (68 + 18) * ms / 2}, // of one point: in proportion
	} {
		require.Equal(t, test.want, c.Time(test.rows, test.instances), "%d rows, %d instances", test.rows, test.instances)
	}
}

// TestFallingCurve: noise may make a larger batch quicker; beyond it the time does not fall
// further.
func TestFallingCurve(t *testing.T) {
	t.Parallel()
	c := curve(t, CurvePoint{Batch: 1, Time: 10 * ms}, CurvePoint{Batch: 2, Time: 4 * ms})
	require.Equal(t, 4*ms, c.Time(100, 1))
}

func TestCombined(t *testing.T) {
	t.Parallel()
	c := curve(t, CurvePoint{Batch: 1, Time: 10 * ms, Executions: 1}, CurvePoint{Batch: 1, Instances: 1, Time: 20 * ms, Executions: 3})
	require.Equal(t, []CurvePoint{{1, 1, 17500 * time.Microsecond, 4}}, c.Points())
}

func TestBest(t *testing.T) {
	t.Parallel()
	c := curve(t, CurvePoint{Batch: 1, Time: 10 * ms}, CurvePoint{Batch: 4, Time: 16 * ms}, CurvePoint{Batch: 8, Time: 64 * ms})
	require.InDelta(t, 250, c.Best(8, 1), 1e-9, "batches of 4 are the best")
	require.InDelta(t, 100, c.Best(1, 1), 1e-9)
}

func TestDoubts(t *testing.T) {
	t.Parallel()
	c := curve(t, CurvePoint{Batch: 4, Instances: 2, Time: ms}, CurvePoint{Batch: 8, Instances: 4, Time: ms})
	require.Empty(t, c.Doubts(8, 3))
	require.Contains(t, c.Doubts(8, 5)[0], "at most 4 at work on a device: 5 instances")
	require.Contains(t, c.Doubts(8, 1)[0], "at least 2 at work on a device: fewer, here 1,")
	require.Contains(t, c.Doubts(9, 2)[0], "batches above 8 rows were not measured")
}

func TestRead(t *testing.T) {
	t.Parallel()
	want := []CurvePoint{{Batch: 1, Time: 2 * ms}, {Batch: 8, Time: 4500 * time.Microsecond, Instances: 2, Executions: 7}}
	for _, text := range []string{
		"batch,time_us,instances,executions\n1,2000,0,0\n8, 4500, 2,7\n",
		`{"model": "m", "cost_curve": [{"batch": 1, "time_us": 2000}, {"batch": 8, "time_us": 4500, "instances": 2, "executions": 7}]}`,
	} {
		got, err := ReadCurvePoints(strings.NewReader(text), "")
		require.NoError(t, err)
		require.Equal(t, want, got)
	}
}

const stats = `{"model_stats":[{"name":"m","version":"1","batch_stats":[
	{"batch_size":1,"compute_input":{"count":4,"ns":400},"compute_infer":{"count":4,"ns":8000},"compute_output":{"count":4,"ns":1600}},
	{"batch_size":"8","compute_input":{"count":"2","ns":"2000"},"compute_infer":{"count":"2","ns":"8000"},"compute_output":{"count":"2","ns":"0"}},
	{"batch_size":4,"compute_input":{"count":0,"ns":0},"compute_infer":{"count":0,"ns":0},"compute_output":{"count":0,"ns":0}}]},
	{"name":"other","version":"1","batch_stats":[]}]}`

// TestReadStatistics: the server's statistics, also with numbers as the protocol's JSON writes
// them.
func TestReadStatistics(t *testing.T) {
	t.Parallel()
	got, err := ReadCurvePoints(strings.NewReader(stats), "m")
	require.NoError(t, err)
	require.Equal(t, []CurvePoint{{Batch: 1, Time: 2500, Executions: 4}, {Batch: 8, Time: 5000, Executions: 2}}, got)
	for model, want := range map[string]string{"": "name one", "none": `no model "none", but m, other`, "other": "no executed batches"} {
		_, err := ReadCurvePoints(strings.NewReader(stats), model)
		require.ErrorContains(t, err, want)
	}
}

func TestReadErrors(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                             "the file is empty",
		"batch\n1\n":                   "batch and time_us are needed",
		"batch,time_us,size\n":         `column "size" is unknown`,
		"batch,batch\n":                "repeated",
		"batch,time_us\n1\n":           "wrong number of fields",
		"batch,time_us\n1,2\n1,slow\n": `line 3: "slow" in column time_us is not a number`,
		"batch,time_us\n1,-2\n":        "is not a number from 0",
		"{":                            "unexpected end of JSON",
		`{"levels": []}`:               "neither cost_curve nor model_stats",
		`{"model_stats":[{"name":"m","batch_stats":[{"batch_size":-1}]}]}`: "invalid syntax",
	} {
		_, err := ReadCurvePoints(strings.NewReader(text), "")
		require.ErrorContains(t, err, want, text)
	}
}

func TestNewErrors(t *testing.T) {
	t.Parallel()
	_, err := NewCurve(nil)
	require.ErrorContains(t, err, "at least one batch size")
	for _, p := range []CurvePoint{{Batch: 0, Time: ms}, {Batch: 1}, {Batch: 1, Time: -1}, {Batch: 1, Instances: -1, Time: ms}, {Batch: 1 << 30, Time: ms}, {Batch: 1, Time: 25 * time.Hour}} {
		_, err := NewCurve([]CurvePoint{p})
		require.ErrorContains(t, err, "batches have 1 to", p)
	}
}

// write writes a curve in the JSON form that ReadCurvePoints documents.
func write(w io.Writer, model string, c *Curve) error {
	f := curveFile{Model: model}
	for _, p := range c.Points() {
		f.Curve = append(f.Curve, curveRecord{p.Batch, float64(p.Time) / float64(time.Microsecond), p.Instances, p.Executions})
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(f)
}

func TestWriteAndRead(t *testing.T) {
	t.Parallel()
	c := curve(t, CurvePoint{Batch: 1, Time: 2 * ms}, CurvePoint{Batch: 8, Time: 4 * ms, Instances: 2, Executions: 5})
	var b bytes.Buffer
	require.NoError(t, write(&b, "m", c))
	points, err := ReadCurvePoints(&b, "")
	require.NoError(t, err)
	require.Equal(t, c, curve(t, points...))
}

func FuzzRead(f *testing.F) {
	f.Add("batch,time_us\n1,2000\n")
	f.Add(stats)
	f.Add(`{"cost_curve": [{"batch": 1, "time_us": 2000}]}`)
	f.Fuzz(func(t *testing.T, text string) {
		points, err := ReadCurvePoints(strings.NewReader(text), "")
		if err != nil {
			return
		}
		c, err := NewCurve(points)
		if err != nil {
			return
		}
		for _, rows := range []int{1, 3, 1000} {
			if c.Time(rows, 2) <= 0 {
				t.Fatalf("%d rows take %v", rows, c.Time(rows, 2))
			}
		}
	})
}
