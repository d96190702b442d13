package report

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/analyzer/profile"
	"triton/analyzer/trial"
)

// searched is a model whose variants, the default first, reach these shares of a throughput; all
// intervals are 3 % to both sides.
func searched(goal trial.Goal, speeds ...float64) *profile.Report {
	m := profile.ModelReport{Name: "m", Members: []profile.MemberReport{{Model: "m", Goal: goal}}}
	for number, speed := range speeds {
		m.Results = append(m.Results, sweep(func() trial.Member { return trial.Member{Variant: variantOf("m", number)} }, speed)...)
	}
	return reportOf(m)
}

func TestVerdict(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name     string
		report   *profile.Report
		headline string
		note     string
		serve    string
	}{
		{"beyond noise", searched(trial.Goal{}, 1, 1.1), "m_config_0 is 10% better than the default configuration at maximizing throughput", "", "m_config_0"},
		{
			"within noise", searched(trial.Goal{}, 1, 1.05), "no configuration is better than the default beyond noise: m_config_default is recommended",
			"m_config_0 measured 5% better, but the 95% confidence intervals overlap.", "m_config_default",
		},
		{
			"hardly better", searched(trial.Goal{}, 1, 1.001), "no configuration is better than the default beyond noise: m_config_default is recommended",
			"m_config_0 measured 0.1% better, but the 95% confidence intervals overlap.", "m_config_default",
		},
		{"the default is best", searched(trial.Goal{}, 1, 0.9), "no configuration is better than the default: m_config_default is recommended", "", "m_config_default"},
		{"the default alone", searched(trial.Goal{}, 1), "m_config_default is the only configuration that was measured", "", "m_config_default"},
		{"the default violates the constraints", searched(limited(10), 1, 2.5, 2.4), "m_config_0 is the best configuration", "", "m_config_0"},
	} {
		m := &newOutcome(c.report, false).Models[0]
		v := m.Verdict()
		require.Equal(t, c.headline, strings.Join(m.headline(v, "maximizing throughput"), ""), c.name)
		require.Equal(t, c.note, v.noiseNote(), c.name)
		require.Equal(t, c.serve, v.Serve.Name, c.name)
		top, _ := m.Top(1)
		require.Equal(t, c.serve, top[0].Name, "%s: tables and details begin with it", c.name)
	}
}

// TestVerdictOfAllForms: pages, text and JSON recommend the same configuration, and none says that
// the default has no gain over itself.
func TestVerdictOfAllForms(t *testing.T) {
	t.Parallel()
	r := searched(trial.Goal{}, 1, 1.05)
	dir := t.TempDir()
	p := defaults(dir)
	p.Formats, p.Output.ConfigsPerModel = []string{"json"}, 1
	require.NoError(t, WriteProfile(r, p))
	require.Contains(t, read(t, dir, "reports", "summaries", "m", "result_summary.html"), "beyond noise: <strong>m_config_default</strong> is recommended")
	require.FileExists(t, filepath.Join(dir, "reports", "detailed", "m_config_default", "detailed_report.html"))
	var d struct {
		Models []struct {
			Recommendation struct {
				Variant     string
				Gain        *float64 `json:"gain_percent"`
				WithinNoise struct {
					Variant string
					Gain    float64 `json:"gain_percent"`
				} `json:"within_noise"`
			}
		}
	}
	require.NoError(t, json.Unmarshal([]byte(read(t, dir, "results", "profile.json")), &d))
	got := d.Models[0].Recommendation
	require.Equal(t, "m_config_default", got.Variant)
	require.Nil(t, got.Gain)
	require.Equal(t, "m_config_0", got.WithinNoise.Variant)
	require.InDelta(t, 5, got.WithinNoise.Gain, 1e-9)
	var text bytes.Buffer
	require.NoError(t, Write(&text, r, p, "text"))
	require.Contains(t, strings.Join(strings.Fields(text.String()), " "), "beyond noise: m_config_default is recommended, under the given constraints")
	require.NotContains(t, text.String(), "no gain")
}
