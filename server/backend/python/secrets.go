package python

import (
	"os/exec"
	"slices"
	"strings"
)

// Models run code of others. The settings of the server are not for them: they hold secrets, such as
// those of --http-restricted-api. The variables that flags are read from begin with serverPrefix; the
// others are read by the server or its caches under their own names.
const serverPrefix = "TRITON_SERVE_"

var serverVariables = []string{
	"TRITON_HTTP_RESTRICTED_API", "TRITON_GRPC_RESTRICTED_PROTOCOL", "TRITON_CACHE_CONFIG", "TRITON_STATE", "TRITON_CLOUD_CREDENTIAL_PATH",
	"TRITONCACHE_REDIS_USERNAME", "TRITONCACHE_REDIS_PASSWORD",
}

// The credentials of model stores. The region of AWS is no secret, and models may need it.
var (
	storePrefixes  = []string{"AWS_", "AZURE_"}
	storeVariables = []string{"GOOGLE_APPLICATION_CREDENTIALS"}
	storePlain     = []string{"AWS_REGION", "AWS_DEFAULT_REGION"}
)

// withoutSecrets returns an environment, that of the server if it is nil, without what the server
// alone needs. With credentials, those of the stores stay.
func withoutSecrets(environ []string, credentials bool) []string {
	if environ == nil {
		environ = (&exec.Cmd{}).Environ()
	}
	return slices.DeleteFunc(slices.Clone(environ), func(pair string) bool {
		name, _, _ := strings.Cut(pair, "=")
		return strings.HasPrefix(name, serverPrefix) || slices.Contains(serverVariables, name) || !credentials && ofStore(name)
	})
}

func ofStore(name string) bool {
	return slices.Contains(storeVariables, name) || !slices.Contains(storePlain, name) &&
		slices.ContainsFunc(storePrefixes, func(prefix string) bool { return strings.HasPrefix(name, prefix) })
}
