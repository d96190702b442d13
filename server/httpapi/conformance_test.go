package httpapi_test

import (
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"google.golang.org/protobuf/encoding/protojson"

	"triton/pkg/inferencepb"
	"triton/pkg/log"
	"triton/pkg/sharedtest"
	"triton/server/httpapi"
	"triton/server/trace"
)

// differences are the reasons why an answer differs from Triton's, by the start of the case's
// name. docs/compatibility-details.md lists them too.
var differences = []struct{ cases, why string }{
	{"route 08", "HEAD is answered as GET is, without the body"},
	{"route 10", "OPTIONS tells the methods; Triton refuses it"},
	{"route 23", "HEAD is answered as GET is, without the body"},
	{"route 35", "names are percent-decoded; Triton cannot reach such models at all"},
	{"route 63", "a later Triton's text; 2.51 says that it is no boolean"},
	{"syntax 70", "a number above the largest double is refused; 2.51 rounds it down"},
	{"request 37", "a dimension above 2^63-1 is refused as such, as by later Tritons; one of 2^64-1 ends 2.51"},
	{"request 39", "a member that is given twice is refused; 2.51 reads the first one"},
	{"request 52", "as request 39"},
	{"request 64", "as request 39"},
	{"request 65", "a number that the type cannot hold is refused; 2.51 makes it infinite"},
	{"request 66", "as request 65"},
	{"parameter 17", "a parameter that is given twice is refused; 2.51 reads the first one"},
	{"parameter 18", "as parameter 17"},
	{"output 23", "2.51 ends at the classification of strings; the text is a later Triton's"},
	{"type 05", "an integer that the type cannot hold is refused, with its range; 2.51 cuts off its upper bits, or says 500"},
	{"type 07", "as type 05"},
	{"type 08", "as type 05"},
	{"type 09", "as type 05"},
	{"type 10", "as type 05"},
	{"type 11", "as type 05"},
	{"type 12", "as type 05"},
	{"type 14", "as type 05"},
	{"type 15", "as type 05"},
	{"type 17", "as type 05"},
	{"type 19", "as type 05"},
	{"type 20", "as type 05"},
	{"type 34", "numbers are rounded correctly; 2.51 may be off by some units in the last place"},
	{"type 35", "numbers are rounded correctly; 2.51 may be off by some units in the last place"},
	{"framing 19", "a length that is no number is refused, as by later Tritons; 2.51 takes it for 0"},
	{"framing 23", "a length that int32 cannot hold is refused as such, as by later Tritons"},
	{"framing 24", "a length that int32 cannot hold is refused as such, as by later Tritons"},
	{"framing 26", "a length that is no number is refused, as by later Tritons; 2.51 takes it for 0"},
	{"framing 27", "a length that is no number is refused, as by later Tritons; 2.51 takes the digits before"},
	{"framing 29", "chunk extensions are read over; 2.51 drops the connection"},
	{"compression 07", "what is not compressed is refused; 2.51 takes it for an empty body"},
	{"compression 08", "what is not compressed is refused; 2.51 takes it for an empty body"},
}

// malformed matches Triton's answers to what is not JSON, or not of the protocol's form. Triton calls
// them errors of its own.
var malformed = regexp.MustCompile(`(?s)^500\n(.*\{"error":"(?:failed to parse the request JSON buffer|Unable to |attempt to |` +
	`failed to get request params\.: attempt|Converting keyword|Expected JSON object for keyword|unexpected error on creating Triton parameter|` +
	`encountered inconsistent stream state))`)

// wanted returns the answer to give where Triton gives theirs: the status of what is malformed is 400,
// and the text about the number of elements is that of later Tritons.
func wanted(theirs string) string {
	return strings.ReplaceAll(malformed.ReplaceAllString(theirs, "400\n$1"),
		"Unable to parse 'data': Shape does not match true shape of 'data' field", "Failed to parse 'data' field: shape does not match true shape")
}

func why(name string) string {
	for _, d := range differences {
		if strings.HasPrefix(name, d.cases) {
			return d.why
		}
	}
	return ""
}

// TestConformance compares the answers with those that NVIDIA's server gave.
//
//	go test ./server/httpapi -run Conformance -record 127.0.0.1:8000
//	go test ./server/httpapi -run Conformance -update
func TestConformance(t *testing.T) {
	all := cases()
	var names []string
	for _, w := range all {
		require.NotContains(t, names, w.name)
		names = append(names, w.name)
	}
	if *record != "" {
		got := map[string]string{}
		for _, w := range all {
			got[w.name] = send(t, *record, w)
		}
		writeRecord(t, tritonFile, names, got)
	}
	theirs, ours := recorded(t, tritonFile), recorded(t, oursFile)
	both(t, func(t *testing.T, start serving) { compare(t, start, all, names, theirs, ours) })
}

func compare(t *testing.T, start serving, all []wire, names []string, theirs, ours map[string]string) {
	t.Helper()
	svc := newService()
	describeModels(t, svc, theirs)
	tracer, err := trace.New(trace.Options{})
	require.NoError(t, err)
	logs, err := log.Open(log.DefaultSettings(), io.Discard, io.Discard)
	require.NoError(t, err)
	addr := start(t, svc, httpapi.Options{Tracer: tracer, Logs: logs})
	changed := map[string]string{}
	for _, w := range all {
		got := send(t, addr, w)
		if reason := why(w.name); reason != "" {
			changed[w.name] = got
			if !sharedtest.UpdateGolden() {
				require.Equal(t, ours[w.name], got, "%s (differs from Triton: %s)", w.name, reason)
			}
			require.NotEqual(t, wanted(theirs[w.name]), got, "%s is listed as different but is not", w.name)
			continue
		}
		if want := wanted(theirs[w.name]); want != got {
			t.Errorf("%s\nwanted:\n%s\nhere:\n%s", w.name, want, got)
		}
	}
	if sharedtest.UpdateGolden() {
		writeRecord(t, oursFile, names, changed)
	}
	require.GreaterOrEqual(t, len(all), 80)
}

// describeModels gives the stub the configuration and statistics of the
// recording, so that their JSON forms are compared too.
func describeModels(t *testing.T, svc *stub, theirs map[string]string) {
	t.Helper()
	for name, text := range theirs {
		_, body, _ := strings.Cut(text, "\n{")
		switch {
		case strings.HasSuffix(name, `"GET /v2/models/simple/config"`):
			cfg := &inferencepb.ModelConfig{}
			require.NoError(t, protojson.Unmarshal([]byte("{"+body), cfg))
			svc.models["simple"].config = cfg
		case strings.HasSuffix(name, `"GET /v2/models/simple/stats"`):
			svc.stats = &inferencepb.ModelStatisticsResponse{}
			require.NoError(t, protojson.Unmarshal([]byte("{"+body), svc.stats))
		}
	}
}
