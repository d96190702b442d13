package readiness_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server/readiness"
)

func TestParse(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]readiness.Policy{
		"strict":             {Mode: readiness.Strict},
		"any":                {Mode: readiness.Any},
		"required:a":         {Mode: readiness.Required, Models: []readiness.Need{{Name: "a"}}},
		"required:a,b:2,a:b": {Mode: readiness.Required, Models: []readiness.Need{{Name: "a"}, {Name: "b", Version: "2"}, {Name: "a:b"}}},
	} {
		p, err := readiness.Parse(text)
		require.NoError(t, err, text)
		require.Equal(t, want, p)
		require.Equal(t, text, p.String())
	}
	p, err := readiness.Parse("required: a , a")
	require.NoError(t, err)
	require.Equal(t, "required:a", p.String())
	for _, text := range []string{"", "all", "required", "required:", "required:a,,b", "required::1", "Strict"} {
		_, err := readiness.Parse(text)
		require.Error(t, err, text)
	}
	require.Equal(t, "strict-readiness=true", readiness.Policy{}.String())
	require.Equal(t, "strict-readiness=false", readiness.Policy{Mode: readiness.Live}.String())
}

// The conditions of a model that tests combine.
func version(name, number, state, reason string) readiness.Version {
	return readiness.Version{
		Name: name, Version: number, State: state, Ready: state == "READY" && reason == "", Reason: reason,
		Desired: reason != "unloaded" && state != "UNLOADING", Unloaded: reason == "unloaded",
	}
}

func TestReasons(t *testing.T) {
	t.Parallel()
	var (
		serving   = version("a", "1", "READY", "")
		loading2  = version("a", "2", "LOADING", "")
		failed2   = version("a", "2", "UNAVAILABLE", "no such file")
		broken    = version("a", "1", "READY", "instance 0: crashed")
		unloaded  = version("b", "1", "UNAVAILABLE", "unloaded")
		unloading = version("b", "1", "UNLOADING", "")
		failed    = version("c", "1", "UNAVAILABLE", "no such file")
		refused   = readiness.Version{Name: "d", State: "UNAVAILABLE", Desired: true, Refused: true, Reason: "bad field"}
	)
	const none = ""
	for name, c := range map[string]struct {
		models                                      []readiness.Version
		triton, strict, anyOf, requiredA, requiredB string
	}{
		"nothing":    {nil, none, none, "no model is ready", "required model 'a' is not loaded", "required model 'b:1' is not loaded"},
		"one serves": {[]readiness.Version{serving}, none, none, none, none, "required model 'b:1' is not loaded"},
		"unloaded by hand": {
			[]readiness.Version{serving, unloaded},
			none, none, none, none, "required: model 'b' version 1 is UNAVAILABLE: unloaded",
		},
		"unloading by hand, with requests in flight": {
			[]readiness.Version{serving, unloading},
			"model 'b' version 1 is UNLOADING", none, none, none, "required: model 'b' version 1 is UNLOADING",
		},
		"a new version loads": {
			[]readiness.Version{serving, loading2}, "model 'a' version 2 is LOADING", none, none, none, "required model 'b:1' is not loaded",
		},
		"a new version failed": {
			[]readiness.Version{serving, failed2}, "model 'a' version 2 is UNAVAILABLE: no such file", none, none, none, "required model 'b:1' is not loaded",
		},
		"instances are broken": {
			[]readiness.Version{broken},
			"model 'a' version 1 does not work: instance 0: crashed", "model 'a' version 1 does not work: instance 0: crashed",
			"no model is ready", "required: model 'a' version 1 does not work: instance 0: crashed", "required model 'b:1' is not loaded",
		},
		"another failed": {
			[]readiness.Version{serving, failed},
			"model 'c' version 1 is UNAVAILABLE: no such file", "model 'c' version 1 is UNAVAILABLE: no such file",
			none, none, "required model 'b:1' is not loaded",
		},
		"another was refused": {
			[]readiness.Version{serving, refused}, none, "model 'd' is UNAVAILABLE: bad field", none, none, "required model 'b:1' is not loaded",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for policy, want := range map[string]string{
				"strict": c.strict, "any": c.anyOf, "required:a": c.requiredA, "required:b:1": c.requiredB,
			} {
				p, err := readiness.Parse(policy)
				require.NoError(t, err)
				require.Equal(t, want, first(p.Reasons(c.models)), policy)
			}
			require.Equal(t, c.triton, first(readiness.Policy{}.Reasons(c.models)))
			require.Empty(t, readiness.Policy{Mode: readiness.Live}.Reasons(c.models))
		})
	}
}

func first(reasons []string) string {
	if len(reasons) == 0 {
		return ""
	}
	return reasons[0]
}
