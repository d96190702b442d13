// Package agent runs the repository agents that are part of this program, before a model is
// loaded. There is one: "checksum", which compares files of the model with their hashes. It loads no
// libraries and changes no files.
package agent

import (
	"fmt"
	"io/fs"
	"maps"
	"slices"

	pb "triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/pkg/status"
)

const rule = "TRN830"

// Rules returns the rules of this package by ID.
func Rules() []modelconfig.Rule {
	return []modelconfig.Rule{{ID: rule, Doc: "the server has the repository agents of a model, and they accept it"}}
}

// Known reports whether this program has an agent.
func Known(name string) bool { return name == "checksum" }

// Run runs the agents of a configuration, in order, on the model's directory. The findings have
// the order and the texts of NVIDIA's agents; a server reports the first.
func Run(c *modelconfig.Config, dir fs.FS) []modelconfig.Finding {
	var found []modelconfig.Finding
	for i := range c.GetModelRepositoryAgents().GetAgents() {
		found = append(found, RunOne(c, i, dir)...)
	}
	return found
}

// RunOne runs one agent of a configuration.
func RunOne(c *modelconfig.Config, i int, dir fs.FS) []modelconfig.Finding {
	r := runner{Config: c, dir: dir}
	a := c.GetModelRepositoryAgents().GetAgents()[i]
	path := fmt.Sprintf("model_repository_agents.agents[%d]", i)
	if Known(a.GetName()) {
		r.checksum(path, a)
	} else {
		r.add(status.InvalidArg, path, "remove the agent, or give a server its library with --repoagent-directory: only the agent 'checksum' is part of this program",
			"unable to find 'libtritonrepoagent_%s.so' for repo agent '%s'", a.GetName(), a.GetName())
	}
	return r.found
}

type runner struct {
	*modelconfig.Config
	dir   fs.FS
	found []modelconfig.Finding
}

func (r *runner) add(code status.Code, path, hint, format string, args ...any) {
	r.found = append(r.found, modelconfig.Finding{
		Rule: rule, Code: code, Path: path, Pos: r.Position(path), Msg: fmt.Sprintf(format, args...), Hint: hint,
	})
}

// checksum compares every file that the agent's parameters name.
func (r *runner) checksum(path string, a *pb.ModelRepositoryAgents_Agent) {
	for _, key := range slices.Sorted(maps.Keys(a.GetParameters())) {
		r.compare(fmt.Sprintf("%s.parameters[%q]", path, key), key, a.GetParameters()[key])
	}
}
