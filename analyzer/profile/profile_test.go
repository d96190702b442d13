package profile

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"triton/analyzer/bench"
	"triton/analyzer/settings"
	"triton/analyzer/trial"
	"triton/pkg/gpu"
	"triton/pkg/modelconfig"
)

var (
	batch16 = trial.Patch{"max_batch_size": 16}
	batch32 = trial.Patch{"max_batch_size": 32}
)

func TestRun(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "m", "n")
	w.proposals = []trial.Proposal{propose("m", 1, nil), propose("m", 2, nil), propose("m", 1, batch16), propose("n", 4, nil)}
	r, err := w.run()
	require.NoError(t, err)
	require.Len(t, r.Models, 2)
	assert.Equal(t, []string{"m_config_default 8", "m_config_default 16", "m_config_0 16"}, names(r.Models[0].Results))
	assert.Equal(t, []string{"n_config_default 32"}, names(r.Models[1].Results))
	assert.Equal(t, "all proposals are measured", r.Models[0].Reason)
	assert.Equal(t, w.proposals[2], r.Models[0].Results[2].Proposal)
	assert.True(t, r.CPUOnly, "there are no devices")
	assert.False(t, r.Interrupted)

	// Nobody reads memory: one server for the completion and all variants.
	assert.Len(t, w.mu.setups, 1)
	assert.Equal(t, []string{"load m", "load n", "load m", "load m", "load n"}, w.mu.events)
	assert.Equal(t, []string{"n", "m"}, w.mu.unloaded, "what the next trial does not have")
	for _, variant := range []string{"m_config_default", "m_config_0", "n_config_default"} {
		assert.FileExists(t, filepath.Join(w.settings.OutputModelRepository, variant, modelconfig.FileName))
	}
	// The search gets each result, nil at first.
	require.Len(t, w.mu.results, 6)
	assert.Nil(t, w.mu.results[0])
	assert.InDelta(t, 16, w.mu.results[3].Measurement.Members[0][trial.Throughput], 0)
	// The generator gets the address of the server that runs, the checkpoint that of the options.
	o := w.mu.runs[0][0]
	assert.Equal(t, "127.0.0.1:2", o.Get("url"))
	assert.Equal(t, "http://127.0.0.1:3/metrics", o.Get("metrics-url"))
	s, _, next, err := CheckpointDirectory(w.settings.CheckpointDirectory).Latest()
	require.NoError(t, err)
	assert.Equal(t, 1, next)
	assert.Equal(t, "m_config_default -m m -b 1 -i grpc -f m-results.csv --verbose-csv --concurrency-range=1 --measurement-mode=count_windows "+
		"--collect-metrics --metrics-url=http://localhost:8002/metrics --metrics-interval=1", s.Trials[0].Key)
}

// The default variant is the user's own configuration. When that is edited, nothing that was
// measured before is reused for it; the names of other variants stand for whole configurations.
func TestResumeAfterEdit(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "m")
	w.proposals = []trial.Proposal{propose("m", 1, nil), propose("m", 2, nil), propose("m", 2, batch16)}
	_, err := w.run()
	require.NoError(t, err)
	w.add("m", `name: "m" backend: "b" max_batch_size: 8 dynamic_batching {}`)
	w.again()
	r, err := w.run()
	require.NoError(t, err)
	require.Len(t, w.mu.runs, 3)
	assert.Contains(t, w.mu.notices, "The configuration of m_config_default has changed; measurements of the checkpoint that are not used: 2")
	assert.Equal(t, []string{"m_config_default 8", "m_config_default 16", "m_config_1 32"}, names(r.Models[0].Results))
	w.again()
	_, err = w.run()
	require.NoError(t, err)
	assert.Empty(t, w.mu.runs, "what was measured with the new configuration is reused")
}

