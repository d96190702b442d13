package remote

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/status"
)

const credentialText = `{
  "gs": {"": "/default.json", "gs://team/": "/team.json"},
  "s3": {"": {"secret_key": "S", "key_id": "I", "region": "R", "session_token": "T", "profile": "P"}, "s3://bucket/models": {"key_id": "longer"}},
  "as": {"as://account/container": {"account_str": "account", "account_key": "KEY", "auth_type": "key", "client_id": "C"}}
}`

func TestMatchCredentials(t *testing.T) {
	t.Parallel()
	f, err := parseCredentials([]byte(credentialText))
	require.NoError(t, err)
	for path, want := range map[string]string{"gs://other/x": "/default.json", "gs://team/x": "/team.json", "gs://team": "/default.json"} {
		got, err := matchCredentials(f.GS, path)
		require.NoError(t, err)
		require.Equal(t, want, got, path)
	}
	s3, err := matchCredentials(f.S3, "s3://bucket/models/m")
	require.NoError(t, err)
	require.Equal(t, "longer", s3.KeyID)
	s3, err = matchCredentials(f.S3, "s3://host:9000/bucket")
	require.NoError(t, err)
	require.Equal(t, s3Credentials{SecretKey: "S", KeyID: "I", Region: "R", SessionToken: "T", Profile: "P"}, s3)
	_, err = matchCredentials(f.AS, "as://account/other")
	require.EqualError(t, err, "Cannot match credential for path  as://account/other")
	require.Equal(t, status.NotFound, status.CodeOf(err))
}

func TestReadCredentials(t *testing.T) {
	t.Parallel()
	f, err := readCredentials(func(string) string { return "" })
	require.NoError(t, err)
	require.Nil(t, f)
	path := filepath.Join(t.TempDir(), "credentials.json")
	getenv := func(name string) string {
		require.Equal(t, "TRITON_CLOUD_CREDENTIAL_PATH", name)
		return path
	}
	_, err = readCredentials(getenv)
	require.ErrorIs(t, err, os.ErrNotExist)
	require.NoError(t, os.WriteFile(path, []byte(credentialText), 0o600))
	f, err = readCredentials(getenv)
	require.NoError(t, err)
	require.Len(t, f.S3, 2)
	require.NoError(t, os.WriteFile(path, []byte(`{"s3": "SECRET"`), 0o600))
	_, err = readCredentials(getenv)
	require.ErrorContains(t, err, path)
}

// FuzzParseCredentials: errors do not show the text, which may be a secret.
func FuzzParseCredentials(f *testing.F) {
	f.Add(credentialText, "s3://bucket/models")
	f.Add(`{"s3": "hunter2hunter2"}`, "s3://x")
	f.Add(`{"s3": {"": {"secret_key": 12345678901}}}`, "")
	f.Add(`{"as": [hunter2hunter2]}`, "as://x/y")
	f.Fuzz(func(t *testing.T, text, path string) {
		file, err := parseCredentials([]byte(text))
		if err != nil {
			for _, secret := range []string{"hunter2hunter2", "12345678901"} {
				require.False(t, strings.Contains(err.Error(), secret), err.Error())
			}
			return
		}
		if entry, err := matchCredentials(file.GS, path); err == nil {
			require.Contains(t, file.GS, prefixOf(file.GS, path))
			require.Equal(t, file.GS[prefixOf(file.GS, path)], entry)
		}
	})
}

// prefixOf is the longest key that a path begins with.
func prefixOf(section map[string]string, path string) string {
	for i := len(path); i >= 0; i-- {
		if _, found := section[path[:i]]; found {
			return path[:i]
		}
	}
	return "none"
}
