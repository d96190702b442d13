package agents

import (
	"context"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"triton/pkg/status"
	"triton/server/repository/agents/library"
)

// Chain is the agents of one load of a model.
//
//	from     event                           to         agents are told, in this order
//	loading  the model is loaded             complete   LOAD_COMPLETE, the last agent first
//	loading  the load failed                 failed     LOAD_FAIL, the last agent first
//	loading  the last version is closed      closed     LOAD_FAIL
//	complete no version is in service        unloading  UNLOAD
//	unloading the last version is closed     closed     UNLOAD_COMPLETE, the last agent first
//	any      closed                          closed     the end of the model
type Chain struct {
	agents   *Agents
	location library.Location
	moved    bool

	mu    sync.Mutex // held while agents are called
	state library.Action
	links []*link
	// versions are those in service. An ensemble may be loaded again without its agents.
	versions map[any]bool
}

// files returns the files of the model where the agents have them now.
func (c *Chain) files(m *Model) fs.FS {
	if c.moved {
		return os.DirFS(c.location.Path)
	}
	return m.Files
}

// relocate takes over the directory that an agent has chosen.
func (c *Chain) relocate(l *link) error {
	now := l.model.Location()
	if now == c.location {
		return nil
	}
	if now.Remote {
		return status.New(status.Unsupported,
			"repository agent '%s' moved the model to '%s', which is not a directory of this machine; let the agent copy the files to a directory", l.name, now.Path)
	}
	c.location, c.moved = now, true
	return nil
}

// Dir returns the directory that the agents gave the model; empty: they left it where it is.
func (c *Chain) Dir() string {
	if c == nil || !c.moved {
		return ""
	}
	return c.location.Path
}

// Done tells the agents whether the load succeeded.
func (c *Chain) Done(loaded bool) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.state != library.Load:
	case loaded:
		c.tell(library.LoadComplete)
	default:
		c.tell(library.LoadFail)
	}
}

// Add adds a version that was loaded from the files of the model.
func (c *Chain) Add(version any) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.versions == nil {
		c.versions = map[any]bool{}
	}
	c.versions[version] = true
}

// Retire removes a version that goes out of service. When the last one does, the agents are told that
// the model is unloaded.
func (c *Chain) Retire(version any) {
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.versions, version)
	if c.state == library.LoadComplete && len(c.versions) == 0 {
		c.tell(library.Unload)
	}
}

// Close ends the chain: nothing uses the files of the model any more.
func (c *Chain) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.state == library.Unload {
		c.tell(library.UnloadComplete)
	}
	for _, l := range c.links {
		c.end(l)
	}
	c.links = nil
}

// tell tells all agents of an action. As in Triton, the first error ends the round, and the end of each
// model makes up for what it missed.
func (c *Chain) tell(a library.Action) {
	c.state = a
	for i := range c.links {
		l := c.links[i]
		if a != library.Unload {
			l = c.links[len(c.links)-1-i]
		}
		if err := l.act(context.Background(), c.agents.opts.CallTime, a); err != nil {
			c.agents.opts.Log.Error(fmt.Sprintf("Agent model returns error on %s: %s", a, status.From(err).Text()), "agent", l.name)
			return
		}
	}
}

// end tells an agent the actions that the life of its model still needs, and that the model ends.
func (c *Chain) end(l *link) {
	for _, a := range l.missing() {
		if err := l.act(context.Background(), c.agents.opts.CallTime, a); err != nil {
			c.agents.opts.Log.Error(fmt.Sprintf("Inform %s: %s", a, text(err)), "agent", l.name)
		}
	}
	if err := l.call(context.Background(), c.agents.opts.CallTime, finalization, l.model.Close); err != nil {
		c.agents.opts.Log.Error("~TritonRepoAgentModel: "+text(err), "agent", l.name)
	}
	if !l.hangs {
		c.agents.loaded.release(l.shared)
	}
}

// text returns an error as Triton logs the error of a library.
func text(err error) string {
	e := status.From(err)
	return e.Code.String() + " - " + e.Msg
}
