package frontend

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestParseRestrictions compares with the errors of NVIDIA's server for each argument.
func TestParseRestrictions(t *testing.T) {
	t.Parallel()
	const format = "--%s option format is '<config name>:<setting>=<value>'. Got "
	for _, c := range []struct{ args, want string }{
		{"health", format + "health"},
		{"health:x", format + "health:x"},
		{"health=x", format + "health=x"},
		{":a=b", format + ":a=b"},
		{"health:a=", format + "health:a="},
		{"health:=b", format + "health:=b"},
		{"", format},
		{"foo:a=b", "unknown restricted %s 'foo' "},
		{"health,foo:a=b", "unknown restricted %s 'foo' "},
		{"health,health:a=b", "restricted %s 'health' can not be specified in multiple config groups"},
		{"health:a=b metadata,health:a=b", "restricted %s 'health' can not be specified in multiple config groups"},
		{"health,:a=b", "unknown restricted %s '' "},
		{"healthy:a=b", "unknown restricted %s 'healthy' "},
		{"Health:a=b", "unknown restricted %s 'Health' "},
		{"health=a:b=c", "unknown restricted %s 'health=a' "},
		{"health:a=b=c", ""},
		{"health:a:b=c", ""},
		{"health:a=b metadata:a=c", ""},
	} {
		for word, flag := range map[string]string{RestrictedAPI: "http-restricted-api", RestrictedProtocol: "grpc-restricted-protocol"} {
			_, err := ParseRestrictions(word, strings.Split(c.args, " "))
			if c.want == "" {
				require.NoError(t, err, c.args)
				continue
			}
			says := word
			if strings.HasPrefix(c.want, format) {
				says = flag
			}
			require.EqualError(t, err, strings.Replace(c.want, "%s", says, 1), c.args)
		}
	}
}

func TestRestrictions(t *testing.T) {
	t.Parallel()
	r, err := ParseRestrictions(RestrictedAPI, []string{"health,model-repository:key=a=b", "logging:x:y=z"})
	require.NoError(t, err)
	require.Equal(t, &SecretHeader{"key", "a=b"}, r.Needs(HealthCalls))
	require.Equal(t, &SecretHeader{"key", "a=b"}, r.Needs(ModelRepositoryCalls))
	require.Equal(t, &SecretHeader{"x:y", "z"}, r.Needs(LoggingCalls))
	for _, a := range []Category{MetadataCalls, InferenceCalls, SharedMemoryCalls, ModelConfigCalls, StatisticsCalls, TraceCalls} {
		require.Nil(t, r.Needs(a), a)
	}
	h := r.Needs(HealthCalls)
	require.True(t, h.Allows("a=b"))
	for _, v := range []string{"", "a", "a=b ", "A=b", "a=c"} {
		require.False(t, h.Allows(v), v)
	}
}

func FuzzParseRestrictions(f *testing.F) {
	f.Add("health,metadata:key=value")
	f.Add("health:a:b=c=d")
	f.Add(",:=")
	f.Fuzz(func(t *testing.T, arg string) {
		r, err := ParseRestrictions(RestrictedAPI, []string{arg})
		some := false
		for a := range categories {
			if h := r.Needs(a); h != nil {
				some = true
				if h.Name == "" || h.Value == "" || h.Allows("") || !h.Allows(h.Value) {
					t.Fatalf("%q gives rule %q", arg, *h)
				}
			}
		}
		if some == (err != nil) {
			t.Fatalf("%q: %v, rules %v", arg, err, some)
		}
	})
}
