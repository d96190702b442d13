package layout

import (
	"context"

	"triton/pkg/modelconfig"
	"triton/server/repository/agents"
	"triton/server/repository/agents/library"
	"triton/server/store"
)

// runAgents runs the repository agents of opened content. They may give the model another directory,
// whose entries it returns. The content's folder ends the agents.
func (r *Reader) runAgents(ctx context.Context, c *Content, entries store.Stamp) (store.Stamp, error) {
	if len(c.Config.GetModelRepositoryAgents().GetAgents()) == 0 {
		return entries, nil
	}
	all := &files{ctx, r.Store, c, entries, map[string]*store.Folder{}}
	defer all.release()
	location := library.Location{Path: c.From.Location, Remote: !c.From.Local()}
	if c.uploaded {
		location = library.Location{Path: c.Folder.Dir}
	}
	chain, err := r.Agents.Load(ctx, agents.Model{
		Config: c.Config, Location: location, Files: all, Uploaded: c.uploaded, Reread: r.reread,
	})
	if err != nil {
		return nil, err
	}
	before, dir := c.Folder, chain.Dir()
	if dir == "" {
		dir = before.Dir
	} else {
		entries = store.ReadStamp(dir)
	}
	folder := store.NewFolder(dir, func() {
		chain.Close()
		before.Release()
	})
	folder.Fixed = before.Fixed && chain.Dir() == ""
	c.Agents, c.Folder = chain, folder
	return entries, nil
}

// reread returns the configuration in a directory that an agent has filled; nil: there is none.
func (r *Reader) reread(dir string) *modelconfig.Config {
	c, err := modelconfig.ReadFile(r.configPath(dir))
	if err != nil {
		return nil
	}
	return c
}
