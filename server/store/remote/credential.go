// The file that TRITON_CLOUD_CREDENTIAL_PATH names is read here: credentials of remote repositories by
// the beginning of their paths.

package remote

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"triton/pkg/status"
)

// credentialVariable names the file.
const credentialVariable = "TRITON_CLOUD_CREDENTIAL_PATH"

// s3Credentials are credentials of the section s3.
type s3Credentials struct {
	SecretKey    string `json:"secret_key"`
	KeyID        string `json:"key_id"`
	Region       string `json:"region"`
	SessionToken string `json:"session_token"`
	Profile      string `json:"profile"`
}

// azureCredentials are credentials of the section as.
type azureCredentials struct {
	Account  string `json:"account_str"`
	Key      string `json:"account_key"`
	AuthType string `json:"auth_type"`
	ClientID string `json:"client_id"`
}

// credentialFile is the content of the file. The keys are beginnings of paths; an empty one fits all.
type credentialFile struct {
	GS map[string]string           `json:"gs"` // path of a key file
	S3 map[string]s3Credentials    `json:"s3"`
	AS map[string]azureCredentials `json:"as"`
}

// readCredentials reads the file that the environment names; nil if it names none. It is read for each use, so
// that new credentials need no restart. Errors do not show its content.
func readCredentials(getenv func(string) string) (*credentialFile, error) {
	path := getenv(credentialVariable)
	if path == "" {
		return nil, nil //nolint:nilnil // there is none, and that is no error
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, status.New(status.InvalidArg, "reading the credentials of %s: %w", credentialVariable, err)
	}
	f, err := parseCredentials(text)
	if err != nil {
		return nil, status.New(status.InvalidArg, "%s: the file %s %w", credentialVariable, path, err)
	}
	return f, nil
}

// parseCredentials reads the text of the file.
func parseCredentials(text []byte) (*credentialFile, error) {
	var f credentialFile
	if err := json.Unmarshal(text, &f); err != nil {
		return nil, fmt.Errorf("is not JSON with sections gs, s3 and as: %s", faultOf(err))
	}
	return &f, nil
}

// faultOf returns what is wrong without the text that is: it may be a secret.
func faultOf(err error) string {
	switch e := err.(type) { //nolint:errorlint // Unmarshal returns them as they are
	case *json.SyntaxError:
		return fmt.Sprintf("syntax error at byte %d", e.Offset)
	case *json.UnmarshalTypeError:
		return fmt.Sprintf("%s must be of another type than %s", e.Field, e.Value)
	}
	return "it cannot be read"
}

// matchCredentials returns the entry with the longest beginning of a path.
func matchCredentials[T any](section map[string]T, path string) (T, error) {
	var best T
	length := -1
	for prefix, entry := range section {
		if len(prefix) > length && strings.HasPrefix(path, prefix) {
			best, length = entry, len(prefix)
		}
	}
	if length < 0 {
		return best, status.New(status.NotFound, "Cannot match credential for path  %s", path)
	}
	return best, nil
}
