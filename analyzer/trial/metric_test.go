package trial

import (
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestFind(t *testing.T) {
	for tag, want := range map[Metric]string{
		Throughput:                "Throughput (infer/sec)",
		"perf_latency":            "p99 Latency (ms)",
		"cpu_free_ram":            "RAM Available (MB)",
		"time_to_first_token_p50": "p50 Time To First Token (ms)",
	} {
		s, err := FindMetric(tag)
		require.NoError(t, err)
		assert.Equal(t, want, s.Header)
	}
	_, err := FindMetric("throughput")
	assert.EqualError(t, err, `"throughput" is not a metric`)
}
