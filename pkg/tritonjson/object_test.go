package tritonjson_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/pkg/status"
	"triton/pkg/tritonjson"
)

// FuzzParseObject compares the members of an object with those that encoding/json
// finds.
func FuzzParseObject(f *testing.F) {
	for _, seed := range []string{`{"ready":true}`, `{"a":{"b":[1,"x\u00e9"]},"a":null}`, `[]`, ` {"parameters" : {"config":"{}"}}`, `{"ready":1`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		o, err := tritonjson.ParseObject(text)
		if err != nil {
			return
		}
		seen := map[string]bool{}
		require.NoError(t, o.Each(func(name string, _ tritonjson.Value) error {
			_, ok := o.Get(name)
			require.True(t, ok, "%q", name)
			seen[name] = true
			return nil
		}))
		var members map[string]json.RawMessage
		if json.Unmarshal(text, &members) != nil {
			return
		}
		// There may be fewer, as encoding/json reads all that is not UTF-8 as U+FFFD.
		require.GreaterOrEqual(t, len(seen), len(members))
	})
}

func TestValueAccess(t *testing.T) {
	t.Parallel()
	o, err := tritonjson.ParseObject([]byte(`{"s":"a\u00e9","b":true,"u":7,"n":null,"o":{"x":1},"a":["p","q"],"m":["p",1],"neg":-1}`))
	require.NoError(t, err)
	get := func(name string) tritonjson.Value {
		v, ok := o.Get(name)
		require.True(t, ok, name)
		return v
	}
	s, err := get("s").String()
	require.NoError(t, err)
	require.Equal(t, "aé", s)
	b, err := get("b").Bool()
	require.NoError(t, err)
	require.True(t, b)
	u, err := get("u").Uint()
	require.NoError(t, err)
	require.EqualValues(t, 7, u)
	list, err := get("a").Strings()
	require.NoError(t, err)
	require.Equal(t, []string{"p", "q"}, list)
	inner, err := get("o").Object()
	require.NoError(t, err)
	_, ok := inner.Get("x")
	require.True(t, ok)
	require.True(t, get("n").IsNull())
	require.False(t, get("s").IsNull())
	_, ok = o.Get("missing")
	require.False(t, ok)

	_, err = get("u").String()
	require.EqualError(t, err, "attempt to access JSON non-string as string")
	_, err = get("m").Strings()
	require.EqualError(t, err, "attempt to access JSON non-string as string")
	_, err = get("u").Strings()
	require.EqualError(t, err, "attempt to access JSON non-array as array")
	_, err = get("u").Bool()
	require.EqualError(t, err, "attempt to access JSON non-boolean as boolean")
	_, err = get("neg").Uint()
	require.EqualError(t, err, "attempt to access JSON non-unsigned-integer as unsigned-integer")
	_, err = get("a").Object()
	require.EqualError(t, err, "attempt to access JSON non-object as object")
}

// TestMembersTwice: of two members of one name, one would be lost.
func TestMembersTwice(t *testing.T) {
	t.Parallel()
	_, err := tritonjson.ParseObject([]byte(`{"a":1,"b":2,"a":1}`))
	require.EqualError(t, err, "the request has more than one member 'a'")
	require.Equal(t, status.InvalidArg, status.CodeOf(err))
	o, err := tritonjson.ParseObject([]byte(`{"a":{"x":1,"\u0078":2}}`))
	require.NoError(t, err)
	v, ok := o.Get("a")
	require.True(t, ok)
	_, err = v.Object()
	require.EqualError(t, err, "the request has more than one member 'x'")
}
