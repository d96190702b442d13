package trace

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// The texts are those of Triton 2.51 to the same arguments.
func TestBadOptions(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ arg, want string }{
		{"foo", "--trace-config\".\n--trace-config option format is '<trace mode>,<setting>=<value>'. Got foo"},
		{"=1", "--trace-config\".\n--trace-config option format is '<trace mode>,<setting>=<value>'. Got =1"},
		{"rate=", "--trace-config\".\n--trace-config option format is '<trace mode>,<setting>=<value>'. Got rate="},
		{"triton,=1", "--trace-config\".\n--trace-config option format is '<trace mode>,<setting>=<value>'. Got triton,=1"},
		{"triton,file", "--trace-config\".\n--trace-config option format is '<trace mode>,<setting>=<value>'. Got triton,file"},
		{
			",a=b",
			"--trace-config\".\nNo trace mode specified. --trace-config option format is <trace mode>,<setting>=<value> or <setting>=<value>. Got ,a=b",
		},
		{"XX,a=1", "--trace-config\".\ninvalid value for trace mode option: xx. Available options are \"triton\" and \"opentelemetry\""},
		{"a=b,c=d", "--trace-config\".\ninvalid value for trace mode option: a=b. Available options are \"triton\" and \"opentelemetry\""},
		{"mode=X", "--trace-config mode\".\ninvalid value for trace mode option: x. Available options are \"triton\" and \"opentelemetry\""},
		{"level=Foo", "--trace-config level\".\ninvalid value for trace level option: foo: use one of OFF, TIMESTAMPS, TENSORS"},
		{"rate=x", "--trace-config rate\".\nInvalid option value. Got x"},
		{"rate=5000000000", "--trace-config rate\".\nProvided option value is out of bound. Got 5000000000"},
		{"count=x", "--trace-config count\".\nInvalid option value. Got x"},
		{"count=99999999999999999999", "--trace-config count\".\nProvided option value is out of bound. Got 99999999999999999999"},
		{"triton,log-frequency=x", "--trace-config triton,log-frequency\".\nInvalid option value. Got x"},
		// Triton takes these three; they mean nothing there.
		{"rate=1x", "--trace-config rate\".\nInvalid option value. Got 1x"},
		{"rate=-1", "--trace-config rate\".\nProvided option value is out of bound. Got -1"},
		{"count=-2", "--trace-config count\".\nProvided option value is out of bound. Got -2"},
	} {
		t.Run(c.arg, func(t *testing.T) {
			t.Parallel()
			config, err := ParseConfig([]string{c.arg})
			if err == nil {
				err = Options{Config: config}.Validate()
			}
			require.EqualError(t, err, "Bad option: \""+c.want)
		})
	}
}

func TestBadEnvironment(t *testing.T) {
	t.Parallel()
	env := func(name string) string { return map[string]string{"OTEL_BSP_SCHEDULE_DELAY": "x"}[name] }
	o := Options{Env: env, Config: map[string][]Setting{Global: {{"mode", "OpenTelemetry"}}}}
	require.EqualError(t, o.Validate(), "Bad option: \"OTEL_BSP_SCHEDULE_DELAY\".\nInvalid option value. Got x")
	o.Config[OpenTelemetry] = []Setting{{"bsp_schedule_delay", "7"}}
	require.NoError(t, o.Validate(), "the command line beats the environment")
	o.Config[OpenTelemetry] = []Setting{{"bsp_schedule_delay", "y"}}
	require.EqualError(t, o.Validate(), "Bad option: \"--trace-config opentelemetry,bsp_schedule_delay\".\nInvalid option value. Got y")
}

func TestConfigScopes(t *testing.T) {
	t.Parallel()
	config, err := ParseConfig([]string{"rate=1", "Triton,file=a=b,c", "level=TENSORS", "OPENTELEMETRY,resource=k=v", "level=on", "new=1", "level=off"})
	require.NoError(t, err)
	require.Equal(t, map[string][]Setting{
		Global:        {{"rate", "1"}, {"level", "TENSORS"}, {"level", "on"}, {"new", "1"}, {"level", "off"}},
		Triton:        {{"file", "a=b,c"}},
		OpenTelemetry: {{"resource", "k=v"}},
	}, config)
	s, err := Options{Config: config}.parse()
	require.NoError(t, err)
	require.Equal(t, timestamps|tensors, s.level, "off does not cancel")
	require.Equal(t, "a=b,c", s.file)
}
