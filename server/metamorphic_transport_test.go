package server_test

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/grpc/status"

	"triton/pkg/inferencepb"
	"triton/pkg/kserve"
	"triton/pkg/tensor"
	"triton/server/infer"
	"triton/server/servertest"
)

// asker sends one question and returns the answer as text: the outputs by name, or the error.
type asker func(t *testing.T, q question) string

// transports returns all ways to a server. Each is for one client.
func transports(t *testing.T, s *servertest.Server) map[string]asker {
	return map[string]asker{
		"the core":           inCore(s),
		"HTTP JSON":          overHTTP(s, newClient(t), inJSON{}),
		"HTTP binary":        overHTTP(s, newClient(t), inTail{}),
		"HTTP shared memory": overHTTP(s, newClient(t), newRegion(t, s, "http")),
		"gRPC":               overGRPC(t, s, nil),
		"gRPC shared memory": overGRPC(t, s, newRegion(t, s, "grpc")),
		"gRPC stream":        overStream(t, s),
	}
}

// written returns how an answer is compared.
func written(outputs []value) string {
	slices.SortFunc(outputs, func(a, b value) int { return cmp.Compare(a.name, b.name) })
	return fmt.Sprint(outputs)
}

func inCore(s *servertest.Server) asker {
	return func(t *testing.T, q question) string {
		m, err := s.Service().Model(q.model, "")
		require.NoError(t, err)
		defer m.Release()
		r := infer.NewRequest()
		defer r.Release()
		for _, in := range q.inputs {
			v := r.AddInput()
			v.Name, v.DataType, v.Shape = in.name, in.datatype, append(v.Shape, in.shape...)
			v.Data = tensor.NewData(tensor.HeapBuffer(bytes.Clone(in.data)))
		}
		if q.position != nil {
			r.SequenceID, r.SequenceStart, r.SequenceEnd = q.position.id, q.position.start, q.position.end
		}
		for _, name := range q.outputs {
			r.Outputs = append(r.Outputs, kserve.RequestedOutput{Name: name})
		}
		resp, err := m.Infer(t.Context(), r)
		if err != nil {
			return plain(err.Error())
		}
		defer resp.Release()
		var outputs []value
		for _, o := range resp.Outputs {
			data := make([]byte, o.Data.Len())
			o.Data.CopyTo(data)
			outputs = append(outputs, value{o.Name, o.DataType, slices.Clone(o.Shape), data})
		}
		return written(outputs)
	}
}

// plain returns the text of an error without the part that depends on the transport.
func plain(text string) string { return "error: " + strings.TrimSpace(text) }

// carrier sends the bytes of tensors inline, behind the JSON or in shared memory.
type carrier interface {
	// begin comes before each question.
	begin()
	// input returns the members of an input's JSON that describe its data, and the bytes that
	// follow the header.
	input(v value) (members string, tail []byte)
	// output returns the parameters of a requested output.
	output(name string) string
	// read returns the data of an output; tail are the bytes behind the JSON, from
	// which it takes its own.
	read(o *jsonOutput, tail *[]byte) ([]byte, error)
}

type jsonOutput struct {
	Name       string
	Datatype   string
	Shape      tensor.Shape
	Data       []json.RawMessage
	Parameters struct {
		Binary int `json:"binary_data_size"`
	}
}

func (o *jsonOutput) dataType() tensor.DataType {
	d, _ := tensor.ParseDataType(o.Datatype)
	return d
}

func overHTTP(s *servertest.Server, c *http.Client, by carrier) asker {
	return func(t *testing.T, q question) string {
		by.begin()
		var ins, outs []string
		var tail []byte
		for _, in := range q.inputs {
			members, bytes := by.input(in)
			tail = append(tail, bytes...)
			ins = append(ins, fmt.Sprintf(`{"name":%q,"datatype":%q,"shape":%s,%s}`, in.name, in.datatype, strings.ReplaceAll(fmt.Sprint([]int64(in.shape)), " ", ","), members))
		}
		for _, name := range q.requested() {
			outs = append(outs, fmt.Sprintf(`{"name":%q,"parameters":{%s}}`, name, by.output(name)))
		}
		head := fmt.Sprintf(`{"inputs":[%s],"outputs":[%s]%s}`, strings.Join(ins, ","), strings.Join(outs, ","), q.position.members())
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+s.HTTP+"/v2/models/"+q.model+"/infer", strings.NewReader(head+string(tail)))
		require.NoError(t, err)
		req.Header.Set("Inference-Header-Content-Length", fmt.Sprint(len(head)))
		resp, err := c.Do(req)
		require.NoError(t, err)
		defer resp.Body.Close()
		body, err := io.ReadAll(resp.Body)
		require.NoError(t, err)
		if resp.StatusCode != http.StatusOK {
			var failure struct{ Error string }
			require.NoError(t, json.Unmarshal(body, &failure), "%s", body)
			return plain(failure.Error)
		}
		return answered(t, by, body)
	}
}

// members returns the position as members of JSON.
func (t *position) members() string {
	if t == nil {
		return ""
	}
	return fmt.Sprintf(`,"parameters":{"sequence_id":%d,"sequence_start":%t,"sequence_end":%t}`, t.id, t.start, t.end)
}

// parameters returns the position as parameters of gRPC.
func (t *position) parameters() map[string]*inferencepb.InferParameter {
	if t == nil {
		return nil
	}
	flag := func(v bool) *inferencepb.InferParameter {
		return &inferencepb.InferParameter{ParameterChoice: &inferencepb.InferParameter_BoolParam{BoolParam: v}}
	}
	return map[string]*inferencepb.InferParameter{
		"sequence_id":    {ParameterChoice: &inferencepb.InferParameter_Int64Param{Int64Param: int64(t.id)}},
		"sequence_start": flag(t.start), "sequence_end": flag(t.end),
	}
}