// A second run measures only what is missing; its names go on where those of the first ended.
func TestResume(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "m")
	w.proposals = []trial.Proposal{propose("m", 1, batch16), propose("m", 2, batch16)}
	_, err := w.run()
	require.NoError(t, err)
	w.again()
	w.proposals = append(w.proposals, propose("m", 2, batch32))
	r, err := w.run()
	require.NoError(t, err)
	require.Len(t, w.mu.runs, 1)
	assert.Equal(t, []string{"m_config_0 16", "m_config_0 32", "m_config_1 64"}, names(r.Models[0].Results))
	assert.Contains(t, w.mu.notices, "Existing measurement found for run config. Skipping profile")
	assert.Contains(t, w.mu.notices, "Loaded checkpoint from file "+filepath.Join(w.settings.CheckpointDirectory, "0.ckpt"))
	for _, n := range []string{"0.ckpt", "1.ckpt"} {
		assert.FileExists(t, filepath.Join(w.settings.CheckpointDirectory, n))
	}

	// Other flags of the server make other measurements.
	w.again()
	w.settings.Models[0].ServerFlags = settings.Flags{{Name: "log-verbose", Values: []string{"1"}}, {Name: "http-port", Values: []string{"9"}}}
	_, err = w.run()
	require.NoError(t, err)
	assert.Len(t, w.mu.runs, 3)
	assert.Equal(t, []string{"--log-verbose=1"}, w.mu.setups[len(w.mu.setups)-1].Flags)

	// So does another environment.
	w.again()
	w.settings.Models[0].ServerEnvironment = map[string]string{"OMP_NUM_THREADS": "1"}
	_, err = w.run()
	require.NoError(t, err)
	assert.Len(t, w.mu.runs, 3)
	w.again()
	_, err = w.run()
	require.NoError(t, err)
	assert.Empty(t, w.mu.runs, "the same environment again")

	// The report of the checkpoint alone is the same.
	recorded, err := ReadRecorded(w.settings)
	require.NoError(t, err)
	assert.Equal(t, []string{
		"m_config_0 16", "m_config_0 32", "m_config_1 64", "m_config_0 16", "m_config_0 32", "m_config_1 64",
		"m_config_0 16", "m_config_0 32", "m_config_1 64",
	}, names(recorded.Models[0].Results))
	assert.Equal(t, "m", recorded.Models[0].Members[0].Model)
	assert.Equal(t, trial.DefaultObjectives(), recorded.Models[0].Goals()[0].Objectives)
	// So do other arguments of containers.
	w.again()
	w.settings.Server.LaunchMode = settings.Docker
	w.settings.Models[0].DockerArgs = map[string]any{"mem_limit": "1g"}
	_, err = w.run()
	require.NoError(t, err)
	assert.Len(t, w.mu.runs, 3)
	assert.Equal(t, w.settings.Models[0].DockerArgs, w.mu.setups[len(w.mu.setups)-1].Container)

	w.settings.CheckpointDirectory = t.TempDir()
	_, err = ReadRecorded(w.settings)
	require.ErrorContains(t, err, "no checkpoint found")
}

// A run that is killed loses the trial that it measured, no other.
func TestSavedAfterEachTrial(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "m")
	w.proposals = []trial.Proposal{propose("m", 1, nil), propose("m", 2, nil), propose("m", 3, nil)}
	var saved []int
	w.beforeTrial = func(int) {
		s, _, _, err := CheckpointDirectory(w.settings.CheckpointDirectory).Latest()
		require.NoError(t, err)
		if s != nil {
			saved = append(saved, len(s.Trials))
		}
	}
	_, err := w.run()
	require.NoError(t, err)
	assert.Equal(t, []int{1, 2}, saved)
}

