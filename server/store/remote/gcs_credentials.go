package remote

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/google"
)

// googleReadOnly is what tokens are good for.
const googleReadOnly = "https://www.googleapis.com/auth/devstorage.read_only"

// connect returns the client, and reports whether its credentials were read now.
func (s *gcsSource) connect(ctx context.Context) (c *http.Client, fresh bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.client != nil {
		return s.client, false, nil
	}
	tokens, err := s.tokens(ctx)
	if err != nil {
		return nil, true, fmt.Errorf("%w: %w", ErrDenied, err)
	}
	s.client = &http.Client{Transport: s.http}
	if tokens != nil {
		s.client.Transport = &oauth2.Transport{Source: oauth2.ReuseTokenSource(nil, tokens), Base: s.http}
	}
	return s.client, true, nil
}

// tokens returns the source of tokens for the path: of the credential file if there is one, else of
// the key file that GOOGLE_APPLICATION_CREDENTIALS names, else of the user's or the machine's
// account. It is nil if there is none: requests are anonymous.
func (s *gcsSource) tokens(ctx context.Context) (oauth2.TokenSource, error) {
	ctx = context.WithValue(context.WithoutCancel(ctx), oauth2.HTTPClient, &http.Client{Transport: s.http, Timeout: pageWait})
	key := s.env.Getenv("GOOGLE_APPLICATION_CREDENTIALS")
	file, err := readCredentials(s.env.Getenv)
	if err != nil {
		return nil, err
	}
	if file != nil {
		if key, err = matchCredentials(file.GS, s.path); err != nil {
			return nil, err
		}
	}
	switch {
	case key != "":
		return fromGoogleFile(ctx, key)
	case s.endpoint != googleEndpoint || file != nil:
		return nil, nil //nolint:nilnil // an emulator knows no accounts; an empty entry is anonymous
	}
	found, err := google.FindDefaultCredentials(ctx, googleReadOnly)
	if err != nil {
		return nil, nil //nolint:nilnil,nilerr // there are none
	}
	return found.TokenSource, nil
}

// googleCredentials are the accounts whose key files are accepted. The file comes from whoever starts the server.
var googleCredentials = []google.CredentialsType{google.AuthorizedUser, google.ServiceAccount, google.ExternalAccount, google.ImpersonatedServiceAccount}

// fromGoogleFile returns the tokens of an account in a key file.
func fromGoogleFile(ctx context.Context, path string) (oauth2.TokenSource, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	var kind struct {
		Type google.CredentialsType `json:"type"`
	}
	if json.Unmarshal(text, &kind) != nil || !slices.Contains(googleCredentials, kind.Type) {
		return nil, fmt.Errorf("the file %s is not a key of a Google account", path)
	}
	found, err := google.CredentialsFromJSONWithType(ctx, text, kind.Type, googleReadOnly)
	if err != nil {
		return nil, fmt.Errorf("the file %s is not a valid key of a Google account of the type %s", path, kind.Type)
	}
	return found.TokenSource, nil
}
