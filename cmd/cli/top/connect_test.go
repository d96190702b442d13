package top

import (
	"testing"

	"github.com/stretchr/testify/require"

	"triton/cmd/cli/flags"
	"triton/cmd/cli/process"
)

func TestConnection(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ address, metrics, want string }{
		{"", "", "http://localhost:8002"},
		{"host", "", "http://host:8002"},
		{"host:9000", "", "http://host:8002"},
		{"[::1]:9000", "", "http://[::1]:8002"},
		{"::1", "", "http://[::1]:8002"},
		{"https://host:9000/prefix", "", "https://host:8002"},
		{"https://host", "", "https://host:8002"},
		{"host", "other:1/m", "other:1/m"},
	} {
		s, err := (&serverFlags{flags.Server{Address: c.address, Headers: []string{"Authorization: Bearer a:b"}}, c.metrics}).connect()
		require.NoError(t, err, c.address)
		require.Equal(t, c.want, s.metrics.URL)
		require.Equal(t, map[string]string{"Authorization": "Bearer a:b"}, s.metrics.Headers)
		s.close()
	}
}

func TestConnectionMistakes(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		options serverFlags
		want    string
	}{
		{serverFlags{Server: flags.Server{Headers: []string{"hunter2"}}}, "--header number 1 is not NAME:VALUE"},
		{serverFlags{Server: flags.Server{Headers: []string{" :hunter2"}}}, "--header number 1 is not NAME:VALUE"},
		{serverFlags{Metrics: "ftp://u:hunter2@h"}, "--metrics-url: "},
		{serverFlags{Server: flags.Server{Address: "ftp://h"}}, "--url: "},
	} {
		_, err := c.options.connect()
		require.ErrorContains(t, err, c.want)
		require.NotContains(t, err.Error(), "hunter2")
		var exit *process.ExitError
		require.ErrorAs(t, err, &exit)
		require.Equal(t, process.Usage, exit.Code)
	}
}