func TestFailures(t *testing.T) {
	t.Parallel()
	fails := func(text string) func(string, string) error {
		return func(_, config string) error {
			if config == "" { // completion
				return nil
			}
			return errors.New(text)
		}
	}
	for name, c := range map[string]struct {
		setup func(w *world)
		want  []string
		err   string
	}{
		"load": {
			func(w *world) { w.loadErr = fails("no backend") },
			[]string{"m_config_default other", "m_config_default other"},
			"The first 2 attempts to acquire measurements have failed.",
		},
		"out of memory": {func(w *world) {
			w.loadErr = func(_, config string) error {
				if config != "" && w.mu.loaded != nil && len(w.mu.runs) == 1 {
					return errors.New("CUDA error: out of memory")
				}
				return nil
			}
			w.proposals = []trial.Proposal{propose("m", 1, nil), propose("m", 1, batch16)}
		}, []string{"m_config_default 8", "m_config_0 gpu_oom_load"}, ""},
		"memory limit": {func(w *world) {
			w.loadErr = fails("load failed for model 'm': can not create model 'm': memory limit set for GPU 0 has exceeded, model loading is rejected.")
			w.proposals = w.proposals[:1]
		}, []string{"m_config_default limit_rejected"}, "no measurement succeeded; the last failure: load m_config_default: "},
		"out of memory at run": {func(w *world) {
			w.measure = func(bench.LoadOptions) bench.Outcome {
				return bench.Outcome{Err: errors.New("onnx: Failed to allocate memory for requested buffer of size 10")}
			}
			w.proposals = w.proposals[:1]
		}, []string{"m_config_default host_oom"}, "no measurement succeeded; the last failure: model m: onnx: "},
		"out of GPU memory at run": {func(w *world) {
			w.devices = []gpu.Device{{UUID: "GPU-1"}}
			w.measure = func(bench.LoadOptions) bench.Outcome {
				return bench.Outcome{Err: errors.New("onnx: Failed to allocate memory for requested buffer of size 10")}
			}
			w.proposals = w.proposals[:1]
		}, []string{"m_config_default gpu_oom_run"}, "no measurement succeeded; the last failure: model m: onnx: "},
		"killed": {func(w *world) { w.dieUnder = 1 }, []string{"m_config_default host_oom", "m_config_default 16"}, ""},
		"illegal": {func(w *world) {
			p := propose("m", 1, nil)
			p.Members[0].Load.Batch = 9
			w.proposals = []trial.Proposal{p, propose("m", 1, trial.Patch{"dynamic_batching": map[string]any{"preferred_batch_size": []int{16}}}), propose("m", 1, nil)}
		}, []string{"m_config_default other", "m_config_0 other", "m_config_default 8"}, ""},
		"unknown model": {func(w *world) {
			p := propose("m", 1, nil)
			w.proposals = []trial.Proposal{p, {Members: []trial.ProposedMember{{Model: "m", Composing: []trial.ProposedMember{{Model: "x"}}}}}}
		}, []string{"m_config_default 8", " other"}, `the search proposes model "x", which is not profiled`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "m")
			w.proposals = []trial.Proposal{propose("m", 1, nil), propose("m", 2, nil), propose("m", 3, nil)}
			if c.err == "" {
				w.proposals = w.proposals[:2]
			}
			c.setup(w)
			r, err := w.run()
			if c.err == "" {
				require.NoError(t, err)
			} else {
				require.ErrorContains(t, err, c.err)
				if r.Models[0].Err != nil {
					require.ErrorIs(t, err, r.Models[0].Err)
				}
			}
			for i := range c.want {
				if c.want[i] == " other" {
					c.want[i] = "other"
				}
			}
			assert.Equal(t, c.want, names(r.Models[0].Results))
		})
	}
}

// The output of failed runs of the load generator is kept, and a failed server is replaced.
func TestErrorLog(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "m")
	w.proposals = []trial.Proposal{propose("m", 1, nil), propose("m", 2, nil)}
	w.measure = func(o bench.LoadOptions) bench.Outcome {
		if o.Get("concurrency-range") == "1" {
			return bench.Outcome{Err: errors.New("refused"), Output: "E: refused\n"}
		}
		return bench.Outcome{Figures: bench.Figures{Values: trial.Values{}}}
	}
	_, err := w.run()
	require.NoError(t, err)
	text, err := os.ReadFile(filepath.Join(w.settings.Output.ExportPath, "perf_analyzer_error.log"))
	require.NoError(t, err)
	assert.Contains(t, string(text), "--concurrency-range=1")
	assert.Contains(t, string(text), "Error: refused\nE: refused\n")
}

func TestNoServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "m")
	w.launchErr = errors.New("no such program")
	r, err := w.run()
	require.ErrorIs(t, err, ErrNoServer)
	require.ErrorContains(t, err, "no such program")
	require.Empty(t, r.Models)
	require.NoDirExists(t, w.settings.OutputModelRepository, "an empty folder would be in the way of the next run")
}

