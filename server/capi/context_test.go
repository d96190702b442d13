package capi

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAddActivity(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ context, name, want string }{
		{"", "a", `{"7":"a"}`},
		{"{}", "a", `{"7":"a"}`},
		{` { "traceparent" : "x" } `, `a"b`, `{"traceparent" : "x","7":"a\"b"}`},
		{`{"6":"first"}`, "second", `{"6":"first","7":"second"}`},
		{`[1]`, "a", `{"7":"a"}`},
		{`{"cut`, "a", `{"7":"a"}`},
	} {
		require.Equal(t, c.want, string(addActivity([]byte(c.context), 7, c.name)), "%q", c.context)
	}
}

// A context stays a JSON object whatever programs set it to.
func FuzzAddActivity(f *testing.F) {
	f.Add([]byte(`{"traceparent":"x"}`), uint64(1), "name")
	f.Add([]byte("{"), uint64(0), "\xff\"")
	f.Fuzz(func(t *testing.T, context []byte, ns uint64, name string) {
		var object map[string]any
		require.NoError(t, json.Unmarshal(addActivity(context, ns, name), &object))
		require.NotEmpty(t, object)
	})
}
