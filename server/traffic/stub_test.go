package traffic

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"

	"triton/pkg/inferencepb"
	"triton/pkg/status"
	"triton/pkg/tensor"
	"triton/server/infer"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// models is a service of stub models.
type models struct {
	infer.Service
	mu  sync.Mutex
	all []*stub // the newest version of a name is its last
}

// stub is a model version that counts its requests.
type stub struct {
	infer.Model
	name, version string
	config        *inferencepb.ModelConfig
	refs, ran     atomic.Int64
	err           error
}

func (m *models) add(name, version string) *stub {
	s := &stub{name: name, version: version, config: &inferencepb.ModelConfig{Name: name}}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all = append(m.all, s)
	return s
}

// remove takes a version out of service.
func (m *models) remove(s *stub) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.all = slices.DeleteFunc(m.all, func(o *stub) bool { return o == s })
}

var errUnknown = status.New(status.NotFound, "there is no such version")

func (m *models) Model(name, version string) (infer.Model, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range slices.Backward(m.all) {
		if s.name == name && (version == "" || s.version == version) {
			s.refs.Add(1)
			return s, nil
		}
	}
	return nil, errUnknown
}

func (m *models) Index(bool) *inferencepb.RepositoryIndexResponse {
	m.mu.Lock()
	defer m.mu.Unlock()
	r := &inferencepb.RepositoryIndexResponse{}
	for _, s := range m.all {
		r.Models = append(r.Models, &inferencepb.RepositoryIndexResponse_ModelIndex{Name: s.name})
	}
	return r
}

func (s *stub) Name() string                     { return s.name }
func (s *stub) Version() string                  { return s.version }
func (s *stub) Config() *inferencepb.ModelConfig { return s.config }
func (s *stub) Release()                         { s.refs.Add(-1) }
func (s *stub) String() string                   { return s.name + ":" + s.version }

func (s *stub) Infer(_ context.Context, r *infer.Request) (*infer.Response, error) {
	s.ran.Add(1)
	r.Release()
	if s.err != nil {
		return nil, s.err
	}
	return infer.NewResponse(), nil
}

func (s *stub) Submit(r *infer.Request) error {
	s.ran.Add(1)
	resp := infer.NewResponse()
	resp.Err = s.err
	r.Sink.Send(resp, true)
	r.Release()
	return nil
}

// service returns a service over models, which hold no reference at the end of the test.
func service(t testing.TB, m *models) *Service {
	t.Helper()
	t.Cleanup(func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		for _, s := range m.all {
			require.Zero(t, s.refs.Load(), "references to %s", s)
		}
	})
	return New(Options{Models: m, Pool: tensor.NewPool()})
}

func set(t testing.TB, s *Service, name, rules string) {
	t.Helper()
	require.NoError(t, s.Set(t.Context(), name, []byte(rules), nil))
}

// headers are the headers of a request.
type headers map[string]string

func (h headers) HeaderValue(name string) string { return h[name] }

// send runs a request and returns the version that answers.
func send(t testing.TB, s *Service, name string, h infer.Headers, edit func(*infer.Request)) string {
	t.Helper()
	m, err := s.Model(name, "")
	require.NoError(t, err)
	r := infer.NewUnpooled()
	defer r.Release()
	if edit != nil {
		edit(r)
	}
	m = infer.ChooseBy(m, r, h)
	defer m.Release()
	resp, err := m.Infer(t.Context(), r)
	if err == nil {
		resp.Release()
	}
	return m.Name() + ":" + m.Version()
}

var decoupled = &inferencepb.ModelTransactionPolicy{Decoupled: true}

func sequenceBatching(idleMicros uint64) *inferencepb.ModelConfig_SequenceBatching {
	return &inferencepb.ModelConfig_SequenceBatching{SequenceBatching: &inferencepb.ModelSequenceBatching{MaxSequenceIdleMicroseconds: idleMicros}}
}

// withRules returns a configuration with traffic rules.
func withRules(name, rules string) *inferencepb.ModelConfig {
	return &inferencepb.ModelConfig{Name: name, Parameters: map[string]*inferencepb.ModelParameter{"traffic_rules": {StringValue: rules}}}
}