// The first interrupt lets the running measurement finish; what was measured is reported.
func TestInterrupt(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "m", "n")
	w.proposals = []trial.Proposal{propose("m", 1, nil), propose("m", 2, nil), propose("m", 3, nil), propose("n", 1, nil)}
	w.beforeTrial = func(n int) {
		if n == 2 {
			close(w.mu.interrupt)
		}
	}
	r, err := w.run()
	require.NoError(t, err)
	assert.True(t, r.Interrupted)
	require.Len(t, r.Models, 1)
	assert.Equal(t, []string{"m_config_default 8", "m_config_default 16"}, names(r.Models[0].Results))
	assert.Equal(t, "interrupted", r.Models[0].Reason)
}

// TestCancel: cancelling the context drops the running measurement.
func TestCancel(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "m")
	w.proposals = []trial.Proposal{propose("m", 1, nil), propose("m", 2, nil)}
	ctx, cancel := context.WithCancel(t.Context())
	w.beforeTrial = func(n int) {
		if n == 2 {
			cancel()
		}
	}
	r, err := Run(ctx, w.settings, w.deps())
	require.NoError(t, err)
	assert.True(t, r.Interrupted)
	assert.Equal(t, []string{"m_config_default 8"}, names(r.Models[0].Results))
	require.Zero(t, w.mu.open)
}

// A used-up budget ends the searches as a plan does, not as an interrupt.
func TestBudget(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "m", "n")
	w.settings.Budget = time.Nanosecond
	w.proposals = []trial.Proposal{propose("m", 1, nil), propose("m", 2, nil)}
	r, err := w.run()
	require.NoError(t, err)
	assert.False(t, r.Interrupted)
	assert.Len(t, r.Models[0].Results, 1, "one is measured in any case")
	assert.Equal(t, []string{"n is not profiled: the budget of 1ns is used up"}, r.Warnings)

	w = newWorld(t, "m")
	w.settings.Budget = time.Hour
	w.proposals = []trial.Proposal{propose("m", 1, nil), propose("m", 2, nil)}
	w.beforeTrial = func(int) { w.settings.Budget = time.Nanosecond }
	r, err = w.run()
	require.NoError(t, err)
	assert.Len(t, r.Models[0].Results, 1)
	assert.Equal(t, "the budget of 1ns is used up", r.Models[0].Reason)
}

// TestCompletion: minimal configurations are completed by the server before the search sees them.
func TestCompletion(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "m")
	w.add("m", `name: "m" backend: "b"`)
	w.served["m"] = `name: "m" backend: "b" max_batch_size: 4 instance_group { count: 1 kind: KIND_CPU }`
	w.add("bare", "")
	w.served["bare"] = `name: "bare" backend: "b" max_batch_size: 2`
	w.add("broken", `name: "broken" backend: "b"`)
	w.loadErr = func(model, _ string) error {
		if model == "broken" {
			return errors.New("no file")
		}
		return nil
	}
	w.settings.Models = append(w.settings.Models, settings.Model{Name: "bare"}, settings.Model{Name: "broken"})
	r, err := w.run()
	require.NoError(t, err)
	require.Len(t, w.mu.subjects, 3)
	for i, batch := range []int32{4, 2, 0} {
		assert.Equal(t, batch, w.mu.subjects[i].Models[0].Config.GetMaxBatchSize())
	}
	assert.Empty(t, w.mu.subjects[0].Models[0].Config.GetInstanceGroup())
	require.Len(t, r.Warnings, 1)
	assert.Contains(t, r.Warnings[0], `model "broken" could not be loaded to complete its configuration, which is taken as it is: no file`)

	w.again()
	w.settings.Models = []settings.Model{{Name: "absent"}}
	_, err = w.run()
	require.ErrorContains(t, err, `model "absent"`)
	assert.NoDirExists(t, w.settings.OutputModelRepository, "the corrected run does not find it")
}

