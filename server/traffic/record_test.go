package traffic

import (
	"bytes"
	"log/slog"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/trafficrules"
)

// A canary goes on after a restart where it was: rolled back, promoted or in a step. With other settings it
// begins anew, and so it does when its rules were deleted, or the file is damaged.
func TestCanariesGoOnAfterARestart(t *testing.T) {
	t.Parallel()
	const (
		rules = `{"canary":{"version":"2","stable":{"version":"1"},"steps":[10,50]}}`
		other = `{"canary":{"version":"2","stable":{"version":"1"},"steps":[10,60]}}`
	)
	file := filepath.Join(t.TempDir(), "canaries.json")
	var log bytes.Buffer
	started := func(document string) (*Service, *trafficrules.CanaryStatus) {
		m := &models{}
		m.add("m", "1")
		m.add("m", "2")
		s := New(Options{Models: m, Record: file, Log: slog.New(slog.NewTextHandler(&log, nil))})
		require.NoError(t, s.SetTraffic(t.Context(), "m", []byte(document)))
		st, err := s.Status("m", false)
		require.NoError(t, err)
		return s, st.Canary
	}
	s, c := started(rules)
	require.Equal(t, trafficrules.CanaryProgressing, c.State)
	require.NoError(t, s.Rollback("m"))
	s.save()
	rolledBack, err := s.Status("m", false)
	require.NoError(t, err)

	s, c = started(rules)
	require.Equal(t, trafficrules.CanaryRolledBack, c.State)
	require.Zero(t, c.Weight)
	require.Equal(t, "rolled back by a command", c.Reason)
	require.WithinDuration(t, rolledBack.Canary.Since, c.Since, time.Millisecond)
	require.NoError(t, s.Promote("m"))
	s.save()
	s, c = started(rules)
	require.Equal(t, trafficrules.CanaryPromoted, c.State)
	require.InDelta(t, 50, c.Weight, 0)
	require.NoError(t, s.Delete(t.Context(), "m", nil))
	s.save()
	_, c = started(rules)
	require.Equal(t, trafficrules.CanaryProgressing, c.State)
	require.Equal(t, 1, c.Step)

	for _, at := range []struct {
		document, file string
		step           int
	}{
		{rules, `"state":"progressing","step":2`, 2},
		{rules, `"state":"waiting","step":2`, 2},
		{other, `"state":"progressing","step":2`, 1},
		{rules, `"state":"progressing","step":7`, 1},
		{rules, `"state":"progressing","step":`, 1},
	} {
		require.NoError(t, os.WriteFile(file, []byte(`{"m":{"canary":`+rules[len(`{"canary":`):len(rules)-1]+`,`+at.file+`}}`), 0o600))
		_, c = started(at.document)
		require.Equal(t, at.step, c.Step, at.file)
		require.Equal(t, trafficrules.CanaryProgressing, c.State)
	}
	require.Contains(t, log.String(), "the states of canaries are not read")
}
