// Package agents runs the repository agents of a model's configuration: those of this program, and
// those in libraries that were built for Triton's server. Agents are told when the model is loaded
// and unloaded, can refuse a load, and can give the model another directory.
package agents

import (
	"context"
	"io/fs"
	"log/slog"
	"time"

	"triton/pkg/modelconfig"
	"triton/server/repository/agents/library"
)

// Options configure the agents of a server. The zero value has the agents of this program.
type Options struct {
	// Directory has the libraries of agents: <name>/libtritonrepoagent_<name>.so.
	Directory string
	// PreferLibrary lets a library in Directory replace the agent of the same name in this
	// program.
	PreferLibrary bool
	// LoadTime bounds how long an agent may work on a load, and CallTime all other calls; 0: ten
	// minutes and one. An agent that takes longer is left running and not called any more.
	LoadTime, CallTime time.Duration
	Log                *slog.Logger
}

// Agents are the agents of a server. A nil *Agents has those of this program.
type Agents struct {
	opts   Options
	loaded libraries
}

// New returns the agents of a server. It opens no library.
func New(o Options) *Agents {
	if o.LoadTime == 0 {
		o.LoadTime = 10 * time.Minute
	}
	if o.CallTime == 0 {
		o.CallTime = time.Minute
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return &Agents{opts: o, loaded: libraries{log: o.Log, limit: o.CallTime, open: map[string]*shared{}}}
}

// Model is a model that is to be loaded.
type Model struct {
	// Config is the configuration as its file has it.
	Config *modelconfig.Config
	// Location is where the files are.
	Location library.Location
	// Files has the files of the model.
	Files fs.FS
	// Uploaded reports that the files came with the load: then the first agent gets the
	// configuration in the files and not Config, as in Triton.
	Uploaded bool
	// Reread returns the configuration in a directory; nil: it has none that can be read.
	Reread func(dir string) *modelconfig.Config
}

// Load tells the agents of a model that it is loaded, in the order of the configuration. Each gets
// the directory that the one before it has chosen. It returns the error of the first agent that
// refuses; the agents before it are told that the load failed.
func (a *Agents) Load(ctx context.Context, m Model) (*Chain, error) {
	if a == nil {
		a = New(Options{})
	}
	c := &Chain{agents: a, location: m.Location}
	for i := range m.Config.GetModelRepositoryAgents().GetAgents() {
		if err := a.add(ctx, c, &m, i); err != nil {
			c.Close()
			return nil, err
		}
	}
	return c, nil
}

// add makes agent i of a configuration the last one of a chain, and runs it.
func (a *Agents) add(ctx context.Context, c *Chain, m *Model, i int) error {
	of := m.Config.GetModelRepositoryAgents().GetAgents()[i]
	path, found := library.Find(a.opts.Directory, of.GetName())
	switch own := modelconfig.KnownAgent(of.GetName()); {
	case own && (!found || !a.opts.PreferLibrary):
		return m.Config.First(modelconfig.RunAgent(m.Config, i, c.files(m)))
	case !found:
		return library.NotFound(a.opts.Directory, of.GetName())
	}
	s, err := a.loaded.acquire(ctx, path)
	if err != nil {
		return err
	}
	link := &link{name: of.GetName(), libraries: &a.loaded, shared: s}
	if link.model, err = s.agent.NewModel(library.Spec{
		Location: c.location, Config: m.configFor(c), Parameters: parameters(of.GetParameters()),
	}); err != nil {
		a.loaded.release(s)
		return err
	}
	if err := link.call(ctx, a.opts.CallTime, "its initialization", link.model.Initialize); err != nil {
		c.end(link)
		return err
	}
	if err := link.act(ctx, a.opts.LoadTime, library.Load); err != nil {
		c.end(link)
		return err
	}
	c.links = append(c.links, link)
	return c.relocate(link)
}

// configFor returns the configuration that the next agent of a chain gets: that of the model, or after
// another agent the one in the directory.
func (m *Model) configFor(c *Chain) string {
	config := m.Config
	if len(c.links) > 0 || m.Uploaded {
		config = m.Reread(c.location.Path)
	}
	if config == nil {
		return ""
	}
	text, err := modelconfig.MarshalJSON(config.ModelConfig)
	if err != nil {
		return ""
	}
	return string(text)
}