// TestConfigName: what a user wrote is in the file that the servers are told to read.
func TestConfigName(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "m")
	w.add("m", `name: "m" backend: "b" max_batch_size: 2`)
	folder := filepath.Join(w.settings.ModelRepository, "m", modelconfig.NamedFolder)
	require.NoError(t, os.Mkdir(folder, 0o755))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "large.pbtxt"), []byte(`backend: "b" max_batch_size: 16`), 0o600))
	r := &runner{settings: w.settings}
	for _, flags := range []settings.Flags{nil, {{Name: "model-config-name", Values: []string{"none"}}}} {
		r.settings.Global.ServerFlags, r.settings.Models = flags, []settings.Model{{Name: "m", ServerFlags: flags}}
		c, err := r.writtenConfig("m")
		require.NoError(t, err)
		require.EqualValues(t, 2, c.GetMaxBatchSize())
	}
	large := settings.Flags{{Name: "model-config-name", Values: []string{"large"}}}
	for _, models := range [][]settings.Model{{{Name: "m", ServerFlags: large}}, {{Name: "calls m"}}} {
		r.settings.Global.ServerFlags, r.settings.Models = large, models
		c, err := r.writtenConfig("m")
		require.NoError(t, err)
		require.EqualValues(t, 16, c.GetMaxBatchSize())
		require.Equal(t, "m", c.GetName())
	}
}

// TestEnsemble: models that another one calls are loaded first, under their own names, and written to the repository
// under both names.
func TestEnsemble(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "e")
	w.add("e", `name: "e" platform: "ensemble" ensemble_scheduling {
step { model_name: "a" model_version: -1 } step { model_name: "b" model_version: -1 } step { model_name: "a" model_version: -1 } }`)
	w.add("a", `name: "a" backend: "x" max_batch_size: 8`)
	w.add("b", `name: "b" backend: "x" max_batch_size: 8`)
	w.settings.EnsembleComposing = []settings.Model{{Name: "b", CPUOnly: true}, {Name: "c"}}
	composed := func(a, b trial.Patch) trial.Proposal {
		p := propose("e", 1, nil)
		p.Members[0].Composing = []trial.ProposedMember{{Model: "a", Patch: a}, {Model: "b", Patch: b}}
		return p
	}
	w.proposals = []trial.Proposal{composed(nil, nil), composed(batch16, nil), composed(nil, batch16), composed(batch16, nil)}
	r, err := w.run()
	require.NoError(t, err)
	assert.Equal(t, []string{
		"e_config_default+a_config_default+b_config_default 1", "e_config_0+a_config_0+b_config_default 1",
		"e_config_1+a_config_default+b_config_0 1", "e_config_0+a_config_0+b_config_default 1",
	}, names(r.Models[0].Results))
	assert.Equal(t, []string{"a", "b"}, r.Models[0].Members[0].Composing)
	assert.True(t, r.Models[0].Members[0].Ensemble)
	assert.True(t, w.mu.subjects[0].Models[0].Composing[1].CPUOnly)
	assert.Equal(t, []string{
		"Brute search mode is not supported for ensemble models. Using run_config_search_mode quick.",
		"ensemble_composing_models: c is not a model of the ensemble and is ignored.",
	}, r.Warnings)
	assert.Equal(t, settings.Quick, w.mu.subjects[0].Mode)
	last := w.mu.events[len(w.mu.events)-3:]
	assert.Equal(t, []string{"load a", "load b", "load e"}, last)
	c, err := modelconfig.ReadFile(filepath.Join(w.settings.OutputModelRepository, "a", modelconfig.FileName))
	require.NoError(t, err)
	assert.Equal(t, int32(16), c.GetMaxBatchSize(), "the variant that ran last")

	w = newWorld(t, "e", "m")
	w.add("e", `name: "e" platform: "ensemble" ensemble_scheduling { step { model_name: "m" model_version: -1 } }`)
	_, err = w.run()
	require.ErrorContains(t, err, "Profiling of multiple models is not supported for ensemble models")
	w.again()
	w.settings.Models = w.settings.Models[:1]
	w.add("m", `name: "m" platform: "ensemble" ensemble_scheduling { step { model_name: "x" } }`)
	_, err = w.run()
	require.ErrorContains(t, err, "Model Analyzer does not support ensembles as a composing model type: m")
}

