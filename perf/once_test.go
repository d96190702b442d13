package perf_test

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/perf"
	"triton/perf/data"
	"triton/pkg/tensor"
)

func TestModesThatSendOnce(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(*perf.Config)
		want   string
	}{
		"no streams":   {func(c *perf.Config) { c.Mode = perf.Periodic }, "perf: groups of requests have a rising range, at least one request and one response, and streams"},
		"no responses": {func(c *perf.Config) { c.Mode, c.Streaming, c.Period = perf.Periodic, true, 0 }, "perf: groups of requests have a rising range"},
		"falling":      {func(c *perf.Config) { c.Mode, c.Streaming, c.Range.Start = perf.Periodic, true, 2 }, "perf: groups of requests have a rising range"},
		"warm-up":      {func(c *perf.Config) { c.Mode, c.WarmupCount = perf.Sessions, 1 }, "perf: requests that are sent once start with at least one, have batch size 1 and no warm-up"},
		"batches":      {func(c *perf.Config) { c.Mode, c.Batches = perf.Sessions, []int{1, 2} }, "perf: requests that are sent once"},
		"no sessions":  {func(c *perf.Config) { c.Mode, c.Range.Start = perf.Sessions, 0 }, "perf: requests that are sent once"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := perf.DefaultConfig("m")
			c.change(&config)
			_, err := perf.Run(t.Context(), config, perf.Deps{})
			require.ErrorContains(t, err, c.want)
		})
	}
}

// describer is a target without conversations and without a server that describes itself.
type describer struct {
	plain
	err error
}

// plain is the part of a fake that every target has.
type plain struct{ perf.Target }

func (describer) Close() error { return nil }

func (d describer) Describe(_ context.Context, model, _ string, batching bool) (*perf.Description, error) {
	if d.err != nil {
		return nil, d.err
	}
	in := []data.Tensor{{Name: model, DataType: tensor.Int8, Shape: tensor.Shape{1}}}
	if batching {
		return &perf.Description{Inputs: in, MaxBatch: 2}, nil
	}
	return &perf.Description{Inputs: in}, nil
}

func TestDescribers(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "in.json")
	require.NoError(t, os.WriteFile(file, []byte(`{"data":[{"m":[1],"session_id":["a"]}]}`), 0o600))
	for name, c := range map[string]struct {
		err    error
		change func(*perf.Config)
		want   string
	}{
		"no model":    {errors.New("no such signature"), func(*perf.Config) {}, "failed to create model parser: no such signature"},
		"batch":       {nil, func(c *perf.Config) { c.Batches, c.Batching = []int{4}, true }, "batch size 4 is larger than max_batch_size 2 of model m"},
		"no batching": {nil, func(c *perf.Config) { c.Batches = []int{2} }, "can not specify batch size > 1 as the model does not support batching"},
		"traces":      {nil, func(c *perf.Config) { c.Trace = map[string][]string{"trace_level": {"OFF"}} }, "only Triton has trace settings"},
		"sessions": {nil, func(c *perf.Config) {
			c.Mode, c.Data.Source, c.Data.Paths = perf.Sessions, data.Files, []string{file}
		}, "Session concurrency mode is only supported with OpenAI service kind."},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			config := perf.DefaultConfig("m")
			c.change(&config)
			_, err := perf.Run(t.Context(), config, perf.Deps{Dial: func(context.Context) (perf.Target, error) {
				return describer{plain{newFake(0)}, c.err}, nil
			}})
			require.ErrorContains(t, err, c.want)
		})
	}
}
