package repository

import (
	"crypto/md5"
	"encoding/hex"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"triton/server/backend"
	"triton/server/cache"
	"triton/server/infer"
)

const plainModel = `backend: "python" input { name: "IN" data_type: TYPE_INT32 dims: [ -1 ] } output { name: "OUT" data_type: TYPE_INT32 dims: [ -1 ] } `

const overPlain = `platform: "ensemble" input { name: "IN" data_type: TYPE_INT32 dims: [ -1 ] } output { name: "OUT" data_type: TYPE_INT32 dims: [ -1 ] }
ensemble_scheduling { step { model_name: "p" model_version: -1 input_map { key: "IN" value: "IN" } output_map { key: "OUT" value: "OUT" } } } `

const asSequence = ` sequence_batching { } max_batch_size: 2 `

// loadOne loads model m of a repository that has it and the model p.
func loadOne(t *testing.T, config string) (logged string, why error) {
	t.Helper()
	dir := tree(t, map[string]string{"m/config.pbtxt": config, "m/1/model.py": "pass\n", "p/config.pbtxt": plainModel, "p/1/model.py": ""})
	r, log, err := open(t, func(o *Options) {
		o.Control, o.Backends = ControlExplicit, backend.Set{"python": snake}
	}, dir)
	require.NoError(t, err)
	err = r.Load(t.Context(), "m", infer.LoadOptions{})
	return log.messages(), err
}

// TestRepositoryAgents: an agent that the server does not have stops the load of
// every kind of model, as on NVIDIA's server, and checksum compares files.
func TestRepositoryAgents(t *testing.T) {
	t.Parallel()
	sum := md5.Sum([]byte("pass\n"))
	right := hex.EncodeToString(sum[:])
	agent := func(name, key, value string) string {
		return `model_repository_agents { agents { name: "` + name + `" parameters { key: "` + key + `" value: "` + value + `" } } }`
	}
	kinds := map[string]string{
		"plain": plainModel, "sequence": plainModel + asSequence, "ensemble": overPlain,
		"decoupled": plainModel + "model_transaction_policy { decoupled: true } ",
	}
	for name, test := range map[string]struct{ text, why string }{
		"unknown":                 {agent("nosuch", "a", "b"), "unable to find 'libtritonrepoagent_nosuch.so' for repo agent 'nosuch'"},
		"none":                    {"model_repository_agents { }", ""},
		"right sum":               {agent("checksum", "MD5:1/model.py", right), ""},
		"wrong sum":               {agent("checksum", "MD5:1/model.py", "00"), "Mismatched MD5 hash for file 1/model.py, expect: 00, got: " + right},
		"lower case":              {agent("checksum", "md5:1/model.py", right), ""},
		"no file":                 {agent("checksum", "MD5:1/other", "00"), "failed to open text file for read 1/other: No such file or directory"},
		"a file outside":          {agent("checksum", "MD5:../p/1/model.py", "00"), "failed to open text file for read ../p/1/model.py: it is outside of the model's directory"},
		"no algorithm":            {agent("checksum", "1/model.py", "00"), "failed to parse key: 1/model.py"},
		"another algorithm":       {agent("checksum", "SHA1:1/model.py", "00"), "Unsupported checksum algorithm: SHA1"},
		"the second of two fails": {strings.Replace(agent("checksum", "MD5:1/model.py", right), "} } }", `} } agents { name: "x" } }`, 1), "unable to find 'libtritonrepoagent_x.so' for repo agent 'x'"},
	} {
		for kind, config := range kinds {
			t.Run(name+"/"+kind, func(t *testing.T) {
				t.Parallel()
				log, err := loadOne(t, config+test.text)
				if test.why == "" {
					require.NoError(t, err)
					return
				}
				require.ErrorContains(t, err, "failed to load 'm', failed to poll from model repository: "+test.why)
				require.Contains(t, log, "Poll failed for model directory 'm': "+test.why)
			})
		}
	}
}

// TestRuntime: a backend library that the server does not have fails the load. For an ensemble,
// which has no backend, the field is ignored, as by NVIDIA's server.
func TestRuntime(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ config, why string }{
		"its own":            {plainModel + `runtime: "libtriton_python.so"`, ""},
		"another":            {plainModel + `runtime: "libnothing.so"`, "unable to find backend library 'libnothing.so' for model 'm', searched: "},
		"another, sequences": {plainModel + asSequence + `runtime: "libnothing.so"`, "unable to find backend library 'libnothing.so' for model 'm', searched: "},
		"a Python backend":   {plainModel + `runtime: "model.py"`, "unable to find Python backend based backend library 'model.py' for model 'm', searched: 'python/model.py'"},
		"an ensemble":        {overPlain + `runtime: "libnothing.so"`, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := loadOne(t, test.config)
			if test.why == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, test.why)
			}
		})
	}
}

// TestNoEffectIsLogged: a field without effect does not fail a load, but is logged.
func TestNoEffectIsLogged(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ config, want string }{
		{plainModel + `instance_group { kind: KIND_CPU host_policy: "x" }`, "host policy 'x' has no effect: no --host-policy=x,<setting>=<value> is given"},
		{overPlain + `runtime: "x"`, "runtime has no effect: an ensemble has no backend; set it for the composing models"},
	} {
		log, err := loadOne(t, test.config)
		require.NoError(t, err)
		require.Contains(t, log, `W "model 'm': `+test.want+`"`)
	}
}

// TestFieldsOfAnEnsemble: class names come from the step's model where the ensemble
// has none, and a decoupled step keeps the ensemble from being cached, as on
// NVIDIA's server.
func TestFieldsOfAnEnsemble(t *testing.T) {
	t.Parallel()
	labeled := strings.Replace(plainModel, `name: "OUT"`, `name: "OUT" label_filename: "l.txt"`, 1)
	own := strings.Replace(overPlain, `name: "OUT"`, `name: "OUT" label_filename: "own.txt"`, 1)
	dir := tree(t, map[string]string{
		"p/config.pbtxt": labeled, "p/1/model.py": "", "p/l.txt": "x\ny\n",
		"m/config.pbtxt": overPlain, "m/1/": "", "own/config.pbtxt": own, "own/1/": "", "own/own.txt": "a\n",
		"d/config.pbtxt": plainModel + "model_transaction_policy { decoupled: true }", "d/1/model.py": "",
		"cached/config.pbtxt": strings.Replace(overPlain, `"p"`, `"d"`, 1) + "response_cache { enable: true }", "cached/1/": "",
	})
	r, _, err := open(t, func(o *Options) {
		o.Control, o.Backends, o.Startup = ControlExplicit, backend.Set{"python": snake}, []string{"m", "own"}
		o.Cache = cache.NewLocal(1<<20, o.Pool)
	}, dir)
	require.NoError(t, err)
	for name, want := range map[string][]string{"m": {"x", "y"}, "own": {"a"}} {
		m, err := r.Model(name, "")
		require.NoError(t, err)
		require.Equal(t, want, m.Labels("OUT"), name)
		m.Release()
	}
	require.ErrorContains(t, r.Load(t.Context(), "cached", infer.LoadOptions{}),
		"Response Cache does not currently support model cached with 'decoupled' transaction policy. Please disable the response cache.")
}
