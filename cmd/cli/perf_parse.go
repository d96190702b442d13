package cli

import (
	"slices"

	"github.com/spf13/pflag"

	"triton/perf"
	"triton/pkg/client"
)

// perfSettings is a parsed command line of perf.
type perfSettings struct {
	config   perf.Config
	client   client.Options
	csv      string
	verbose  int
	csvMore  bool
	table    string
	help     bool
	version  bool
	warnings []string

	maxThreads      int // 0: not given
	metricsInterval bool
	zero, dataDir   bool
}

func newPerfSettings() *perfSettings {
	s := &perfSettings{config: perf.DefaultConfig(""), table: "auto"}
	s.client.Headers = map[string]string{}
	return s
}

// parsePerf reads a command line, and from the environment and the settings
// file what is not on it.
func parsePerf(w World, args []string) (*perfSettings, error) {
	met, _, err := getopt(perfOptions, args) // other arguments are ignored, as ever
	if err != nil {
		return nil, err
	}
	env := &environ{world: w, command: "perf"}
	if met, err = complete(env, met); err != nil {
		return nil, err
	}
	s := newPerfSettings()
	s.warnings = env.ignored
	for _, o := range met {
		if err := s.apply(o); err != nil {
			return nil, err
		}
		if s.help || s.version {
			return s, nil
		}
	}
	return s, s.finish()
}

// complete puts settings from the environment and the file before what was
// given on the command line. The flag set lends its names to settle.
func complete(env *environ, met []occurrence) ([]occurrence, error) {
	set := pflag.NewFlagSet("perf", pflag.ContinueOnError)
	file := ""
	for i := range perfOptions {
		o := &perfOptions[i]
		switch {
		case o.long == "" || o.later || o.group == "" || o.long == "version" || o.long == "help":
			continue
		case o.value == "":
			set.Bool(o.long, false, "")
		default:
			set.StringArray(o.long, nil, "")
		}
	}
	for _, o := range met {
		if f := set.Lookup(o.long); f != nil {
			f.Changed = true // the command line wins
		}
		if o.long == "config" {
			file = o.text
		}
	}
	if err := settle(env, set, file); err != nil {
		return nil, err
	}
	var all []occurrence
	for i := range perfOptions {
		o := &perfOptions[i]
		f := set.Lookup(o.long)
		switch {
		case f == nil || !f.Changed || slices.ContainsFunc(met, func(m occurrence) bool { return m.option == o }):
		case o.value != "":
			texts, _ := set.GetStringArray(o.long)
			for _, text := range texts {
				all = append(all, occurrence{o, text})
			}
		case f.Value.String() == "true":
			all = append(all, occurrence{o, ""})
		}
	}
	return append(all, met...), nil
}
