package trafficrules

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestRead(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{}`: "",
		`{"weights":[{"version":"1","weight":90},{"model":"b","weight":0}],"sticky":{"header":"X-User"}}`:                                             "",
		`{"canary":{"version":"2","stable":{"version":"1"},"steps":[0.1,100]},"shadow":{"model":"b","percent":5,"tolerances":{"FP32":{"rtol":0.1}}}}`: "",
		`{"match":[{"header":"a","regex":"(","to":{}}]}`:                                                                                              "match[0].regex: error parsing regexp: missing closing ): `(`",
		`{"match":[{"header":"a","exact":"1","prefix":"1","to":{}}]}`:                                                                                 "match[0]: set only one of exact, prefix and regex",
		`{"match":[{"header":"a","parameter":"b","to":{}}]}`:                                                                                          "match[0]: set either header or parameter",
		`{"match":[{"header":"a b","to":{}}]}`:                                                                                                        "match[0].header: 'a b' is not the name of a header",
		`{"match":[{"header":"a","to":{"version":"02"}}]}`:                                                                                            "match[0].to.version: '02' is not the number of a version, such as \"2\"",
		`{"default":{"model":"../x"}}`:                                                                                                                "default.model: '../x' is not the name of a model",
		`{"default":{"version":2}}`:                                                                                                                   "default.version: expected a string, got a JSON number",
		`{"weights":[{"version":"1","weight":0}]}`:                                                                                                    "weights: all weights are 0",
		`{"weights":[{"version":"1","weight":1},{"model":"m","version":"1","weight":1}]}`:                                                             "weights[1]: it has the same target as weights[0]",
		`{"sticky":{"header":"a"}}`:                                                                                                                   "sticky: there are no weights and no canary to choose by",
		`{"weights":[{"weight":1}],"sticky":{"header":"a","correlation_id":true}}`:                                                                    "sticky: set one of header, parameter and correlation_id",
		`{"weights":[{"weight":1}],"canary":{"version":"2","stable":{"version":"1"}}}`:                                                                "weights: a canary sets the weights: remove weights or canary",
		`{"canary":{"version":"2","stable":{}, "steps":[5,5]}}`:                                                                                       "canary.steps[1]: steps grow from above 0 to at most 100, in percent",
		`{"canary":{"version":"2","stable":{}, "steps":[5,101]}}`:                                                                                     "canary.steps[1]: 101 is not from 0 to 100",
		`{"canary":{"version":"2","stable":{}, "max_p99_ratio":0.5}}`:                                                                                 "canary.max_p99_ratio: 0.5 is not from 1 to 1e+06",
		`{"shadow":{"percent":5}}`:                                                                                                                    "shadow: it is the newest version of the model itself: set a version or a model",
		`{"shadow":{"version":"1","percent":101}}`:                                                                                                    "shadow.percent: 101 is not from 0 to 100",
		`{"shadow":{"version":"1","percent":1,"tolerances":{"INT8":{}}}}`:                                                                             "shadow.tolerances.INT8: only FP64, FP32, FP16 and BF16 have a tolerance",
		`{"shadow":{"version":"1","percent":1,"diffs":-1}}`:                                                                                           "shadow.diffs: -1 is not from 0 to 1024",
		`{"default":{"version":"1"}} {}`:                                                                                                              "there is text after the end of the object",
		`null`:                                                                                                                                        "expected an object, got null",
		`{"default":`:                                                                                                                                 "not JSON: the text ends too early",
		`{"x":1}`:                                                                                                                                     "x: there is no such field",
		strings.Repeat(" ", MaxDocument+1):                                                                                                            "the document has 262145 bytes, more than 262144",
	} {
		r, err := Read("m", []byte(text))
		if want == "" {
			require.NoError(t, err, text)
			require.NotNil(t, r)
			continue
		}
		require.EqualError(t, err, want, text)
	}
}

func TestFallback(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{}`:                        "m",
		`{"default":{"model":"b"}}`: "b",
		`{"canary":{"version":"2","stable":{"version":"1"}}}`:               "m:1",
		`{"weights":[{"version":"1","weight":2},{"model":"b","weight":3}]}`: "b",
		`{"weights":[{"version":"3","weight":2},{"model":"b","weight":2}]}`: "m:3",
	} {
		r, err := Read("m", []byte(text))
		require.NoError(t, err)
		require.Equal(t, want, r.Fallback("m").String(), text)
	}
}

func TestCheckChain(t *testing.T) {
	t.Parallel()
	to := func(models ...string) *Rules {
		r := &Rules{}
		for _, m := range models {
			r.Weights = append(r.Weights, Weight{Target{Model: m}, 1})
		}
		return r
	}
	others := map[string]*Rules{"b": to("c", "x"), "c": to("d"), "d": to("e"), "e": to("f"), "self": to("self")}
	find := func(name string) *Rules { return others[name] }
	require.NoError(t, CheckChain("a", to("c", "x"), find))
	require.NoError(t, CheckChain("self", to("self"), find), "a name may be a target of itself")
	require.NoError(t, CheckChain("d", &Rules{Default: &Target{Model: "b", Version: "1"}}, find), "a version ends the chain")
	require.EqualError(t, CheckChain("d", to("x", "b"), find), "the rules lead back to 'd': d -> b -> c -> d")
	require.EqualError(t, CheckChain("a", to("b"), find), "the rules lead through more than 4 names: a -> b -> c -> d -> e")
}

func TestDefaults(t *testing.T) {
	t.Parallel()
	c, s := &Canary{}, &Shadow{Tolerances: map[string]Tolerance{"FP32": {ATol: 1}}}
	require.Equal(t, []float64{1, 5, 25, 50, 100}, c.CanarySteps())
	require.Equal(t, 5*time.Minute, c.StepTime())
	require.Equal(t, int64(1000), c.Samples())
	require.Equal(t, 30*time.Second, s.Timeout())
	tolerance, ok := s.Tolerance("FP32")
	require.True(t, ok)
	require.Equal(t, Tolerance{ATol: 1}, tolerance)
	_, ok = s.Tolerance("INT32")
	require.False(t, ok)
}

// FuzzRead: a document is refused, or its written form is read as the same rules.
func FuzzRead(f *testing.F) {
	f.Add([]byte(`{"match":[{"header":"a","exact":"b","to":{"version":"1"}}],"weights":[{"version":"1","weight":1}],"sticky":{"correlation_id":true}}`))
	f.Add([]byte(`{"canary":{"version":"2","stable":{"version":"1"},"steps":[1,2],"max_error_increase":0},"shadow":{"model":"x","percent":1e1}}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		r, err := Read("m", text)
		if err != nil {
			require.NotEmpty(t, err.Error())
			return
		}
		written, err := json.Marshal(r)
		require.NoError(t, err)
		again, err := Read("m", written)
		require.NoError(t, err)
		rewritten, err := json.Marshal(again)
		require.NoError(t, err)
		require.Equal(t, string(written), string(rewritten))
		_ = CheckChain("m", r, func(string) *Rules { return r })
		_ = r.Fallback("m").String()
	})
}
