package main

import (
	"encoding/json"
	"slices"
	"time"

	"triton/pkg/status"
	"triton/server"
	"triton/server/capi/inprocess"
	"triton/server/repository"
	"triton/server/scheduler"
)

// defaults are the options of a program that sets none, which are not those of the command line:
// models are polled, and configurations are not completed. The server opens no ports.
func defaults() server.Options {
	o := server.Default()
	for _, e := range []*server.Endpoint{&o.HTTP.Endpoint, &o.GRPC.Endpoint, &o.Metrics.Endpoint, &o.SageMaker.Endpoint, &o.Vertex.Endpoint} {
		*e = server.Endpoint{}
	}
	o.Metrics.Embedded = true
	o.AutoComplete = false
	o.RequireLibraries = true // a program learns of failed loads by the error of TRITONSERVER_ServerNew only
	o.Models.Control = repository.ControlPoll
	o.Models.PollInterval = 0 // the program polls
	o.Models.SettleTime = 0
	o.BackendSettings = map[string]map[string]string{}
	o.Metrics.Settings = map[string]string{}
	return o
}

// apply applies one setting. Those of memory pools, threads and devices that this server does not
// have are accepted and not used, as `triton serve` does (docs/serve.md).
var apply = map[string]func(o *server.Options, s *inprocess.Setting) error{
	"server-id": func(o *server.Options, s *inprocess.Setting) error { o.ID = s.Text[0]; return nil },
	"model-repository": func(o *server.Options, s *inprocess.Setting) error {
		if !slices.Contains(o.Repositories, s.Text[0]) {
			o.Repositories = append(o.Repositories, s.Text[0])
		}
		return nil
	},
	"model-control-mode": func(o *server.Options, s *inprocess.Setting) error {
		o.Models.Control = []repository.Control{repository.ControlNone, repository.ControlPoll, repository.ControlExplicit}[s.Number]
		return nil
	},
	"load-model": func(o *server.Options, s *inprocess.Setting) error {
		if !slices.Contains(o.Models.Startup, s.Text[0]) {
			o.Models.Startup = append(o.Models.Startup, s.Text[0])
		}
		return nil
	},
	"model-config-name":   func(o *server.Options, s *inprocess.Setting) error { o.Models.ConfigName = s.Text[0]; return nil },
	"strict-model-config": func(o *server.Options, s *inprocess.Setting) error { o.AutoComplete = s.Number == 0; return nil },
	"exit-on-error":       func(o *server.Options, s *inprocess.Setting) error { o.ExitOnError = s.Number != 0; return nil },
	"strict-readiness":    func(o *server.Options, s *inprocess.Setting) error { o.StrictReadiness = s.Number != 0; return nil },
	"exit-timeout":        func(o *server.Options, s *inprocess.Setting) error { o.ExitTimeout = seconds(s.Number); return nil },
	"model-load-thread-count": func(o *server.Options, s *inprocess.Setting) error {
		o.LoadThreads = int(max(s.Number, 1))
		return nil
	},
	"model-load-retry-count": func(o *server.Options, s *inprocess.Setting) error { o.Models.Retries = int(s.Number); return nil },
	"model-namespacing":      func(o *server.Options, s *inprocess.Setting) error { o.Models.Namespacing = s.Number != 0; return nil },
	"backend-directory":      func(o *server.Options, s *inprocess.Setting) error { o.BackendDirectory = s.Text[0]; return nil },
	"cache-directory":        func(o *server.Options, s *inprocess.Setting) error { o.Cache.Directory = s.Text[0]; return nil },
	"repoagent-directory": func(_ *server.Options, s *inprocess.Setting) error {
		if s.Text[0] == "" {
			return status.New(status.InvalidArg, "--repoagent-directory can not be empty")
		}
		return nil
	},
	"min-supported-compute-capability": func(o *server.Options, s *inprocess.Setting) error {
		o.MinComputeCapability = s.Fraction
		return nil
	},
	"model-load-gpu-limit": func(o *server.Options, s *inprocess.Setting) error {
		if o.Models.GPULimits == nil {
			o.Models.GPULimits = map[int]float64{}
		}
		o.Models.GPULimits[int(s.Number)] = s.Fraction
		return nil
	},
	"rate-limit": func(o *server.Options, s *inprocess.Setting) error { o.RateLimiter.Enabled = s.Number != 0; return nil },
	"rate-limit-resource": func(o *server.Options, s *inprocess.Setting) error {
		addResource(&o.RateLimiter, scheduler.Resource{Name: s.Text[0], Count: uint64(s.Number), Device: int(s.Fraction)})
		return nil
	},
	"backend-config": func(o *server.Options, s *inprocess.Setting) error {
		if o.BackendSettings[s.Text[0]] == nil {
			o.BackendSettings[s.Text[0]] = map[string]string{}
		}
		o.BackendSettings[s.Text[0]][s.Text[1]] = s.Text[2]
		return nil
	},
	"cache-config": func(o *server.Options, s *inprocess.Setting) error { return setCache(&o.Cache, s.Text[0], s.Text[1]) },
	"response-cache-byte-size": func(o *server.Options, s *inprocess.Setting) error {
		size, err := json.Marshal(map[string]uint64{"size": uint64(s.Number)})
		if err != nil {
			return err
		}
		return setCache(&o.Cache, "local", string(size))
	},
	"allow-metrics":     func(o *server.Options, s *inprocess.Setting) error { o.Metrics.Embedded = s.Number != 0; return nil },
	"allow-gpu-metrics": func(o *server.Options, s *inprocess.Setting) error { o.Metrics.GPU = s.Number != 0; return nil },
	"allow-cpu-metrics": func(o *server.Options, s *inprocess.Setting) error { o.Metrics.CPU = s.Number != 0; return nil },
	"metrics-interval-ms": func(o *server.Options, s *inprocess.Setting) error {
		o.Metrics.Interval = max(time.Duration(s.Number)*time.Millisecond, time.Millisecond)
		return nil
	},
	"metrics-config": func(o *server.Options, s *inprocess.Setting) error {
		o.Metrics.Settings[s.Text[1]] = s.Text[2]
		return nil
	},
	"host-policy": func(o *server.Options, s *inprocess.Setting) error {
		o.HostPolicies = o.HostPolicies.With(s.Text[0], s.Text[1], s.Text[2])
		return nil
	},
	"enable-peer-access":           unused,
	"buffer-manager-thread-count":  unused,
	"pinned-memory-pool-byte-size": unused,
	"cuda-memory-pool-byte-size":   unused,
	"cuda-virtual-address-size":    unused,
}

