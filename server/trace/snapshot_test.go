package trace

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/status"
)

// show is the values of level, rate, count and frequency.
func show(tr *Tracer, model string) string {
	var all []string
	for _, f := range tr.Settings(model) {
		switch f.Name {
		case LevelName, rateName, countName, frequencyName:
			all = append(all, strings.Join(f.Values, ","))
		}
	}
	return strings.Join(all, " ")
}

// TestSettings repeats requests to Triton 2.51 and compares with its answers.
func TestSettings(t *testing.T) {
	t.Parallel()
	tr, _ := open(t, "triton,file=%f")
	const invalid = "Attempting to set invalid trace setting :"
	for _, c := range []struct{ model, set, want, err string }{
		{"", "", "OFF 1000 -1 0", ""},
		{"", "trace_file=none", "OFF 1000 -1 0", "trace file location can not be updated through network protocol"},
		{"", "trace_level=OFF,TENSORS", "OFF 1000 -1 0", "Expect only one trace level 'OFF' is specified"},
		{"", "trace_level=OFF,OFF", "OFF 1000 -1 0", "Expect only one trace level 'OFF' is specified"},
		{"", "trace_level=FOO", "OFF 1000 -1 0", ""},
		{"", "trace_rate=x", "OFF 1000 -1 0", "Unable to parse 'trace_rate', got: x"},
		{"", "trace_rate=", "OFF 1000 -1 0", "Unable to parse 'trace_rate', got: "},
		{"", "trace_rate=1,2", "OFF 1000 -1 0", "expect only 1 value for 'trace_rate'"},
		{"", "trace_rate=-1", "OFF 4294967295 -1 0", ""},
		{"", "trace_rate=3000000000", "OFF 4294967295 -1 0", "Unable to parse 'trace_rate', value is out of range [ 0, 4294967295 ], got: 3000000000"},
		{"", "trace_rate=0", "OFF 0 -1 0", ""},
		{"", "trace_count=-2", "OFF 0 -1 0", "Unable to parse 'trace_count'. Expecting value >= -1, got: -2"},
		{"", "trace_count=x", "OFF 0 -1 0", "Unable to parse 'trace_count', got: x"},
		{"", "trace_count=3000000000", "OFF 0 -1 0", "Unable to parse 'trace_count', value is out of range [ -1, 2147483647 ], got: 3000000000"},
		{"", "trace_count=5", "OFF 0 5 0", ""},
		{"", "log_frequency=x", "OFF 0 5 0", "Unable to parse 'log_frequency', got: x"},
		{"", "log_frequency=3000000000", "OFF 0 5 0", "Unable to parse 'log_frequency', value is out of range [ 0, 4294967295 ], got: 3000000000"},
		{"", "log_frequency=-1", "OFF 0 5 4294967295", ""},
		{"", "trace_level=TENSORS,TIMESTAMPS", "OFF 0 5 4294967295", invalid + "sample rate must be non-zero"},
		{"", "trace_rate=5", "OFF 5 5 4294967295", ""},
		{"", "trace_level=TIMESTAMPS", "TIMESTAMPS 5 5 4294967295", ""},
		{"", "trace_count=0", "TIMESTAMPS 5 5 4294967295", invalid},
		{"", "trace_rate=0", "TIMESTAMPS 5 5 4294967295", invalid + "sample rate must be non-zero"},
		{"", "trace_rate=none trace_count=none trace_level=none log_frequency=none", "OFF 1000 -1 0", ""},
		{"m", "", "OFF 1000 -1 0", ""},
		{"m", "trace_rate=3", "OFF 3 -1 0", ""},
		{"m", "trace_count=0 trace_level=TIMESTAMPS", "OFF 3 -1 0", invalid},
		{"m", "trace_level=TIMESTAMPS", "TIMESTAMPS 3 -1 0", ""},
		{"", "", "OFF 1000 -1 0", ""},
		{"", "trace_rate=11 log_frequency=4", "OFF 11 -1 4", ""},
		{"m", "", "TIMESTAMPS 3 -1 4", ""},
		{"m", "trace_rate=none", "TIMESTAMPS 11 -1 4", ""},
		{"m", "trace_level=none", "OFF 11 -1 4", ""},
		{"m", "trace_level=TENSORS,TIMESTAMPS", "TIMESTAMPS,TENSORS 11 -1 4", ""},
	} {
		err := change(t, tr, c.model, strings.Fields(c.set)...)
		if c.err == "" {
			require.NoError(t, err, c)
		} else {
			require.EqualError(t, err, c.err)
			require.Contains(t, []status.Code{status.InvalidArg, status.Unsupported}, status.CodeOf(err))
		}
		require.Equal(t, c.want, show(tr, c.model), c)
	}
	require.Len(t, tr.samplers, 2, "replaced settings are forgotten")
}

