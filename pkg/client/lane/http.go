package lane

import (
	"maps"
	"slices"

	"triton/pkg/client/internal/wire"
)

type httpClient struct {
	endpoint    *wire.Endpoint
	headers     map[string]string
	headerNames []string

	jsonInputs, jsonOutputs bool
	post                    *PostOptions // nil: the KServe protocol
}

func newHTTP(o Options) (*httpClient, error) {
	at, err := wire.ParseHTTP(o.Address, o.TLS)
	if err != nil {
		return nil, err
	}
	if err := wire.CheckHeaders(o.Headers); err != nil {
		return nil, err
	}
	return &httpClient{
		endpoint: at, headers: o.Headers, headerNames: slices.Sorted(maps.Keys(o.Headers)),
		jsonInputs: o.JSONInputs, jsonOutputs: o.JSONOutputs,
	}, nil
}

// close has nothing to close: lanes own their connections.
func (c *httpClient) close() error { return nil }
