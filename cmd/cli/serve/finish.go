package serve

import (
	"cmp"
	"slices"
	"strconv"

	"triton/server/frontend"
	"triton/server/hostpolicy"
	"triton/server/repository"
	"triton/server/trace"
)

// finish parses the texts that depend on several flags, and returns the first mistake. The
// warnings are for the console.
func (o *options) finish() (warnings []string, err error) {
	for _, step := range []func() error{
		o.finishModels, o.finishFrontends, o.finishPlatforms, o.finishAccess, o.finishMetrics, o.finishTracing,
		o.finishBackends, o.finishCache, o.finishMachine, o.finishDeprecated,
	} {
		if err := step(); err != nil {
			return nil, err
		}
	}
	o.warnings = append(o.warnings, o.table.warnings()...)
	return o.warnings, o.Validate()
}

func (o *options) warn(text string) { o.warnings = append(o.warnings, text) }

func (o *options) finishModels() error {
	m := &o.Models
	if len(m.Startup) > 0 && m.Control != repository.ControlExplicit && m.Control != repository.ControlAuto {
		return tritonErrorf("Error: Use of '--load-model' requires setting '--model-control-mode=explicit' as well.")
	}
	if err := o.finishState(); err != nil {
		return err
	}
	if m.Control != repository.ControlPoll {
		m.SettleTime = 0
	}
	if m.Control != repository.ControlPoll && (m.Control != repository.ControlAuto || !o.table.Changed("repository-poll-secs")) {
		m.PollInterval = 0
	}
	if m.Control != repository.ControlAuto {
		for _, name := range []string{"memory-budget", "model-keep-alive-secs", "pin-model", "auto-load-timeout-secs", "auto-load-max-waiting"} {
			if o.table.Changed(name) {
				o.table.noEffect[name] = "models are loaded on demand only with --model-control-mode=auto"
			}
		}
	}
	o.AutoComplete = !o.noComplete
	o.LoadThreads, m.Retries = max(o.LoadThreads, 1), max(m.Retries, 0)
	if uri := o.getenv("AIP_STORAGE_URI"); len(o.Repositories) == 0 && uri != "" {
		o.Repositories = []string{uri} // the folder of models in a Vertex AI container
	}
	o.Remote.CacheDirectory = cmp.Or(o.Remote.CacheDirectory, cacheDirectory(o.getenv))
	slices.Sort(o.Repositories)
	o.Repositories = slices.Compact(o.Repositories)
	slices.Sort(m.Startup)
	m.Startup = slices.Compact(m.Startup)
	return nil
}

// finishState checks what --state excludes.
func (o *options) finishState() error {
	m := &o.Models
	switch {
	case o.State.From == "" && o.State.Write:
		return tritonErrorf("Error: --state-write requires --state.")
	case o.State.From == "":
		return nil
	case o.table.Changed("model-control-mode") && m.Control != repository.ControlExplicit && m.Control != repository.ControlAuto:
		return tritonErrorf("Error: --state decides which models are loaded: it needs --model-control-mode=explicit or auto, or none of the modes.")
	case len(m.Startup) > 0:
		return tritonErrorf("Error: --state and --load-model exclude each other: write the models into the state.")
	case m.Namespacing:
		return tritonErrorf("Error: --state and --model-namespacing exclude each other.")
	case o.State.Interval <= 0:
		return tritonErrorf("Error: --state-interval-secs must be greater than 0.")
	}
	if m.Control != repository.ControlAuto {
		m.Control = repository.ControlExplicit
	}
	return nil
}

func (o *options) finishFrontends() (err error) {
	h, g := &o.HTTP, &o.GRPC
	if h.Restricted, err = frontend.ParseRestrictions(frontend.RestrictedAPI, o.httpSecrets); err != nil {
		return err
	}
	if g.Frontend.Restricted, err = frontend.ParseRestrictions(frontend.RestrictedProtocol, o.grpcSecrets); err != nil {
		return err
	}
	// As in Triton, --...-use-ssl-mutual turns encryption on, whatever its value.
	h.TLS.Allow = h.TLS.Allow || o.table.Changed("http-use-ssl-mutual")
	g.TLS.Allow = g.TLS.Allow || o.table.Changed("grpc-use-ssl-mutual")
	g.Frontend.Delays, o.Models.Holds = testHolds(o.getenv)
	return nil
}

