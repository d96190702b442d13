package profile

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"triton/analyzer/settings"
)

// openCheckpoint reads the newest checkpoint, if there is one.
func (r *runner) openCheckpoint() error {
	state, file, next, err := r.checkpoints().Latest()
	if err != nil {
		return err
	}
	r.state, r.number = state, next
	if state == nil {
		r.notice("No checkpoint file found, starting a fresh run.")
		r.state = newCheckpoint()
		r.state.Seed = uint64(r.settings.Search.Seed)
		return nil
	}
	r.notice("Loaded checkpoint from file " + file)
	if r.state.Names == nil {
		r.state.Names = newVariantNames()
	}
	if r.settings.IsSet("seed") || r.state.Seed == 0 {
		r.state.Seed = uint64(r.settings.Search.Seed)
	}
	return nil
}

func (r *runner) checkpoints() CheckpointDirectory {
	return CheckpointDirectory(r.settings.CheckpointDirectory)
}

// save writes the checkpoint of this run.
func (r *runner) save() error {
	r.state.Tool = r.deps.Tool
	_, err := r.checkpoints().Save(r.number, r.state)
	return err
}

// identifyGPUs compares the devices with those of the checkpoint, whose measurements are not valid on
// others.
func (r *runner) identifyGPUs() error {
	gpus := map[string]GPU{}
	for _, d := range r.deps.Devices {
		g := GPU{Name: d.Name}
		if total := r.deps.GPU.Read(d).MemoryTotal; total.Known {
			g.Total = total.Value
		}
		gpus[d.UUID] = g
	}
	resumed := len(r.state.Trials) > 0 || len(r.state.GPUs) > 0
	remote := r.settings.Server.LaunchMode == settings.Remote // its devices are known after the first reading
	if resumed && !remote && !sameKeys(gpus, r.state.GPUs) {
		return fmt.Errorf("GPU devices do not match checkpoint - Remove checkpoint file and rerun profile (%s has %v, this machine %v)",
			r.settings.CheckpointDirectory, slices.Sorted(maps.Keys(r.state.GPUs)), slices.Sorted(maps.Keys(gpus)))
	}
	if !remote || !resumed {
		r.state.GPUs = gpus
	}
	r.publishGPUs()
	return nil
}

func sameKeys(a, b map[string]GPU) bool {
	return slices.Equal(slices.Sorted(maps.Keys(a)), slices.Sorted(maps.Keys(b)))
}

// publishGPUs copies what is known about devices to the report.
func (r *runner) publishGPUs() {
	r.report.GPUs = maps.Clone(r.state.GPUs)
	r.report.ServerOnly = r.state.ServerOnly
}

// newReport returns the report of a profile before its first trial.
func newReport(p *settings.Profile) *Report {
	r := &Report{Started: time.Now(), Mode: p.Search.Mode, Launch: p.Server.LaunchMode}
	r.CPUOnly = len(p.Models) > 0
	for _, m := range p.Models {
		r.CPUOnly = r.CPUOnly && m.CPUOnly
	}
	return r
}

// Recorded returns the report of the trials in a checkpoint, without measuring. Models without trials
// are left out.
func Recorded(p *settings.Profile, s *Checkpoint) *Report {
	r := newReport(p)
	r.Tool, r.GPUs, r.ServerOnly = s.Tool, maps.Clone(s.GPUs), s.ServerOnly
	byName := map[string]*ModelReport{}
	var order []string
	for _, t := range s.Trials {
		name := strings.Join(t.Result.Config.Models(), ",")
		m := byName[name]
		if m == nil {
			m = &ModelReport{Name: name, Reason: "from a checkpoint"}
			for _, member := range t.Result.Config.Members {
				m.Members = append(m.Members, recordedMember(p, member))
			}
			byName[name] = m
			order = append(order, name)
		}
		m.Results = append(m.Results, t.Result)
		r.countLoad(t.Result.Config)
	}
	for _, name := range order {
		r.Models = append(r.Models, *byName[name])
	}
	return r
}

// ReadRecorded returns the report of the newest checkpoint.
func ReadRecorded(p *settings.Profile) (*Report, error) {
	s, _, _, err := CheckpointDirectory(p.CheckpointDirectory).Latest()
	if err != nil {
		return nil, err
	}
	if s == nil {
		return nil, errors.New("No model repository specified and no checkpoint found. Please either specify a model repository (-m) or load a checkpoint (--checkpoint-directory).") //nolint:staticcheck // Model Analyzer's sentence
	}
	return Recorded(p, s), nil
}
