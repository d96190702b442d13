package builtin_test

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/server/backend"
)

func TestWhatSequenceEnginesRefuse(t *testing.T) {
	t.Parallel()
	const (
		one  = "custom_sequence_int32"
		dyna = "custom_dyna_sequence_int32"
		pair = "distributed_int32_int32_int32"
	)
	type config = *inferencepb.ModelConfig
	for _, c := range []struct {
		config string
		change func(config)
		want   string
	}{
		{one, func(c config) { c.SchedulingChoice = nil }, "'START' and 'READY' must be configured as the control inputs"},
		{one, func(c config) { c.GetSequenceBatching().ControlInput[1].Name = "END" }, "'START' and 'READY' must be configured as the control inputs"},
		{one, func(c config) { c.Input = nil }, "model must have input 'INPUT' with vector shape, any length"},
		{one, func(c config) { c.Input[0].Dims = dims{1, 1} }, "model must have one input 'INPUT' with vector shape, any length"},
		{one, func(c config) { c.Input[0].DataType = fp32s }, "model input must have TYPE_INT32 data-type"},
		{one, func(c config) { c.Input[0].Name = "IN" }, "model input must be named 'INPUT'"},
		{one, func(c config) { c.Output = nil }, "model must have one output 'OUTPUT' with vector shape, any length"},
		{one, func(c config) { c.Output[0].Dims = dims{4} }, "model must have output 'OUTPUT' with shape matching 'INPUT'"},
		{one, func(c config) { c.Output[0].DataType = fp32s }, "model output must have TYPE_INT32 data-type"},
		{one, func(c config) { c.Output[0].Name = "OUT" }, "model output must be named 'OUTPUT'"},
		{one, func(c config) { c.Parameters["execute_delay_ms"].StringValue = "soon" }, "parameter 'execute_delay_ms' must be a number that is not negative, got 'soon'"},
		{dyna, func(c config) { c.Parameters["execute_delay_ms"].StringValue = "-1" }, "parameter 'execute_delay_ms' must be a number that is not negative, got '-1'"},
		{dyna, func(c config) { c.GetSequenceBatching().ControlInput = nil }, "'START', 'END, 'READY' and 'CORRID' must be configured as the control inputs"},
		{dyna, func(c config) { c.GetSequenceBatching().ControlInput[3].Name = "ID" }, "'START', 'END, 'READY' and 'CORRID' must be configured as the control inputs"},
		{dyna, func(c config) { c.GetSequenceBatching().ControlInput[3].Control[0].DataType = int32s }, "model CORRID control input must have TYPE_UINT64 or TYPE_STRING data-type"},
		{dyna, func(c config) { c.Input[0].Name = "IN" }, "model input must be named 'INPUT'"},
		{"no_state_update", func(c config) { c.SchedulingChoice = nil }, "'START', 'END, and 'READY' must be configured as the control inputs"},
		{pair, func(c config) { c.Input = c.Input[:1] }, "model must have two inputs"},
		{pair, func(c config) { c.Output = nil }, "model must have two outputs"},
		{pair, func(c config) { c.Input[0].Dims = dims{1, 1} }, "model must have input of one-dimensional shape"},
		{pair, func(c config) { c.Input[1].Dims = dims{4} }, "model must have consistent shape for all tensors"},
		{pair, func(c config) { c.Output[0].Dims = dims{4} }, "model must have consistent shape for all tensors"},
		{pair, func(c config) { c.Input[1].DataType = fp32s }, "model input must have TYPE_INT32 data-type"},
		{pair, func(c config) { c.Output[1].DataType = fp32s }, "model output must have TYPE_INT32 data-type"},
		{pair, func(c config) { c.Input[1].Name = "IN" }, "model input must be named 'INPUT1' at index 1"},
		{pair, func(c config) { c.Output[0].Name = "OUT" }, "model output must be named 'OUTPUT0' at index 0"},
	} {
		cfg := configOf(t, c.config)
		c.change(cfg)
		_, err := backends[cfg.GetBackend()].Load(t.Context(), spec(cfg, nil))
		require.EqualError(t, err, c.want)
		require.Equal(t, status.InvalidArg, status.CodeOf(err))
	}
}

func TestSequenceEnginesRunOnTheCPU(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"custom_sequence_int32", "custom_dyna_sequence_int32", "iterative_sequence"} {
		cfg := configOf(t, name)
		m, err := backends[cfg.GetBackend()].Load(t.Context(), spec(cfg, nil))
		require.NoError(t, err)
		_, err = m.NewInstance(t.Context(), backend.Placement{Kind: inferencepb.ModelInstanceGroup_KIND_GPU})
		require.EqualError(t, err, "'"+cfg.GetBackend()+"' backend only supports CPU instances")
	}
}

// A step without callers is done all the same: the next one
// counts on it.
func TestSequenceEnginesTakeTheirTime(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"custom_sequence_int32", "custom_dyna_sequence_int32"} {
		synctest.Test(t, func(t *testing.T) {
			b := open(t, configOf(t, name))
			gone := b.step(1, "SR", 5)
			gone.Cancel()
			begin := time.Now()
			b.run(gone)
			out, _ := b.run(b.step(1, "R", 1))
			require.Equal(t, 6*time.Millisecond, time.Since(begin))
			require.Equal(t, [][]int32{{6}}, out)
		})
	}
}