func TestConcurrentModels(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "m", "n")
	w.settings.Search.ConcurrentModels = true
	both := trial.Proposal{Members: []trial.ProposedMember{propose("m", 1, nil).Members[0], propose("n", 2, batch16).Members[0]}}
	w.proposals = []trial.Proposal{both}
	r, err := w.run()
	require.NoError(t, err)
	require.Len(t, r.Models, 1)
	assert.Equal(t, "m,n", r.Models[0].Name)
	assert.Equal(t, []string{"m_config_default 8 n_config_0 32"}, names(r.Models[0].Results))
	require.Len(t, w.mu.runs[0], 2, "one run of the generator for both")
}

func TestBLS(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "m")
	w.add("called", `name: "called" backend: "b"`)
	w.settings.BLSComposing = []settings.Model{{Name: "called"}}
	p := propose("m", 1, nil)
	p.Members[0].Composing = []trial.ProposedMember{{Model: "called", Patch: batch16}}
	w.proposals = []trial.Proposal{p}
	r, err := w.run()
	require.NoError(t, err)
	assert.Equal(t, []string{"m_config_0+called_config_0 8"}, names(r.Models[0].Results))
	assert.Equal(t, "called", w.mu.runs[0][0].Get("bls-composing-models"))
	assert.Equal(t, []string{"load called", "load m"}, w.mu.events[len(w.mu.events)-2:])
}

func TestGPUs(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "m")
	w.devices = []gpu.Device{{UUID: "GPU-1", Name: "A100"}}
	w.proposals = []trial.Proposal{propose("m", 1, nil)}
	r, err := w.run()
	require.NoError(t, err)
	assert.Equal(t, map[string]GPU{"GPU-1": {"A100", 8e9}}, r.GPUs)
	assert.InDelta(t, 2000, r.ServerOnly["GPU-1"][trial.GPUUsedMemory], 0)
	m := r.Models[0].Results[0].Measurement
	assert.InDelta(t, 6000, m.GPUs["GPU-1"][trial.GPUFreeMemory], 0)
	assert.InDelta(t, 50, m.GPUs["GPU-1"][trial.GPUUtilization], 0)
	assert.False(t, r.CPUOnly)
	assert.Contains(t, w.mu.notices, "Profiling server only metrics...")

	w.again()
	r, err = w.run()
	require.NoError(t, err)
	assert.Contains(t, w.mu.notices, "GPU devices match checkpoint - skipping server metric acquisition")
	assert.InDelta(t, 2000, r.ServerOnly["GPU-1"][trial.GPUUsedMemory], 0, "from the checkpoint")

	// On other devices the measurements are not valid.
	w.again()
	w.devices = []gpu.Device{{UUID: "GPU-2", Name: "A100"}}
	_, err = w.run()
	require.ErrorContains(t, err, "GPU devices do not match checkpoint - Remove checkpoint file and rerun profile")
}

// The server of the user gets variants by unloading and loading, and is left without them.
func TestRemote(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "m")
	w.settings.Server.LaunchMode, w.settings.DCGMDisable = settings.Remote, true
	w.proposals = []trial.Proposal{propose("m", 1, nil), propose("m", 1, batch16)}
	r, err := w.run()
	require.NoError(t, err)
	assert.Equal(t, []string{"m_config_default 8", "m_config_0 16"}, names(r.Models[0].Results))
	assert.Len(t, w.mu.setups, 2, "one connection for the completion, one for the trials")
	assert.Equal(t, []string{"m", "m"}, w.mu.unloaded)
	assert.Equal(t, []string{"The server has loaded other models, whose memory is in all readings: other"}, r.Warnings)
	entries, err := os.ReadDir(filepath.Join(w.settings.OutputModelRepository, "m_config_0"))
	require.NoError(t, err)
	require.Len(t, entries, 1, "only the configuration")

	w.again()
	w.settings.CheckpointDirectory = t.TempDir()
	w.settings.ReloadModelDisable = true
	_, err = w.run()
	require.NoError(t, err)
	assert.Empty(t, w.mu.events, "nothing is loaded")

	w.again()
	w.settings.CheckpointDirectory = t.TempDir()
	w.settings.ReloadModelDisable = false
	w.loadErr = func(string, string) error {
		return errors.New("explicit model load / unload is not allowed if polling is enabled")
	}
	_, err = w.run()
	require.ErrorContains(t, err, "The remote Tritonserver needs to be launched in EXPLICIT mode")
}

