package perf

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"triton/cmd/cli/process"
	"triton/perf"
	"triton/pkg/client"
)

// separator is the word between the options of models that are measured at once. mpiexec, which
// runs one perf_analyzer for each model, has the same one.
const separator = ":"

// parseAll reads a command line and returns the options of each model. Several models are named
// by several -m, which share all other options, or have options of their own between separators.
func parseAll(p process.Process, args []string) ([]*options, error) {
	var all []*options
	for _, group := range split(p, args) {
		o, err := parse(p, group)
		if err != nil {
			return nil, err
		}
		if o.help || o.version {
			return []*options{o}, nil
		}
		// o has the last model. The others are parsed again: options have functions that point into them.
		for _, model := range o.models[:max(0, len(o.models)-1)] {
			other, err := parse(p, group)
			if err != nil {
				return nil, err
			}
			other.config.Model, other.warnings = model, nil
			all = append(all, other)
		}
		all = append(all, o)
	}
	if len(all) == 1 {
		return all, nil
	}
	for i, o := range all {
		if o.targets.Stdout() {
			return nil, errors.New("--output: the results of several models go to files: add -o FILE")
		}
		o.nameFiles(uniqueName(all[:i], o))
		o.config.Data.Shared = true
		if i > 0 {
			o.config.Trace = client.TraceSettings{} // they are those of the server, not of a model
		}
	}
	return all, checkTogether(all)
}

// split divides a command line at the separators, unless one is the argument of an option.
func split(p process.Process, args []string) [][]string {
	var groups [][]string
	set := newOptions().flags(p)
	start := 0
	for i, arg := range args {
		if arg != separator {
			continue
		}
		if _, _, err := getopt(set, args[start:i]); errors.As(err, new(missingArgument)) {
			continue
		}
		groups = append(groups, args[start:i])
		start = i + 1
	}
	return append(groups, args[start:])
}

// uniqueName returns the name of a model, with a number if models before it have the same one.
func uniqueName(before []*options, o *options) string {
	name := filepath.Base(o.config.Model)
	if o.config.Version != "" {
		name += "_v" + filepath.Base(o.config.Version)
	}
	taken := func(name string) bool {
		return slices.ContainsFunc(before, func(b *options) bool { return b.name == name })
	}
	for first, n := name, 2; taken(name); n++ {
		name = fmt.Sprintf("%s-%d", first, n)
	}
	return name
}

// nameFiles puts the name of the model into the names of its files.
func (o *options) nameFiles(name string) {
	o.name = name
	for _, file := range []*string{&o.csv, &o.export} {
		if *file != "" && *file != "-" {
			dir, base := filepath.Split(*file)
			*file = dir + name + "." + base
		}
	}
	for i := range o.targets {
		dir, base := filepath.Split(o.targets[i].File)
		o.targets[i].File = dir + name + "." + base
	}
}

// checkTogether returns an error if the levels of the models cannot be measured at once.
func checkTogether(all []*options) error {
	first := all[0]
	for _, o := range all {
		c := &o.config
		if _, err := os.Lstat(o.export); o.export != "" && err == nil {
			return fmt.Errorf("Failed to parse --profile-export-file. Path %s must not already exist.", o.export)
		}
		switch {
		case c.Search == perf.Binary, c.LatencyLimit > 0 && c.Levels() > len(c.Batches)*max(1, c.Repeats), c.Levels() == 0:
			return errors.New("several models are measured at the same levels: a latency threshold, which ends the levels of one of them, needs a single level")
		case c.Levels() != first.config.Levels():
			return fmt.Errorf("several models are measured at the same levels: %s has %d levels, %s has %d", first.name, first.config.Levels(), o.name, c.Levels())
		}
	}
	return nil
}

// checkMPI refuses to be one of several processes of mpiexec: perf_analyzer's processes wait for
// each other, ours would measure without the load of the others.
func (o *options) checkMPI(p process.Process) error {
	if !o.mpi {
		return nil
	}
	for _, name := range []string{"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "MPI_LOCALNRANKS"} {
		if n := p.Getenv(name); n != "" && n != "1" {
			return fmt.Errorf("--enable-mpi: mpiexec started %s processes (%s). triton perf measures several models in one process: run it without mpiexec, as triton perf -m a [options] : -m b [options], or -m a -m b for the same options", n, name)
		}
	}
	return nil
}
