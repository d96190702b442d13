package python

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWithoutSecrets(t *testing.T) {
	t.Parallel()
	all := []string{
		"PATH=/bin", "TRITON_SERVE_HTTP_RESTRICTED_API=inference:key=secret", "TRITON_HTTP_RESTRICTED_API=x", "TRITONCACHE_REDIS_PASSWORD=x",
		"AWS_ACCESS_KEY_ID=x", "AWS_SECRET_ACCESS_KEY=x", "AWS_SESSION_TOKEN=x", "AWS_WEB_IDENTITY_TOKEN_FILE=x", "AWS_REGION=eu", "AWS_DEFAULT_REGION=eu",
		"GOOGLE_APPLICATION_CREDENTIALS=x", "AZURE_STORAGE_ACCOUNT=x", "AZURE_STORAGE_KEY=x", "AZURE_CLIENT_SECRET=x", "TRITON_MODEL=mine", "HF_TOKEN=mine",
	}
	require.Equal(t, []string{"PATH=/bin", "AWS_REGION=eu", "AWS_DEFAULT_REGION=eu", "TRITON_MODEL=mine", "HF_TOKEN=mine"}, withoutSecrets(all, false))
	kept := withoutSecrets(all, true)
	require.Contains(t, kept, "AWS_SECRET_ACCESS_KEY=x")
	require.NotContains(t, kept, "TRITON_SERVE_HTTP_RESTRICTED_API=inference:key=secret")
	require.Len(t, all, 16, "the list of the caller is not changed")
	require.NotEmpty(t, withoutSecrets(nil, false), "the environment of the server")
}
