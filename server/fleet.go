package server

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"triton/pkg/fleetstate"
	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/server/fleet"
	"triton/server/infer"
	"triton/server/readiness"
	"triton/server/repository"
	"triton/server/repository/state"
	"triton/server/traffic"
)

// openFleet makes the controller of the fleet state. Without a document it exports and applies
// states on request.
func (s *Server) openFleet() error {
	o := &s.opts.State
	var err error
	follow := fleet.Options{
		From: o.From, Interval: o.Interval, Write: o.Write, Cache: o.Cache, Loads: s.opts.LoadThreads,
		Models: fleetModels{s.models}, Traffic: s, Settings: fleetSettings{s}, Changed: s.fleetStateChanged, Log: s.opts.Log,
	}
	if s.opts.Models.Control == repository.ControlAuto && !s.opts.Models.Namespacing { // documents have no namespaces
		follow.Demand = fleetDemand{fleetModels{s.models}}
	}
	s.fleet, err = fleet.New(follow)
	return err
}

// chooseService returns the service that all frontends call.
func (s *Server) chooseService() infer.Service {
	if s.opts.State.From == "" {
		return s.traffic
	}
	return &fleetService{s.traffic, s}
}

// applyFleetState applies the document for the first time, once the models could be listed. Whatever
// fails is repeated later, unless the server is to exit on errors.
func (s *Server) applyFleetState(ctx context.Context) error {
	if s.opts.State.From == "" || s.models.Failure() != nil {
		return nil
	}
	err := s.fleet.Sync(ctx)
	s.logModels()
	if err == nil || ctx.Err() != nil || !s.opts.ExitOnError || s.fleet.Status().Cached {
		return nil
	}
	return fmt.Errorf("creating server: failed to apply the state: %w", err)
}

// fleetStateChanged makes the server need the required models of a document.
func (s *Server) fleetStateChanged(d *fleetstate.Document) {
	p := s.opts.Readiness
	if len(d.Required) > 0 {
		p, _ = readiness.ParseRequired(d.Required) // the document was checked
	}
	s.models.SetReadiness(p)
}

// fleetReasons returns why the fleet state keeps the server from being ready.
func (s *Server) fleetReasons() []string {
	mode := s.models.Policy().Mode
	return s.fleet.Reasons(mode == readiness.Strict || mode == readiness.Triton)
}

// readiness returns the condition of the server for verbose health checks.
func (s *Server) readiness() readiness.Report {
	r := s.models.Readiness()
	r.Warnings = s.guard.Problems()
	if s.opts.State.From == "" {
		return r
	}
	r.State = s.fleet.Status()
	if r.Phase == "serving" {
		r.Reasons = append(r.Reasons, s.fleetReasons()...)
		r.Ready = len(r.Reasons) == 0
	}
	return r
}

// ExportState returns a document of what the server serves.
func (s *Server) ExportState(ctx context.Context) ([]byte, error) {
	d, err := s.fleet.Export(ctx)
	if err != nil {
		return nil, err
	}
	return json.Marshal(d)
}

// ApplyState brings the server to a document once, and returns what was done as JSON. With dry, it
// returns only what it would do.
func (s *Server) ApplyState(ctx context.Context, document []byte, dry bool) ([]byte, error) {
	if s.models.Failure() != nil || !s.models.Live() {
		return nil, status.New(status.Unavailable, "Server not ready")
	}
	r, err := s.fleet.Apply(ctx, document, dry)
	if err != nil {
		return nil, err
	}
	if r.Actions == nil {
		r.Actions = []fleet.Action{}
	}
	return json.Marshal(r)
}

// fleetService is the models with their traffic rules, under a fleet state.
type fleetService struct {
	*traffic.Service
	server *Server
}

var _ infer.Service = (*fleetService)(nil)

// Ready reports whether the server takes requests and is as the document says.
func (s *fleetService) Ready() bool {
	return s.Service.Ready() && len(s.server.fleetReasons()) == 0
}

// Load loads a model for a client, if the document may be changed.
func (s *fleetService) Load(ctx context.Context, name string, o infer.LoadOptions) error {
	return s.server.fleet.Load(ctx, name, o)
}

// Unload unloads a model for a client, if the document may be changed.
func (s *fleetService) Unload(ctx context.Context, name string, dependents bool) error {
	return s.server.fleet.Unload(ctx, name, dependents)
}

// Index lists the models of the repository, and those of the document that it does not have.
func (s *fleetService) Index(readyOnly bool) *inferencepb.RepositoryIndexResponse {
	out := s.Service.Index(readyOnly)
	d := s.server.fleet.Document()
	if readyOnly || d == nil {
		return out
	}
	for _, name := range d.Names() {
		if !slices.ContainsFunc(out.GetModels(), func(m *inferencepb.RepositoryIndexResponse_ModelIndex) bool { return m.GetName() == name }) {
			out.Models = append(out.Models, &inferencepb.RepositoryIndexResponse_ModelIndex{
				Name: name, State: string(state.VersionUnavailable), Reason: "the state has this model, the model repository does not",
			})
		}
	}
	return out
}

// fleetModels are the models for the controller.
type fleetModels struct{ *repository.Repository }

// Loaded returns the models that are loaded or should be.
func (m fleetModels) Loaded() []fleet.Model {
	var all []fleet.Model
	for _, l := range m.Repository.Loaded() {
		all = append(all, fleet.Model{Name: l.ID.Name, Serves: l.Serves, Composing: l.Composing, Override: l.Override})
	}
	return all
}