// TestCAPI: in launch mode c_api the load generator loads the variants from the output repository; other servers
// complete their configurations.
func TestCAPI(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "m")
	w.settings.Server.LaunchMode = settings.CAPI
	w.proposals = []trial.Proposal{propose("m", 1, batch16)}
	d := w.deps()
	d.Completer, d.Launcher = w, bench.None{PIDs: func() []int { return nil }}
	_, err := Run(t.Context(), w.settings, d)
	require.NoError(t, err)
	require.Len(t, w.mu.runs, 1)
	args := w.mu.runs[0][0].Args()
	for _, want := range []string{
		"m_config_0", "--service-kind=triton_c_api", "--triton-server-directory=/opt/tritonserver", "--model-repository=" + w.settings.OutputModelRepository,
	} {
		assert.Contains(t, args, want)
	}
	assert.False(t, slices.Contains(args, "-u"))
	c, err := modelconfig.ReadFile(filepath.Join(w.settings.OutputModelRepository, "m_config_0", modelconfig.FileName))
	require.NoError(t, err)
	assert.Equal(t, "m_config_0", c.GetName())
}

// TestLoadOptions: the user's flags of the load generator come last. A search that asks for a precision gets windows that
// end with it.
func TestLoadOptions(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "m")
	w.settings.Client.Protocol = "http"
	w.settings.ModelType = settings.LLM
	w.settings.Models[0].PerfFlags = settings.Flags{{Name: "percentile", Values: []string{"95"}}, {Name: "request-rate-range", Values: []string{"10"}}, {Name: "url", Values: []string{"elsewhere:1"}}}
	p := propose("m", 4, nil)
	p.Precision = 0.025
	w.proposals = []trial.Proposal{p}
	_, err := w.run()
	require.NoError(t, err)
	o := w.mu.runs[0][0]
	assert.Equal(t, "elsewhere:1", o.Get("url"))
	args := o.Args()
	assert.Contains(t, args, "--percentile=95")
	assert.Contains(t, args, "--request-rate-range=10")
	assert.NotContains(t, args, "--concurrency-range=4")
	assert.Contains(t, args, "--measurement-mode=time_windows")
	assert.Contains(t, args, "--stop-when=ci(throughput)<2.50%")
	assert.Contains(t, args, "--llm")

	// Of genai-perf's flags those count that the load generator has.
	w.again()
	w.settings.Models[0].GenAIPerfFlags = settings.Flags{{Name: "streaming", Values: []string{"true"}}, {Name: "tokenizer", Values: []string{"gpt2"}}}
	_, err = w.run()
	require.NoError(t, err)
	assert.Contains(t, w.mu.runs[0][0].Args(), "--streaming")
	assert.NotContains(t, strings.Join(w.mu.runs[0][0].Args(), " "), "tokenizer")
	assert.Contains(t, w.mu.notices, "genai_perf_flags: tokenizer is ignored. Describe the requests with input-data in perf_analyzer_flags.")
	w.again()
	w.settings.Client.Path = "perf_analyzer"
	_, err = w.run()
	require.NoError(t, err)
	assert.NotContains(t, w.mu.runs[0][0].Args(), "--llm")
	assert.Contains(t, w.mu.notices, "perf_analyzer reports no tokens. Leave out perf_analyzer_path to measure language models.")
}

func TestOutputRepositoryExists(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "m")
	require.NoError(t, os.Mkdir(w.settings.OutputModelRepository, 0o755))
	_, err := w.run()
	require.ErrorContains(t, err, "already exists. Please set or modify")
	require.Empty(t, w.mu.setups)
}
