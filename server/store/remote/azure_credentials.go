package remote

import (
	"cmp"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"

	"golang.org/x/oauth2"
	"golang.org/x/oauth2/clientcredentials"
)

// azureSigner adds to a request what proves who sends it.
type azureSigner func(r *http.Request) error

// login returns the signer for the path, and reports whether its credentials were read now: those
// of the credential file if there is one, else those of the environment, else none.
func (s *azureSource) login() (sign azureSigner, fresh bool, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.signer != nil {
		return s.signer, false, nil
	}
	getenv := s.env.Getenv
	c := azureCredentials{
		Account: getenv("AZURE_STORAGE_ACCOUNT"), Key: getenv("AZURE_STORAGE_KEY"),
		AuthType: getenv("AZURE_STORAGE_AUTH_TYPE"), ClientID: getenv("AZURE_STORAGE_CLIENT_ID"),
	}
	sas := getenv("AZURE_STORAGE_SAS_TOKEN")
	file, err := readCredentials(getenv)
	if err != nil {
		return nil, true, err
	}
	if file != nil {
		if c, err = matchCredentials(file.AS, s.path); err != nil {
			return nil, true, err
		}
		sas = ""
	}
	if sign, err = s.choose(c, sas); err != nil {
		return nil, true, err
	}
	s.signer = sign
	return sign, true, nil
}

// choose returns the signer of credentials.
func (s *azureSource) choose(c azureCredentials, sas string) (azureSigner, error) {
	switch {
	case c.AuthType != "" && c.AuthType != "key" && c.AuthType != "managed_identity" && c.AuthType != "default":
		return nil, fmt.Errorf("the Azure authentication type is %q; it must be key, managed_identity or default", c.AuthType)
	case c.AuthType == "managed_identity":
		return azureBearer(s.machineTokens(c.ClientID)), nil
	case c.AuthType == "default":
		return azureBearer(s.defaultTokens(c.ClientID)), nil
	case c.Key != "":
		key, err := base64.StdEncoding.DecodeString(c.Key)
		if err != nil {
			return nil, errors.New("the Azure storage key is not base64")
		}
		return sharedKey(cmp.Or(c.Account, s.at.account), key), nil
	case sas != "":
		return sharedAccess(sas)
	}
	return func(*http.Request) error { return nil }, nil
}

// sharedAccess signs with a shared access signature, which is a query.
func sharedAccess(text string) (azureSigner, error) {
	token, err := url.ParseQuery(trimQuestion(text))
	if err != nil {
		return nil, errors.New("AZURE_STORAGE_SAS_TOKEN is not a query")
	}
	return func(r *http.Request) error {
		q := r.URL.Query()
		for k, v := range token {
			q[k] = v
		}
		r.URL.RawQuery = q.Encode()
		return nil
	}, nil
}

func trimQuestion(text string) string {
	if text != "" && text[0] == '?' {
		return text[1:]
	}
	return text
}

// azureBearer signs with tokens.
func azureBearer(tokens oauth2.TokenSource) azureSigner {
	tokens = oauth2.ReuseTokenSource(nil, tokens)
	return func(r *http.Request) error {
		t, err := tokens.Token()
		if err == nil {
			t.SetAuthHeader(r)
		}
		return err
	}
}

// Where tokens come from, and what they are good for.
const (
	azureMachineEndpoint = "http://169.254.169.254/metadata/identity/oauth2/token"
	azureAuthority       = "https://login.microsoftonline.com"
	azureResource        = "https://storage.azure.com/"
)

// defaultTokens returns the tokens of the application that the environment names, by a secret or by
// the token of a workload, else those of the machine.
func (s *azureSource) defaultTokens(client string) oauth2.TokenSource {
	getenv := s.env.Getenv
	id, tenant := cmp.Or(client, getenv("AZURE_CLIENT_ID")), getenv("AZURE_TENANT_ID")
	app := func(secret string, more url.Values) oauth2.TokenSource {
		c := clientcredentials.Config{
			ClientID: id, ClientSecret: secret, EndpointParams: more, Scopes: []string{azureResource + ".default"},
			TokenURL:  cmp.Or(getenv("AZURE_AUTHORITY_HOST"), azureAuthority) + "/" + tenant + "/oauth2/v2.0/token",
			AuthStyle: oauth2.AuthStyleInParams,
		}
		return c.TokenSource(context.WithValue(context.Background(), oauth2.HTTPClient, &http.Client{Transport: s.http, Timeout: pageWait}))
	}
	switch secret, file := getenv("AZURE_CLIENT_SECRET"), getenv("AZURE_FEDERATED_TOKEN_FILE"); {
	case tenant != "" && secret != "":
		return app(secret, nil)
	case tenant != "" && file != "":
		return tokenFunc(func() (*oauth2.Token, error) {
			text, err := os.ReadFile(file)
			if err != nil {
				return nil, err
			}
			return app("", url.Values{
				"client_assertion":      {string(text)},
				"client_assertion_type": {"urn:ietf:params:oauth:client-assertion-type:jwt-bearer"},
			}).Token()
		})
	}
	return s.machineTokens(client)
}

type tokenFunc func() (*oauth2.Token, error)

// Token calls f.
func (f tokenFunc) Token() (*oauth2.Token, error) { return f() }
