// Package agent runs the repository agents of a model's configuration before the model
// is loaded. There is one: "checksum", which compares files of the model with their
// hashes. It loads no libraries and changes no files.
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

// Run runs the agents of a configuration, in order, on the model's directory. The findings have
// the order and the texts of NVIDIA's agents; a server reports the first.
func Run(c *modelconfig.Config, dir fs.FS) []modelconfig.Finding {
	r := runner{Config: c, dir: dir}
	for i, a := range c.GetModelRepositoryAgents().GetAgents() {
		path := fmt.Sprintf("model_repository_agents.agents[%d]", i)
		if a.GetName() != "checksum" {
			r.add(status.InvalidArg, path, "remove the agent",
				"unable to find 'libtritonrepoagent_%s.so' for repo agent '%s': this server has only the agent 'checksum'", a.GetName(), a.GetName())
			continue
		}
		r.checksum(path, a)
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
