// Package credential reads the file that TRITON_CLOUD_CREDENTIAL_PATH names: credentials of remote
// repositories by the beginning of their paths.
package credential

import (
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"triton/pkg/status"
)

// Variable names the file.
const Variable = "TRITON_CLOUD_CREDENTIAL_PATH"

// S3 are credentials of the section s3.
type S3 struct {
	SecretKey    string `json:"secret_key"`
	KeyID        string `json:"key_id"`
	Region       string `json:"region"`
	SessionToken string `json:"session_token"`
	Profile      string `json:"profile"`
}

// Azure are credentials of the section as.
type Azure struct {
	Account  string `json:"account_str"`
	Key      string `json:"account_key"`
	AuthType string `json:"auth_type"`
	ClientID string `json:"client_id"`
}

// File is the content of the file. The keys are beginnings of paths; an empty one fits all.
type File struct {
	GS map[string]string `json:"gs"` // path of a key file
	S3 map[string]S3     `json:"s3"`
	AS map[string]Azure  `json:"as"`
}

// Read reads the file that the environment names; nil if it names none. It is read for each use, so
// that new credentials need no restart. Errors do not show its content.
func Read(getenv func(string) string) (*File, error) {
	path := getenv(Variable)
	if path == "" {
		return nil, nil //nolint:nilnil // there is none, and that is no error
	}
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, status.New(status.InvalidArg, "reading the credentials of %s: %w", Variable, err)
	}
	f, err := Parse(text)
	if err != nil {
		return nil, status.New(status.InvalidArg, "%s: the file %s %w", Variable, path, err)
	}
	return f, nil
}

// Parse reads the text of the file.
func Parse(text []byte) (*File, error) {
	var f File
	if err := json.Unmarshal(text, &f); err != nil {
		return nil, fmt.Errorf("is not JSON with sections gs, s3 and as: %s", place(err))
	}
	return &f, nil
}

// place returns what is wrong without the text that is: it may be a secret.
func place(err error) string {
	switch e := err.(type) { //nolint:errorlint // Unmarshal returns them as they are
	case *json.SyntaxError:
		return fmt.Sprintf("syntax error at byte %d", e.Offset)
	case *json.UnmarshalTypeError:
		return fmt.Sprintf("%s must be of another type than %s", e.Field, e.Value)
	}
	return "it cannot be read"
}

// Match returns the entry with the longest beginning of a path.
func Match[T any](section map[string]T, path string) (T, error) {
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