func (o *options) finishMetrics() error {
	m := &o.Metrics
	m.TLS.Allow = m.TLS.Allow || o.table.Changed("metrics-use-ssl-mutual")
	m.GPU, m.CPU = m.GPU && m.Allow, m.CPU && m.Allow
	m.Settings = map[string]string{}
	for _, v := range o.metrics {
		set, _ := metricsSetting(v)
		m.Settings[set.key] = set.value
	}
	return nil
}

func (o *options) finishTracing() error {
	config, err := trace.ParseConfig(o.traces)
	if err != nil {
		return err
	}
	o.addDeprecatedTraces(config)
	o.Trace = trace.Options{Config: config, Env: o.getenv}
	return o.Trace.Validate()
}

func (o *options) finishBackends() error {
	o.BackendSettings = map[string]map[string]string{}
	for _, v := range o.backends {
		set, err := backendSetting(v)
		if err != nil {
			return badOption("backend-config", err.Error())
		}
		if o.BackendSettings[set.name] == nil {
			o.BackendSettings[set.name] = map[string]string{}
		}
		o.BackendSettings[set.name][set.key] = set.value
	}
	return nil
}

func (o *options) finishCache() error {
	o.Cache.PreferLibrary = o.table.Changed("cache-directory")
	o.Agents.PreferLibrary = o.table.Changed("repoagent-directory")
	if len(o.caches) > 0 && o.table.Changed("response-cache-byte-size") {
		return tritonErrorf("Error: Incompatible flags --response-cache-byte-size and --cache-config both provided. Please provide one or the other.")
	}
	for _, v := range o.caches {
		set, err := cacheSetting(v)
		switch {
		case err != nil:
			return badOption("cache-config", err.Error())
		case o.Cache.Name != "" && o.Cache.Name != set.name:
			return tritonErrorf("creating server: Invalid argument - found multiple cache configurations, but only a single cache is currently supported")
		}
		o.setCache(set.name, set.key, set.value)
	}
	if o.Cache.Name != "redis" {
		return nil
	}
	// The password comes from the environment, because other users can read command lines.
	for key, name := range map[string]string{"user": "TRITONCACHE_REDIS_USERNAME", "password": "TRITONCACHE_REDIS_PASSWORD"} {
		if text := o.getenv(name); text != "" && o.Cache.Settings[key] == "" {
			o.Cache.Settings[key] = text
		}
	}
	return nil
}

func (o *options) setCache(name, key, value string) {
	o.Cache.Name = name
	if o.Cache.Settings == nil {
		o.Cache.Settings = map[string]string{}
	}
	o.Cache.Settings[key] = value
}

func (o *options) finishMachine() error {
	if len(o.RateLimiter.Resources) > 0 && !o.RateLimiter.Enabled {
		o.table.noEffect["rate-limit-resource"] = "resources do not matter without --rate-limit=execution_count"
	}
	for gpu, fraction := range o.Models.GPULimits {
		switch {
		case gpu < 0:
			return buildError("setting model load GPU limit: Invalid argument - expects device ID >= 0, got %d", gpu)
		case fraction < 0 || fraction > 1:
			return buildError("setting model load GPU limit: Invalid argument - expects limit fraction to be in range [0.0, 1.0], got %s",
				strconv.FormatFloat(fraction, 'f', 6, 64))
		}
	}
	for _, v := range o.hostPolicies {
		set, _ := hostPolicy(v)
		if set.key != hostpolicy.Node && set.key != hostpolicy.Cores {
			return buildError("setting host policy: Unsupported - Unsupported host policy setting '%s' is specified, supported settings are 'numa-node', 'cpu-cores'", set.key)
		}
		o.HostPolicies = o.HostPolicies.With(set.name, set.key, set.value)
	}
	return nil
}

// buildError returns Triton's text for flags that are valid one by one but not together.
func buildError(format string, args ...any) error {
	return tritonErrorf("Failed to build Triton option:\nerror: "+format, args...)
}
