package stats

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
)

func TestLoadRecorder(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		r := NewLoadRecorder()
		for range 2 {
			var times LoadTimes
			begin := time.Now()
			time.Sleep(1500 * time.Millisecond)
			times.Add(PhaseCreate, begin)
			times.Add(PhaseCreate, begin)
			times[PhaseWarmUp] = time.Second
			require.Equal(t, "create 3.000 s, warm up 1.000 s", times.String())
			r.Record("", "m", &times)
			r.Record("/r", "n", &LoadTimes{PhaseFetch: 250 * time.Millisecond})
		}
		registry := prometheus.NewPedanticRegistry()
		registry.MustRegister(r)
		families, err := registry.Gather()
		require.NoError(t, err)
		require.Len(t, families, 1)
		require.Equal(t, loadPhaseMetric, families[0].GetName())
		var lines []string
		for _, m := range families[0].GetMetric() {
			var labels []string
			for _, l := range m.GetLabel() {
				labels = append(labels, l.GetName()+"="+l.GetValue())
			}
			lines = append(lines, fmt.Sprintf("%s: %d, %g s", strings.Join(labels, " "), m.GetSummary().GetSampleCount(), m.GetSummary().GetSampleSum()))
		}
		slices.Sort(lines)
		require.Equal(t, []string{"model=m phase=create: 2, 6 s", "model=m phase=warm_up: 2, 2 s", "model=n namespace=/r phase=fetch: 2, 0.5 s"}, lines)
	})
}

// Any number of names does not take any amount of memory, and nil records nothing.
func TestLoadRecorderIsBounded(t *testing.T) {
	t.Parallel()
	r := NewLoadRecorder()
	for i := range maxRecorded + 10 {
		r.Record("", fmt.Sprint(i), &LoadTimes{PhaseList: 1})
	}
	require.Len(t, r.models, maxRecorded)
	(*LoadRecorder)(nil).Record("", "m", &LoadTimes{PhaseList: 1})
}
