package repo

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"triton/cmd/cli/flags"
	"triton/cmd/cli/process"
	"triton/pkg/client"
	"triton/pkg/status"
	"triton/pkg/trafficrules"
)

// oneStatus returns a state as a list.
func oneStatus(st *trafficrules.Status, err error) ([]*trafficrules.Status, error) {
	if err != nil {
		return nil, err
	}
	return []*trafficrules.Status{st}, nil
}

func getCommand(p process.Process) *cobra.Command {
	return trafficCommand{
		use: "get", short: "Print the rules of a model, or of all, and their state", all: true,
		example: "  triton repo traffic get\n  triton repo traffic get -m chat --output json",
		do: func(ctx context.Context, c *client.Client, model string) ([]*trafficrules.Status, error) {
			if model == "" {
				return c.AllTraffic(ctx)
			}
			return oneStatus(c.Traffic(ctx, model, false))
		},
	}.command(p)
}

func setCommand(p process.Process) *cobra.Command {
	var file string
	var generation uint64
	return trafficCommand{
		use: "set", short: "Replace the rules of a model by those of a file",
		example: "  triton repo traffic set -m chat --file chat.json\n  echo '{\"default\":{\"version\":\"1\"}}' | triton repo traffic set -m chat --file -",
		bind: func(f *flags.Set) {
			f.StringVarP(&file, "file", "f", "", "file with the rules in JSON; - is standard input; required")
			f.Uint64Var(&generation, "generation", 0, "fail unless the rules still have this generation; 0: replace any")
		},
		do: func(ctx context.Context, c *client.Client, model string) ([]*trafficrules.Status, error) {
			text, err := readRules(p, file)
			if err != nil {
				return nil, err
			}
			if _, err := trafficrules.Read(model, text); err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			return oneStatus(c.SetTraffic(ctx, model, text, generation))
		},
	}.command(p)
}

// readRules reads a document.
func readRules(p process.Process, file string) ([]byte, error) {
	switch file {
	case "":
		return nil, process.UsageError("name the file with --file FILE")
	case "-":
		return io.ReadAll(io.LimitReader(p.Stdin, trafficrules.MaxDocument+1))
	}
	return os.ReadFile(file)
}

func deleteCommand(p process.Process) *cobra.Command {
	return trafficCommand{
		use: "delete", short: "Delete the live rules of a model, so that those of its file apply",
		do: func(ctx context.Context, c *client.Client, model string) ([]*trafficrules.Status, error) {
			return nil, c.DeleteTraffic(ctx, model, 0)
		},
	}.command(p)
}

func promoteCommand(p process.Process) *cobra.Command {
	return trafficCommand{
		use: "promote", short: "Give the canary of a model the share of its last step", text: writeCanaries,
		do: func(ctx context.Context, c *client.Client, model string) ([]*trafficrules.Status, error) {
			return oneStatus(c.PromoteTraffic(ctx, model))
		},
	}.command(p)
}

func rollbackCommand(p process.Process) *cobra.Command {
	return trafficCommand{
		use: "rollback", short: "Take the share of a model's canary away", text: writeCanaries,
		do: func(ctx context.Context, c *client.Client, model string) ([]*trafficrules.Status, error) {
			return oneStatus(c.RollbackTraffic(ctx, model))
		},
	}.command(p)
}

func canaryCommand(p process.Process) *cobra.Command {
	var k trafficrules.Canary
	return trafficCommand{
		use: "canary", short: "Start a canary, or print its state", text: writeCanaries,
		example: "  triton repo traffic canary -m chat --version 2 --stable 1\n  triton repo traffic canary -m chat",
		bind: func(f *flags.Set) {
			f.StringVar(&k.Target.Version, "version", "", "version that is the canary; without it and --to-model the state is printed")
			f.StringVar(&k.Target.Model, "to-model", "", "model that is the canary")
			f.StringVar(&k.Stable.Version, "stable", "", "version that the canary is compared with")
			f.StringVar(&k.Stable.Model, "stable-model", "", "model that the canary is compared with")
			f.Float64SliceVar(&k.Steps, "steps", nil, "shares of requests in percent (default 1,5,25,50,100)")
			f.Float64Var(&k.StepSeconds, "step-seconds", 0, "minimum time of a step (default 300)")
			f.IntVar(&k.MinSamples, "min-samples", 0, "minimum number of requests to each version in a step (default 1000)")
		},
		do: func(ctx context.Context, c *client.Client, model string) ([]*trafficrules.Status, error) {
			if k.Target == (trafficrules.Target{}) {
				return oneStatus(c.Traffic(ctx, model, false))
			}
			return oneStatus(changeRules(ctx, c, model, func(r *trafficrules.Rules) { r.Canary, r.Weights = &k, nil }))
		},
	}.command(p)
}

func shadowCommand(p process.Process) *cobra.Command {
	var s trafficrules.Shadow
	return trafficCommand{
		use: "shadow", short: "Start a shadow, or print what it has found", text: writeShadows,
		example: "  triton repo traffic shadow -m chat --version 2 --percent 10\n  triton repo traffic shadow -m chat",
		bind: func(f *flags.Set) {
			f.StringVar(&s.Target.Version, "version", "", "version that gets the copies; without it and --to-model the results are printed")
			f.StringVar(&s.Target.Model, "to-model", "", "model that gets the copies")
			f.Float64Var(&s.Percent, "percent", 10, "share of requests that are copied")
			f.BoolVar(&s.HideContents, "hide-contents", false, "keep values and request ids out of the sampled differences")
		},
		do: func(ctx context.Context, c *client.Client, model string) ([]*trafficrules.Status, error) {
			if s.Target == (trafficrules.Target{}) {
				return oneStatus(c.Traffic(ctx, model, false))
			}
			return oneStatus(changeRules(ctx, c, model, func(r *trafficrules.Rules) { r.Shadow = &s }))
		},
	}.command(p)
}

func diffsCommand(p process.Process) *cobra.Command {
	return trafficCommand{
		use: "diffs", short: "Print the sampled differences of a shadow", text: writeDiffs,
		do: func(ctx context.Context, c *client.Client, model string) ([]*trafficrules.Status, error) {
			return oneStatus(c.Traffic(ctx, model, true))
		},
	}.command(p)
}

// changeRules edits the rules of a model. It fails if another writer changes them meanwhile.
func changeRules(ctx context.Context, c *client.Client, model string, edit func(*trafficrules.Rules)) (*trafficrules.Status, error) {
	rules, generation := &trafficrules.Rules{}, uint64(0)
	st, err := c.Traffic(ctx, model, false)
	var se *status.Error
	switch {
	case err == nil:
		rules, generation = st.Rules, st.Generation
	case !errors.As(err, &se) || se.Code != status.NotFound:
		return nil, err
	}
	edit(rules)
	document, err := json.Marshal(rules)
	if err != nil {
		return nil, err
	}
	return c.SetTraffic(ctx, model, document, generation)
}