func TestNoFile(t *testing.T) {
	t.Parallel()
	tr, _ := open(t)
	require.EqualError(t, change(t, tr, "", "trace_level=TIMESTAMPS"), "Attempting to set invalid trace setting :trace file name is not given")
	require.Nil(t, tr.active.Load())
}

// A change that would leave a model with settings that do not work is refused
// as a whole; Triton changes some of them.
func TestChangeIsWhole(t *testing.T) {
	t.Parallel()
	tr, _ := open(t, "triton,file=%f")
	require.NoError(t, change(t, tr, "m", "trace_rate=0"))
	require.EqualError(t, change(t, tr, "", "trace_level=TIMESTAMPS"), "Attempting to set invalid trace setting :sample rate must be non-zero")
	require.Equal(t, "OFF 1000 -1 0", show(tr, ""))
	require.NoError(t, change(t, tr, "m", "trace_rate=none"))
	require.NoError(t, change(t, tr, "", "trace_level=TIMESTAMPS"))
	require.Equal(t, "TIMESTAMPS 1000 -1 0", show(tr, "m"))
}

func TestOneTextIsTerse(t *testing.T) {
	t.Parallel()
	c := Change{Terse: true}
	require.EqualError(t, c.Set(countName, []string{"-2"}), "Unable to parse 'trace_count'. Expecting value >= -1, got:-2")
}

func TestListedSettings(t *testing.T) {
	t.Parallel()
	tr, file := open(t, "triton,file=%f", "triton,log-frequency=3", "triton,foo=bar", "foo=1", "opentelemetry,url=x")
	require.Equal(t, []Field{
		{LevelName, []string{"OFF"}},
		{rateName, []string{"1000"}},
		{countName, []string{"-1"}},
		{frequencyName, []string{"3"}},
		{FileName, []string{file}},
		{"trace_mode", []string{"triton"}},
		{"foo", []string{"bar"}},
	}, tr.Settings(""))

	// As from Triton, but that the order of the last two varies there.
	tr, _ = open(t, "mode=opentelemetry", "opentelemetry,url=localhost:1/v1/traces", "opentelemetry,resource=a=b", "opentelemetry,resource=service.name=x",
		"rate=0", "opentelemetry,zzz=1", "level=TENSORS", "opentelemetry,bsp_schedule_delay=0100")
	require.Equal(t, []Field{
		{LevelName, []string{"TENSORS"}},
		{rateName, []string{"0"}},
		{countName, []string{"-1"}},
		{"trace_mode", []string{"opentelemetry"}},
		{"url", []string{"localhost:1/v1/traces"}},
		{"resource", []string{"a=b"}},
		{"resource", []string{"service.name=x"}},
		{"zzz", []string{"1"}},
		{"bsp_schedule_delay", []string{"100"}},
		{"bsp_max_queue_size", []string{"2048"}},
		{"bsp_max_export_batch_size", []string{"512"}},
	}, tr.Settings(""))
	require.EqualError(t, tr.Update("", Change{}), "Attempting to set invalid trace setting :sample rate must be non-zero")
}
