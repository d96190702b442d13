package cli

import (
	"errors"
	"slices"
	"strconv"
	"strings"

	"triton/server/model"
	"triton/server/repository"
)

func (s *serveFlags) defineRepository(b *flagBook) {
	b.group("Model Repository")
	b.list(&s.opts.Repositories, "model-store", "The same as --model-repository.", nil)
	b.list(&s.opts.Repositories, "model-repository", "Folder whose subfolders are models; may be repeated.", nil)
	b.boolean(&s.opts.ExitOnError, "exit-on-error",
		"Exit when a model cannot be loaded at the start. A missing ONNX Runtime library does not count.")
	noComplete := false
	b.toggle(&noComplete, "disable-auto-complete-config",
		"Do not fill in what a configuration leaves out; config.pbtxt must be there and complete.")
	b.boolean(&s.opts.StrictReadiness, "strict-readiness", "Report ready only while all models are.")
	s.defineControl(b)
	b.choice("", "model-config-name", "Load a model by configs/<name>.pbtxt in its folder, where that exists, instead of config.pbtxt.",
		func(v string) error {
			if v == "" {
				return said("Error: empty argument for --model-config-name")
			}
			s.opts.Models.ConfigName = v
			return nil
		})
	s.integer(b, &s.opts.LoadThreads, intValue{min: minInt32, max: maxInt32}, "model-load-thread-count", "How many model versions load at the same time.")
	s.integer(b, &s.opts.Models.Retries, intValue{min: minInt32, max: maxInt32}, "model-load-retry-count", "How often a load that failed is tried again.")
	b.boolean(&s.opts.Models.Namespacing, "model-namespacing", "Let models in different repositories have the same name.")
	peer := true
	b.unused(boolValue{&peer}, "enable-peer-access", "Let GPUs read each other's memory.", "the execution provider decides that")
	s.finally(func() error {
		o := &s.opts
		o.AutoComplete = !noComplete
		o.LoadThreads, o.Models.Retries = max(o.LoadThreads, 1), max(o.Models.Retries, 0)
		o.Models.Holds = model.Holds{Requests: s.count("TRITONSERVER_DELAY_SCHEDULER"), Backlog: s.count("TRITONSERVER_BACKLOG_DELAY_SCHEDULER")}
		s.loadGroundwork()
		return nil
	})
}

// count is a number that test suites set in the environment; 0 when it is none.
func (s *serveFlags) count(name string) int {
	n, err := strconv.ParseInt(s.getenv(name), 10, 32)
	if err != nil {
		return 0
	}
	return int(max(n, 0))
}

// loadGroundwork says where models are: repositories are a set in alphabetical
// order, and without any the place that a Vertex AI container is given.
func (s *serveFlags) loadGroundwork() {
	o := &s.opts
	if uri := s.getenv("AIP_STORAGE_URI"); len(o.Repositories) == 0 && uri != "" {
		o.Repositories = []string{uri}
	}
	slices.Sort(o.Repositories)
	o.Repositories = slices.Compact(o.Repositories)
	slices.Sort(o.Models.Startup)
	o.Models.Startup = slices.Compact(o.Models.Startup)
}

func (s *serveFlags) defineControl(b *flagBook) {
	m := &s.opts.Models
	b.choice("none", "model-control-mode",
		"Who loads models: none is all at the start and no changes, poll loads what changes in the repositories, explicit loads what clients ask for.",
		func(v string) error {
			mode, ok := map[string]repository.Control{
				"none": repository.ControlNone, "poll": repository.ControlPoll, "explicit": repository.ControlExplicit,
			}[strings.ToLower(v)]
			if !ok {
				return errors.New("invalid argument for --model-control-mode")
			}
			m.Control = mode
			return nil
		})
	b.seconds(&m.PollInterval, "repository-poll-secs", "Seconds between looks at the repositories in mode poll; 0 is never.")
	b.list(&m.Startup, "load-model", "Name of a model to load at the start in mode explicit; may be repeated, and * alone is all.", nil)
	s.finally(func() error {
		if len(m.Startup) > 0 && m.Control != repository.ControlExplicit {
			return said("Error: Use of '--load-model' requires setting '--model-control-mode=explicit' as well.")
		}
		m.PollInterval = max(m.PollInterval, 0)
		if m.Control != repository.ControlPoll {
			m.PollInterval = 0
		}
		return nil
	})
}

// gpuLimit reads "<gpu>:<fraction>". Of two for one GPU the first counts.
func (s *serveFlags) gpuLimit(arg string) error {
	gpu, fraction, err := pair[int64, float64](arg, ":", parseInt, parseFloat)
	if err != nil {
		return err
	}
	if s.opts.Models.GPULimits == nil {
		s.opts.Models.GPULimits = map[int]float64{}
	}
	if _, known := s.opts.Models.GPULimits[int(gpu)]; !known {
		s.opts.Models.GPULimits[int(gpu)] = fraction
	}
	return nil
}

func (s *serveFlags) checkGPULimits() error {
	for gpu, fraction := range s.opts.Models.GPULimits {
		switch {
		case gpu < 0:
			return buildError("setting model load GPU limit: Invalid argument - expects device ID >= 0, got %d", gpu)
		case fraction < 0 || fraction > 1:
			return buildError("setting model load GPU limit: Invalid argument - expects limit fraction to be in range [0.0, 1.0], got %s",
				strconv.FormatFloat(fraction, 'f', 6, 64))
		}
	}
	return nil
}

// buildError is what Triton finds wrong after the flags themselves are right.
func buildError(format string, args ...any) error {
	return said("Failed to build Triton option:\nerror: "+format, args...)
}
