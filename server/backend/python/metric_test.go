package python

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/tensor"
	"triton/server/backend"
)

const measuring = `
M = pb_utils
class TritonPythonModel:
    def initialize(self, args):
        self.kept = {}
        self.family = pb_utils.MetricFamily("inits", "how often", pb_utils.MetricFamily.COUNTER)
        self.inits = self.family.Metric({"model": args["model_name"]})
        self.inits.increment(1)
    def execute(self, requests):
        r = requests[0]
        return [pb_utils.InferenceResponse([pb_utils.Tensor("OUT", np.array([str(eval(r.request_id(), globals(), {"self": self, "r": r, "k": self.kept}))], dtype=object))])]
    def drop(self, *names):
        for name in names: del self.kept[name]
`

// series returns the series of a registry, one in a line.
func series(r *backend.Metrics) string {
	var lines []string
	for _, f := range r.Gather() {
		for _, m := range f.GetMetric() {
			lines = append(lines, strings.ReplaceAll(f.GetName()+" "+m.String(), "  ", " "))
		}
	}
	return strings.Join(lines, "\n")
}

// The texts are NVIDIA's, recorded from its server.
func TestMetrics(t *testing.T) {
	t.Parallel()
	h := newHarness(t, measuring)
	h.spec.Metrics = backend.NewMetrics(nil)
	require.NoError(t, h.load())
	require.Len(t, h.spec.Metrics.Gather(), 1)
	fails := func(prefix, cause string) string {
		return prefix + ": Failed to process the request for model 'm_0', message: " + cause
	}
	const deleted = "Invalid metric operation as the corresponding 'MetricFamily' has been deleted. The 'MetricFamily' object should be deleted AFTER its corresponding 'Metric' objects have been deleted."
	for _, c := range [][2]string{
		{"self.inits.value()", "1.0"},
		{"k.update(c=M.MetricFamily('c', 'help me', M.MetricFamily.COUNTER), g=M.MetricFamily(name='g', description='', kind=M.MetricFamily.GAUGE), h=M.MetricFamily('h', '', M.MetricFamily.HISTOGRAM))", "None"},
		{"k.update(cm=k['c'].Metric(labels={'a': '1'}), gm=k['g'].Metric(), hm=k['h'].Metric({}, [0.1, 1, 10]))", "None"},
		{"k['cm'].increment(2), k['cm'].value(), k['c'].Metric({'a': '1'}).value(), k['c'].Metric().value()", "(None, 2.0, 2.0, 0.0)"},
		{"k['cm'].increment(-2)", fails("!Failed to increment metric value", "TRITONSERVER_METRIC_KIND_COUNTER can only be incremented monotonically by non-negative values.")},
		{"k['cm'].set(2)", fails("!Failed to set metric value", "TRITONSERVER_METRIC_KIND_COUNTER does not support Set")},
		{"k['cm'].observe(2)", fails("!Failed to observe metric value", "TRITONSERVER_METRIC_KIND_COUNTER does not support Observe")},
		{"k['gm'].set(5), k['gm'].increment(-7.5), k['gm'].value()", "(None, None, -2.5)"},
		{"k['hm'].observe(0.5), k['hm'].observe(50)", "(None, None)"},
		{"k['hm'].value()", fails("!Failed to get metric value", "TRITONSERVER_METRIC_KIND_HISTOGRAM does not support Value")},
		{"k['hm'].increment(1)", fails("!Failed to increment metric value", "TRITONSERVER_METRIC_KIND_HISTOGRAM does not support Increment")},
		{"k['c'].Metric(5)", "!Failed to create metric. Labels must be a dictionary."},
		{"k['c'].Metric({'a': 1})", fails("!Error when creating Metric", "attempt to access JSON non-string as string")},
		{"k['c'].Metric({}, [1])", "!Failed to create metric. Unexpected buckets found."},
		{"k['c'].Metric({}, 5)", "!Failed to create metric. Buckets must be a list."},
		{"k['h'].Metric({})", "!Failed to create metric. Missing required buckets."},
		{"k['h'].Metric({'x': 'z'}, [10, 1])", fails("!Error when creating Metric", "Bucket Boundaries must be strictly sorted")},
		{"M.MetricFamily('c', '', M.MetricFamily.GAUGE)", fails("!Error when creating MetricFamily", "Family name already exists with different type")},
		{"M.MetricFamily('bad name', '', M.MetricFamily.GAUGE)", fails("!Error when creating MetricFamily", "Invalid metric name")},
		{"str(M.MetricFamily.COUNTER), repr(M.MetricFamily.HISTOGRAM)", "('MetricKind.COUNTER', '<MetricKind.HISTOGRAM: 2>')"},
		{"k.update(f=M.MetricFamily('f', '', M.MetricFamily.COUNTER))", "None"},
		{"k.update(fm=k['f'].Metric())", "None"},
		{"self.drop('f')", "None"},
		{"k['fm'].value()", "!Failed to get metric value: " + deleted},
		{"k['fm'].increment(1)", "!Failed to increment metric value: " + deleted},
		{"self.drop('fm')", "None"},
	} {
		if text, fails := strings.CutPrefix(c[1], "!"); fails {
			r := h.request(tensor.FP32, tensor.Shape{1}, floats(1))
			r.ID = c[0]
			_, err := h.run(r)
			require.ErrorContains(t, err, "message: TritonModelException: "+text, c[0])
			continue
		}
		require.Equal(t, c[1], h.eval(c[0]), c[0])
	}
	want := `c label:{name:"a" value:"1"} counter:{value:2}
g gauge:{value:-2.5}
h histogram:{sample_count:2 sample_sum:50.5 bucket:{cumulative_count:0 upper_bound:0.1} bucket:{cumulative_count:1 upper_bound:1} bucket:{cumulative_count:1 upper_bound:10}}
inits label:{name:"model" value:"m"} counter:{value:1}`
	require.Eventually(t, func() bool { return series(h.spec.Metrics) == want }, waitFor, tick, "deleted metrics are released after the response")
}

// The metrics of a child that dies stay for its successor; those of a model that is
// closed end.
func TestMetricsOutliveAChild(t *testing.T) {
	t.Parallel()
	h := newHarness(t, measuring)
	h.spec.Metrics = backend.NewMetrics(nil)
	m, err := h.backend.Load(t.Context(), h.spec)
	require.NoError(t, err)
	for want := 1; want <= 3; want++ {
		in, err := m.NewInstance(t.Context(), backend.Placement{Name: "m_0"})
		require.NoError(t, err)
		h.instance = in
		require.Equal(t, string(rune('0'+want))+".0", h.eval("self.inits.value()"))
		if want < 3 {
			in.(*instance).child.process.Kill()
		}
		require.NoError(t, in.Close())
	}
	require.Equal(t, 1, m.(*model).orphans.Len(), "not one for each child that died")
	require.NoError(t, m.Close())
	require.Empty(t, h.spec.Metrics.Gather())
}