func unused(*server.Options, *inprocess.Setting) error { return nil }

// options returns the options of a program's settings, the last of which count.
func options(settings []inprocess.Setting) (server.Options, error) {
	o := defaults()
	for i := range settings {
		s := &settings[i]
		f := apply[s.Name]
		if f == nil {
			return o, status.New(status.Internal, "unknown server option %s", s.Name)
		}
		if err := f(&o, s); err != nil {
			return o, err
		}
	}
	if len(o.Repositories) == 0 {
		return o, status.New(status.InvalidArg, "--model-repository must be specified")
	}
	slices.Sort(o.Repositories)
	slices.Sort(o.Models.Startup)
	return o, nil
}

// addResource adds a resource; of two amounts the smaller one counts.
func addResource(r *server.RateLimiter, added scheduler.Resource) {
	for i := range r.Resources {
		if have := &r.Resources[i]; have.Name == added.Name && have.Device == added.Device {
			have.Count = min(have.Count, added.Count)
			return
		}
	}
	r.Resources = append(r.Resources, added)
}

// setCache sets the response cache. Its settings are a JSON object.
func setCache(c *server.Cache, name, text string) error {
	if c.Name != "" && c.Name != name {
		return status.New(status.InvalidArg, "found multiple cache configurations, but only a single cache is currently supported")
	}
	var members map[string]any
	if err := json.Unmarshal([]byte(text), &members); err != nil {
		return status.New(status.InvalidArg, "cannot read the settings of cache '%s': %s", name, err.Error())
	}
	c.Name, c.Settings = name, map[string]string{}
	for key, value := range members {
		if s, ok := value.(string); ok {
			c.Settings[key] = s
			continue
		}
		b, err := json.Marshal(value)
		if err != nil {
			return err
		}
		c.Settings[key] = string(b)
	}
	return nil
}
