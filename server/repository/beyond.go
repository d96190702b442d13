package repository

import (
	"google.golang.org/protobuf/proto"

	"triton/pkg/inferencepb"
	"triton/pkg/modelconfig"
	"triton/pkg/modelconfig/beyond"
	"triton/server/infer"
	"triton/server/lengthbucket"
)

// asked is what a configuration asks for beyond Triton.
func asked(c *modelconfig.Config) (beyond.Settings, error) {
	s, found := beyond.Read(c)
	return s, first(c, found)
}

// forClients is the configuration that requests are checked against: they need
// not bring a mask that length buckets fill.
func forClients(c *inferencepb.ModelConfig, s beyond.Settings) *inferencepb.ModelConfig {
	if s.Lengths == nil || s.Lengths.Mask == nil {
		return c
	}
	c = proto.CloneOf(c)
	for _, in := range c.GetInput() {
		if in.GetName() == s.Lengths.Mask.Name {
			in.Optional = true
		}
	}
	return c
}

// front is what stands before a version's runner.
func (v *version) front(next infer.Runner) infer.Runner {
	if l := v.beyond.Lengths; l != nil {
		next = lengthbucket.New(next, l, v.config.GetMaxBatchSize() > 0, v.pool)
	}
	return next
}
