package fleetstate_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/fleetstate"
)

func TestParse(t *testing.T) {
	t.Parallel()
	const want = `{"generation":7,"prune":false,"models":{"a":{},"b":{"versions":[1,3],"revision":"x"},"c":{"config":{"backend":"identity"}},"d":{"versions":"latest:2"},"e":{"versions":"all"}},"required":["a","b:3"],"log":{"log_verbose_level":1}}`
	d, warnings, err := fleetstate.Parse([]byte(want))
	require.NoError(t, err)
	require.Empty(t, warnings)
	require.False(t, d.Pruned())
	require.Equal(t, []string{"a", "b", "c", "d", "e"}, d.Names())
	text, err := json.Marshal(d)
	require.NoError(t, err)
	require.JSONEq(t, want, string(text))

	same, _, err := fleetstate.Parse([]byte(`
# the models of the fleet
generation: 7
prune: false
models:
  a: {}
  b: {versions: [3, 1, 3], revision: x}
  c:
    config: {backend: identity}
  d: {versions: "latest:2"}
  e: {versions: all}
required: [a, "b:3"]
log: {log_verbose_level: 1}
`))
	require.NoError(t, err)
	require.Equal(t, d, same)

	d, warnings, err = fleetstate.Parse([]byte(`{"models":{"a":{"version":1,"config":null,"traffic":null}},"prun":true}`))
	require.NoError(t, err)
	require.True(t, d.Pruned())
	require.Equal(t, fleetstate.Model{}, d.Models["a"])
	require.Equal(t, []string{
		`model 'a': the field "version" of the state is not known and has no effect`, `the field "prun" of the state is not known and has no effect`,
	}, warnings)
}

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                                  "the state is empty",
		" \n":                               "the state is empty",
		"{}":                                `the state has no "models"`,
		`{"models":null}`:                   `the state has no "models"`,
		`{"models":{`:                       "unexpected end of JSON input",
		`{"models":{}} {}`:                  "invalid character",
		`[1]`:                               "the state is no object",
		`models: [`:                         "the state cannot be read",
		"- a":                               "the state is no object",
		`{"models":{"":{}}}`:                "a model without a name",
		`{"models":{"a":{"config":[1]}}}`:   "model 'a': config is no object",
		`{"models":{"a":{"versions":[]}}}`:  "use a list such as",
		`{"models":{"a":{"versions":[0]}}}`: "versions are positive",
		`{"models":{"a":{"versions":"latest:0"}}}`:           "use a list such as",
		`{"models":{"a":{"versions":[1],"config":{"x":1}}}}`: "exclude each other",
		"models: {a: {config: .nan}}":                        "JSON does not have",
	} {
		_, _, err := fleetstate.Parse([]byte(text))
		require.ErrorContains(t, err, want, text)
	}
}

func TestEdit(t *testing.T) {
	t.Parallel()
	e, err := fleetstate.NewEdit([]byte(`{"owner":"team","models":{"a":{"note":"x","versions":[1]},"b":{}},"generation":3}`))
	require.NoError(t, err)
	config := ` {"backend": "identity"} `
	require.NoError(t, e.Load("a", &config))
	require.NoError(t, e.Load("c", nil))
	e.Unload("b")
	text, err := e.Text()
	require.NoError(t, err)
	require.JSONEq(t, `{"owner":"team","models":{"a":{"note":"x","config":{"backend":"identity"}},"c":{}},"generation":4}`, string(text))
	broken := "{"
	require.ErrorContains(t, e.Load("a", &broken), "model 'a'")
	for _, text := range []string{"models: {}", "{", `{"models":[]}`, `{"models":null}`} {
		_, err := fleetstate.NewEdit([]byte(text))
		require.Error(t, err, text)
	}
	e, err = fleetstate.NewEdit([]byte(`{"generation":"x"}`))
	require.NoError(t, err)
	_, err = e.Text()
	require.ErrorContains(t, err, "no number")
}

// FuzzParse: what is parsed can be written and parsed again, and edits keep it readable.
func FuzzParse(f *testing.F) {
	for _, seed := range []string{
		`{"models":{"a":{"versions":[1,2]},"b":{"config":{"backend":"x"}}},"generation":1}`, "models:\n  a: {versions: all}\n",
		`{"models":{"a":{"traffic":{"rules":[]},"trace":{"trace_rate":"1"}}},"log":{"log_info":false}}`, "{", "a: &a [*a]",
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		d, _, err := fleetstate.Parse(data)
		if err != nil {
			return
		}
		text, err := json.Marshal(d)
		require.NoError(t, err)
		again, _, err := fleetstate.Parse(text)
		require.NoError(t, err)
		require.Equal(t, d.Names(), again.Names())
		e, err := fleetstate.NewEdit(text)
		require.NoError(t, err)
		require.NoError(t, e.Load("new", nil))
		text, err = e.Text()
		require.NoError(t, err)
		again, _, err = fleetstate.Parse(text)
		require.NoError(t, err)
		require.Contains(t, again.Models, "new")
	})
}
