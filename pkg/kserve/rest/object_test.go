package rest_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/kserve/rest"
)

// FuzzParseObject: all members that encoding/json sees are found, by their names
// and one after the other.
func FuzzParseObject(f *testing.F) {
	for _, seed := range []string{`{"ready":true}`, `{"a":{"b":[1,"x\u00e9"]},"a":null}`, `[]`, ` {"parameters" : {"config":"{}"}}`, `{"ready":1`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		_, _ = rest.DecodeIndexRequest(text)
		o, err := rest.ParseObject(text)
		if err != nil {
			return
		}
		seen := map[string]bool{}
		require.NoError(t, o.Each(func(name string, _ rest.Value) error {
			_, ok := o.Get(name)
			require.True(t, ok, "%q", name)
			seen[name] = true
			return nil
		}))
		var members map[string]json.RawMessage
		if json.Unmarshal(text, &members) != nil {
			return
		}
		// Fewer, because encoding/json takes all that is no UTF-8 for the same.
		require.GreaterOrEqual(t, len(seen), len(members))
	})
}
