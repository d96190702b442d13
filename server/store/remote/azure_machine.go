package remote

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"time"

	"golang.org/x/oauth2"
)

// azureMachineWait bounds a request to the metadata service of the machine.
const azureMachineWait = 10 * time.Second

// machineTokens returns the tokens of the identity that Azure gives to the machine. client names
// one of several identities; empty: the only one.
func (s *azureSource) machineTokens(client string) oauth2.TokenSource {
	q := url.Values{"api-version": {"2018-02-01"}, "resource": {azureResource}}
	if client != "" {
		q.Set("client_id", client)
	}
	return tokenFunc(func() (*oauth2.Token, error) {
		ctx, cancel := context.WithTimeout(context.Background(), azureMachineWait)
		defer cancel()
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, azureMachineEndpoint+"?"+q.Encode(), http.NoBody)
		if err != nil {
			return nil, err
		}
		r.Header.Set("Metadata", "true")
		resp, err := do(&http.Client{Transport: s.http}, r, func([]byte) string { return "" })
		if err != nil {
			return nil, fmt.Errorf("asking for the identity of this machine: %w", err)
		}
		defer resp.Body.Close()
		var t struct {
			Token   string `json:"access_token"`
			Expires string `json:"expires_on"`
		}
		if err := json.NewDecoder(resp.Body).Decode(&t); err != nil {
			return nil, fmt.Errorf("asking for the identity of this machine: %w", err)
		}
		seconds, err := strconv.ParseInt(t.Expires, 10, 64)
		if err != nil {
			return nil, fmt.Errorf("asking for the identity of this machine: the expiry is %q", t.Expires)
		}
		return &oauth2.Token{AccessToken: t.Token, TokenType: "Bearer", Expiry: time.Unix(seconds, 0)}, nil
	})
}
