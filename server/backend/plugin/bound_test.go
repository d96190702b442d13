//go:build cgo && linux

package plugin_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server"
	"triton/server/hostpolicy"
	"triton/server/hostpolicy/hostpolicytest"
)

// TestBoundBackend: a library finds the settings in the message, and is called on bound threads only,
// whatever its execution policy.
func TestBoundBackend(t *testing.T) {
	settings, bound := hostpolicytest.Narrow(t)
	models := map[string]string{
		"named":   echo("describe", `instance_group { count: 1 kind: KIND_CPU host_policy: "narrow" }`),
		"default": echo("describe", "instance_group { count: 1 kind: KIND_MODEL }"),
		"unbound": echo("describe", "instance_group { count: 1 kind: KIND_CPU }"),
	}
	for _, thread := range []string{"", "any", "instance"} {
		s := serve(t, models, func(o *server.Options) {
			o.HostPolicies = hostpolicy.Policies{"narrow": settings, "model": settings}
			o.BackendSettings = map[string]map[string]string{"scripted": {"execution-thread": thread}}
		})
		for model, policy := range map[string]string{"named": "narrow", "default": "model"} {
			for range 3 {
				p := s.infer(t, model, 1).Parameters
				message, err := json.Marshal(map[string]any{policy: settings})
				require.NoError(t, err)
				require.JSONEq(t, string(message), p["policy"].(string))
				require.EqualValues(t, bound, p["bound"], model)
			}
		}
		p := s.infer(t, "unbound", 1).Parameters
		require.Equal(t, `{"cpu":{}}`, p["policy"])
		require.EqualValues(t, hostpolicytest.Of("/proc/self"), p["bound"])
	}
}

// TestBoundInitialization: the library starts its own threads in ModelInstanceInitialize.
func TestBoundInitialization(t *testing.T) {
	settings, bound := hostpolicytest.Narrow(t)
	for _, group := range []string{"KIND_CPU", "KIND_MODEL"} {
		s := serve(t, map[string]string{"m": echo("describe", "instance_group { count: 1 kind: "+group+" }")}, func(o *server.Options) {
			o.HostPolicies = hostpolicy.Policies{"cpu": settings}
		})
		want := hostpolicytest.Of("/proc/self")
		if group == "KIND_CPU" {
			want = bound
		}
		require.EqualValues(t, want, s.infer(t, "m", 1).Parameters["initialized"])
	}
}

// TestSharedBoundThread: the thread that the instances of a device share is bound too.
func TestSharedBoundThread(t *testing.T) {
	settings, bound := hostpolicytest.Narrow(t)
	s := serve(t, map[string]string{
		"m": echo("describe", "instance_group { count: 2 kind: KIND_CPU }"),
	}, func(o *server.Options) {
		o.HostPolicies = hostpolicy.Policies{"cpu": settings}
		o.BackendDirectory = build(t, "backend.c", "scripted", "-DDEVICE_BLOCKING")
	})
	for range 4 {
		require.EqualValues(t, bound, s.infer(t, "m", 1).Parameters["bound"])
	}
}
