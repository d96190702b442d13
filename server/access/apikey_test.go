package access

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

var at = time.Date(2027, 1, 2, 3, 4, 5, 0, time.UTC)

func TestAPIKeys(t *testing.T) {
	t.Parallel()
	key, e, err := NewAPIKey("alice", at, time.Time{})
	require.NoError(t, err)
	require.Len(t, key, apiKeyLength)
	short, f, err := NewAPIKey("bob", at, at.Add(time.Hour))
	require.NoError(t, err)
	require.NotEqual(t, key, short)

	file := FormatAPIKeys([]APIKey{e, f})
	require.NotContains(t, string(file), key)
	require.NotContains(t, string(file), key[len(apiKeyPrefix):])
	again, err := ParseAPIKeys(file)
	require.NoError(t, err)
	require.Equal(t, []APIKey{e, f}, again)

	keys := NewAPIKeys(again)
	require.Equal(t, 2, keys.Len())
	who, expires, ok := keys.Find(key, at)
	require.True(t, ok)
	require.Equal(t, "key:alice", who.Name)
	require.Zero(t, expires)
	_, _, ok = keys.Find(short, at.Add(time.Hour-1))
	require.True(t, ok)
	_, _, ok = keys.Find(short, at.Add(time.Hour))
	require.False(t, ok, "expired")
	for _, wrong := range []string{"", "x", key[:apiKeyLength-1], key + "x", key[:apiKeyLength-1] + "!", strings.ToUpper(key), fmt.Sprintf("%x", e.hash)[:apiKeyLength]} {
		_, _, ok = keys.Find(wrong, at)
		require.False(t, ok, wrong)
	}
}

func TestKeyFileMistakes(t *testing.T) {
	t.Parallel()
	hash := apiKeyScheme + strings.Repeat("0", 64)
	secret, _, err := NewAPIKey("x", at, time.Time{})
	require.NoError(t, err)
	for _, c := range []struct{ text, want string }{
		{"alice", "line 1: expected <owner> sha256:<hash>"},
		{"# x\nalice " + secret, "line 2: the second word is not sha256:"},
		{secret + " " + secret, "line 1: the second word"},
		{"a*b " + hash, "line 1: the first word is no owner"},
		{"a " + hash + "0", "line 1: the second word"},
		{"a " + hash + " expires=tomorrow", "line 1: expected created=<time> or expires=<time> with a time"},
		{"a " + hash + " until=2027-01-31T00:00:00Z", "line 1: expected created"},
		{"a " + hash + "\nb " + hash, "line 2: the key is in line 1 already"},
		{"a " + hash + strings.Repeat(" ", 1<<17), "line 1: bufio.Scanner: token too long"},
	} {
		_, err := ParseAPIKeys([]byte(c.text))
		require.ErrorContains(t, err, c.want)
		require.NotContains(t, err.Error(), secret, "the error quotes a key")
	}
	for _, owner := range []string{"", "a b", "a\nb", "a#b", "a*", strings.Repeat("x", 129), "ä"} {
		_, _, err := NewAPIKey(owner, at, time.Time{})
		require.Error(t, err, owner)
	}
}

func FuzzParse(f *testing.F) {
	_, e, err := NewAPIKey("alice", at, at)
	require.NoError(f, err)
	f.Add(string(FormatAPIKeys([]APIKey{e})))
	f.Add("a sha256:00")
	f.Fuzz(func(t *testing.T, text string) {
		entries, err := ParseAPIKeys([]byte(text))
		if err != nil {
			return
		}
		again, err := ParseAPIKeys(FormatAPIKeys(entries))
		if err != nil || len(again) != len(entries) {
			t.Fatalf("%q: %v, %d of %d entries come back", text, err, len(again), len(entries))
		}
	})
}

func BenchmarkFind(b *testing.B) {
	key, e, err := NewAPIKey("alice", at, time.Time{})
	require.NoError(b, err)
	keys := NewAPIKeys([]APIKey{e})
	b.ReportAllocs()
	for b.Loop() {
		if _, _, ok := keys.Find(key, at); !ok {
			b.Fatal()
		}
	}
}
