package profile

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"triton/analyzer/bench"
	"triton/analyzer/profile"
	"triton/analyzer/settings"
	perfcmd "triton/cmd/cli/perf"
	"triton/cmd/cli/process"
	"triton/pkg/client"
)

// stopTimeout is the time that a server gets to stop, as in Model Analyzer.
const stopTimeout = 5 * time.Second

// launchers returns the launcher of the servers to measure, and that of the servers which complete
// configurations.
func launchers(p process.Process, o *settings.Profile, devices []string, pids func() []int, log io.Writer) (toMeasure, completer bench.Launcher, err error) {
	ready := time.Duration(o.Client.MaxRetries) * time.Second
	command := []string{o.Server.Path}
	if o.Server.Path == "" {
		program, err := os.Executable()
		if err != nil {
			return nil, nil, fmt.Errorf("find the path of this program, which starts the servers: %w", err)
		}
		command = []string{program, "serve"}
	}
	local := bench.Local{
		Command: slices.Concat(command, bench.CommonFlags(o.MonitoringInterval)), Repository: o.ModelRepository,
		Env: p.Environ, Devices: devices, ReadyTimeout: ready, StopTimeout: stopTimeout, Log: log,
	}
	at := bench.Endpoints{HTTP: o.Server.HTTPEndpoint, GRPC: o.Server.GRPCEndpoint, Metrics: o.Server.MetricsURL}
	switch o.Server.LaunchMode {
	case settings.Remote:
		return bench.Running{At: at}, nil, nil
	case settings.CAPI:
		return bench.None{PIDs: pids}, local, nil
	case settings.Docker:
		ports, err := bench.Ports(at)
		if err != nil {
			return nil, nil, err
		}
		return bench.Docker{
			Host: p.Getenv("DOCKER_HOST"), Image: o.Server.DockerImage, Repository: o.ModelRepository,
			Mounts: o.Server.DockerMounts, Labels: o.Server.DockerLabels, ShmSize: o.Server.DockerShmSize,
			Devices: devices, Ports: ports,
			MetricsInterval: o.MonitoringInterval, ReadyTimeout: ready, Log: log,
		}, nil, nil
	}
	if o.IsSet("triton_http_endpoint") || o.IsSet("triton_grpc_endpoint") || o.IsSet("triton_metrics_url") {
		if local.Ports, err = bench.Ports(at); err != nil {
			return nil, nil, err
		}
	}
	return local, nil, nil
}

// newGenerator returns the load generator, and the processes that run a server of launch mode c_api.
func newGenerator(p process.Process, o *settings.Profile, output io.Writer) (bench.Generator, func() []int) {
	if o.Client.Path == "" {
		own := func() []int { return []int{os.Getpid()} }
		return generator{p, output}, own
	}
	g := &bench.PerfAnalyzer{Path: o.Client.Path, Env: p.Environ, CPULimit: o.Client.CPUUtilization, Output: output}
	return g, g.PIDs
}

// connect returns clients of the servers for model control. The options of the load generator about TLS
// are theirs too.
func connect(p process.Process, o *settings.Profile) func(bench.Endpoints) (profile.Control, error) {
	return func(at bench.Endpoints) (profile.Control, error) {
		options, err := clientOptions(p, o, at)
		if err != nil {
			return nil, fmt.Errorf("TLS options in perf_analyzer_flags: %w", err)
		}
		return client.New(options)
	}
}

// clientOptions reads the options of a connection as `triton perf` does, for those about TLS.
func clientOptions(p process.Process, o *settings.Profile, at bench.Endpoints) (client.Options, error) {
	flags := bench.LoadOptions{}
	flags.Set("model-name", "any") // is required
	flags.Set("protocol", o.Client.Protocol)
	for _, f := range o.Global.PerfFlags {
		if strings.HasPrefix(f.Name, "ssl-") {
			flags.Set(f.Name, f.Values...)
		}
	}
	flags.Set("url", at.GRPC)
	if o.Client.Protocol == "http" {
		flags.Set("url", at.HTTP)
	}
	run, err := perfcmd.ParseRun(p, flags.Args())
	if err != nil {
		return client.Options{}, err
	}
	return run.Client(), nil
}
