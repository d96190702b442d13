package extension

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
)

// TestResidency: models of all kinds have these settings; a wrong value is a mistake.
func TestResidency(t *testing.T) {
	t.Parallel()
	never, at, half := -time.Second, time.Duration(0), 500*time.Millisecond
	for _, test := range []struct {
		name       string
		parameters map[string]string
		want       Residency
		wrong      string
	}{
		{"none", nil, Residency{}, ""},
		{"all", map[string]string{keyPin: "true", keyKeepAlive: "0.5", keyPriority: "-3"}, Residency{true, &half, -3}, ""},
		{"never", map[string]string{keyPin: "false", keyKeepAlive: "-1"}, Residency{KeepAlive: &never}, ""},
		{"at once", map[string]string{keyKeepAlive: "0"}, Residency{KeepAlive: &at}, ""},
		{"pin", map[string]string{keyPin: "yes"}, Residency{}, "parameter 'on_demand_pin' of model 'm': 'yes' is neither true nor false"},
		{"time", map[string]string{keyKeepAlive: "-2"}, Residency{}, "parameter 'on_demand_keep_alive_seconds' of model 'm': '-2' is neither -1 nor a number of seconds from 0 to 31536000"},
		{"not a number", map[string]string{keyKeepAlive: "NaN"}, Residency{}, "parameter 'on_demand_keep_alive_seconds' of model 'm': 'NaN' is neither -1 nor a number of seconds from 0 to 31536000"},
		{"priority", map[string]string{keyPriority: "101"}, Residency{}, "parameter 'on_demand_priority' of model 'm': '101' is not a number from -100 to 100"},
		{"spelling", map[string]string{"on_demand_pinned": "true"}, Residency{}, "parameter 'on_demand_pinned' of model 'm': there is no such parameter"},
	} {
		for _, ensemble := range []bool{false, true} {
			c := &inferencepb.ModelConfig{Name: "m", Parameters: map[string]*inferencepb.ModelParameter{}}
			if ensemble {
				c.SchedulingChoice = &inferencepb.ModelConfig_EnsembleScheduling{EnsembleScheduling: &inferencepb.ModelEnsembling{}}
			}
			for key, value := range test.parameters {
				c.Parameters[key] = &inferencepb.ModelParameter{StringValue: value}
			}
			s, found := Read(modelconfig.New("", c))
			if test.wrong != "" {
				require.Len(t, found, 1, test.name)
				require.Equal(t, test.wrong, found[0].Msg)
				continue
			}
			require.Empty(t, found, test.name)
			require.Equal(t, test.want, s.Residency, test.name)
		}
	}
}
