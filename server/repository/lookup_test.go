package repository

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/status"
)

// TestLookup compares with the answers of Triton's server 2.51.
func TestLookup(t *testing.T) {
	t.Parallel()
	r, _, err := open(t, nil, wrong(t))
	require.ErrorIs(t, err, ErrLoad)
	const notFound, unavailable, invalid = status.NotFound, status.Unavailable, status.InvalidArg
	for _, c := range []struct {
		model, version string
		code           status.Code
		want           string
	}{
		{"nosuch", "", notFound, "Request for unknown model: 'nosuch' is not found"},
		{"nosuch", "1", notFound, "Request for unknown model: 'nosuch' is not found"},
		{"nosuch", "x", invalid, "failed to get model version from specified version string 'x' (details: stol), version should be an integral value > 0"},
		{"badparse", "", notFound, "Request for unknown model: 'badparse' is not found"},
		{"empty", "1", notFound, "Request for unknown model: 'empty' is not found"},
		{"nover", "", notFound, "Request for unknown model: 'nover' has no available versions"},
		{"nover", "1", notFound, "Request for unknown model: 'nover' version 1 is not found"},
		{"bad", "", notFound, "Request for unknown model: 'bad' has no available versions"},
		{"bad", "1", unavailable, "Request for unknown model: 'bad' version 1 is not at ready state"},
		{"bad", "7", notFound, "Request for unknown model: 'bad' version 7 is not found"},
		{"good", "7", notFound, "Request for unknown model: 'good' version 7 is not found"},
		{"good", "0", notFound, "Request for unknown model: 'good' version 0 is not found"},
		{"good", "-1", invalid, "invalid model version specified '-1' , version should be an integral value > 0"},
		{"good", "99999999999999999999", invalid, "failed to get model version from specified version string '99999999999999999999' (details: stol), version should be an integral value > 0"},
	} {
		_, err := r.Model(c.model, c.version)
		require.EqualError(t, err, c.want)
		require.Equal(t, c.code, status.CodeOf(err), c.want)
		ready, err := r.ModelReady(c.model, c.version)
		require.False(t, ready)
		require.Equal(t, c.code == invalid, err != nil, "a model that is not there is not ready, and that is no error")
	}
	for _, version := range []string{"", "3", " 3", "+3", "03", "3x"} {
		m, err := r.Model("good", version)
		require.NoError(t, err, version)
		require.Equal(t, "3", m.Version())
		m.Release()
	}
}

func TestMetadata(t *testing.T) {
	t.Parallel()
	r, _, _ := open(t, nil, wrong(t))
	m, err := r.Model("all", "")
	require.NoError(t, err)
	require.Equal(t, []string{"1", "3"}, m.Metadata().Versions)
	require.Equal(t, "identity", m.Metadata().Platform)
	require.Equal(t, "3", m.Version())
	m.Release()
	m, err = r.Model("all", "1")
	require.NoError(t, err)
	require.Equal(t, []string{"1"}, m.Metadata().Versions)
	m.Release()

	_, err = r.Statistics("nosuch", "")
	require.EqualError(t, err, "requested model 'nosuch' is not available")
	_, err = r.Statistics("bad", "1")
	require.EqualError(t, err, "requested model 'bad' is not available")
	_, err = r.Statistics("good", "7")
	require.EqualError(t, err, "requested model version is not available for model 'good'")
	all, err := r.Statistics("", "")
	require.NoError(t, err)
	require.Len(t, all.ModelStats, 4)
}