// requested returns the names of the outputs, which a request in shared memory must list.
func (q question) requested() []string {
	switch {
	case len(q.outputs) > 0:
		return q.outputs
	case q.model == "simple":
		return []string{"OUTPUT0", "OUTPUT1"}
	case q.model == "both":
		return []string{"SUM", "DIFFERENCE"}
	case q.position != nil:
		return []string{"OUTPUT"}
	}
	return []string{"OUTPUT0"}
}

func answered(t *testing.T, by carrier, body []byte) string {
	var reply struct{ Outputs []*jsonOutput }
	in := json.NewDecoder(bytes.NewReader(body))
	require.NoError(t, in.Decode(&reply), "%s", body)
	tail := body[in.InputOffset():]
	var outputs []value
	for _, o := range reply.Outputs {
		data, err := by.read(o, &tail)
		require.NoError(t, err, "%s", body)
		outputs = append(outputs, value{o.Name, o.dataType(), o.Shape, data})
	}
	return written(outputs)
}

// inTail carries the data behind the JSON.
type inTail struct{}

func (inTail) begin() {}

func (inTail) input(v value) (string, []byte) {
	return fmt.Sprintf(`"parameters":{"binary_data_size":%d}`, len(v.data)), v.data
}
func (inTail) output(string) string { return `"binary_data":true` }

func (inTail) read(o *jsonOutput, tail *[]byte) ([]byte, error) {
	n := o.Parameters.Binary
	if n > len(*tail) {
		return nil, fmt.Errorf("%d bytes follow, %s has %d", len(*tail), o.Name, n)
	}
	data := (*tail)[:n]
	*tail = (*tail)[n:]
	return data, nil
}

// inJSON carries the data as JSON numbers and strings.
type inJSON struct{}

func (inJSON) begin() {}

func (inJSON) input(v value) (string, []byte) {
	var all []string
	for b := v.data; len(b) > 0; {
		n := binary.LittleEndian.Uint32(b)
		b = b[4:]
		switch {
		case v.datatype != tensor.Bytes:
			all = append(all, fmt.Sprint(n))
		case int(n) <= len(b):
			all = append(all, fmt.Sprintf("%q", b[:n]))
			b = b[n:]
		}
	}
	return `"data":[` + strings.Join(all, ",") + `]`, nil
}
func (inJSON) output(string) string { return `"binary_data":false` }

func (inJSON) read(o *jsonOutput, _ *[]byte) ([]byte, error) {
	var data []byte
	for _, item := range o.Data {
		if o.Datatype == "BYTES" {
			var word string
			if err := json.Unmarshal(item, &word); err != nil {
				return nil, err
			}
			data = append(binary.LittleEndian.AppendUint32(data, uint32(len(word))), word...)
			continue
		}
		var n int32
		if err := json.Unmarshal(item, &n); err != nil {
			return nil, err
		}
		data = binary.LittleEndian.AppendUint32(data, uint32(n))
	}
	return data, nil
}

func overGRPC(t *testing.T, s *servertest.Server, at *region) asker {
	g := dial(t, s.GRPC)
	return func(t *testing.T, q question) string {
		resp, err := g.ModelInfer(t.Context(), posed(q, at))
		if err != nil {
			return plain(status.Convert(err).Message())
		}
		return answeredRPC(t, resp, at)
	}
}

// overStream sends questions over one stream, one after the other.
func overStream(t *testing.T, s *servertest.Server) asker {
	stream, err := dial(t, s.GRPC).ModelStreamInfer(t.Context())
	require.NoError(t, err)
	return func(t *testing.T, q question) string {
		require.NoError(t, stream.Send(posed(q, nil)))
		resp, err := stream.Recv()
		require.NoError(t, err)
		if resp.ErrorMessage != "" {
			return plain(resp.ErrorMessage)
		}
		return answeredRPC(t, resp.InferResponse, nil)
	}
}

func posed(q question, at *region) *inferencepb.ModelInferRequest {
	m := &inferencepb.ModelInferRequest{ModelName: q.model, Parameters: q.position.parameters()}
	if at != nil {
		at.begin()
	}
	for _, in := range q.inputs {
		v := &inferencepb.ModelInferRequest_InferInputTensor{Name: in.name, Datatype: in.datatype.String(), Shape: in.shape}
		if at != nil {
			v.Parameters = at.parameters(at.put(in.data), len(in.data))
		} else {
			m.RawInputContents = append(m.RawInputContents, in.data)
		}
		m.Inputs = append(m.Inputs, v)
	}
	names := q.outputs
	if at != nil {
		names = q.requested()
	}
	for _, name := range names {
		o := &inferencepb.ModelInferRequest_InferRequestedOutputTensor{Name: name}
		if at != nil {
			o.Parameters = at.parameters(at.room(name), outputRoom)
		}
		m.Outputs = append(m.Outputs, o)
	}
	return m
}

func answeredRPC(t *testing.T, resp *inferencepb.ModelInferResponse, at *region) string {
	var outputs []value
	for i, o := range resp.Outputs {
		d, ok := tensor.ParseDataType(o.Datatype)
		require.True(t, ok, o.Datatype)
		v := value{o.Name, d, o.Shape, nil}
		if at != nil {
			var err error
			v.data, err = at.get(o.Name, d, o.Shape)
			require.NoError(t, err)
		} else {
			v.data = resp.RawOutputContents[i]
		}
		outputs = append(outputs, v)
	}
	return written(outputs)
}
