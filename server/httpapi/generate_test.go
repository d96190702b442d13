package httpapi_test

import (
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/pkg/sharedtest"
	"triton/server/httpapi"
)

// generateFile has the answers of NVIDIA's server to generateCases, with the models of
// addGenerated; generateOurs has the answers of this server that differ.
const (
	generateFile = "testdata/wire/generate.txt"
	generateOurs = "testdata/wire/generate_ours.txt"
)

// generateDifferences is why, by the start of a case's name.
var generateDifferences = []struct{ cases, why string }{
	{"g_fail", "the status of a failed response is that of its error, as in later Tritons; 2.51 says 400 to all"},
	{`g_repeat {"COUNT":3,"FAIL":0}`, "as g_fail"},
	{`g_repeat {"COUNT":1,"FAIL":0}`, "as g_fail"},
	{`g_params {"INPUT0":[[[[`, "nesting has a limit, as in later Tritons"},
	{`g_batch {"INPUT0":[[1,2],[3,4]]}`, "nested lists that have the shape of the input are accepted"},
	{`id_int32 {"INPUT0":3000000000}`, "an integer that the type cannot hold is refused, with its range; 2.51 cuts off its upper bits, or says 500"},
	{`id_int32 {"INPUT0":99999999999999999999}`, "as above"},
	{`id_uint8 {"INPUT0":-1}`, "as above"},
	{`id_uint8 {"INPUT0":300}`, "as above"},
	{`g_one {"INPUT0":"a","id":"1","id":"2"}`, "a member that is given twice is refused; 2.51 reads the first one"},
	{`g_params {"foo":1,"foo":2}`, "as above"},
	{`g_params {"id":"1","id":5}`, "as above"},
	{`g_params {"parameters":{"a":1},"parameters":{"b":1}}`, "as above"},
	{`g_one Content-Encoding: `, "an empty Content-Encoding counts as absent"},
}

func generateCases() []wire {
	var all []wire
	add := func(model, body string, header ...string) {
		for _, suffix := range []string{"", "_stream"} {
			name := strings.Join(append([]string{model + suffix}, append(header, body)...), " ")
			if len(name) > 80 {
				name = name[:60] + "..." + strconv.Itoa(len(body))
			}
			all = append(all, wire{name: name, path: "/v2/models/" + model + "/generate" + suffix, header: header, body: body})
		}
	}
	for _, c := range generateBodies {
		add(c[0], c[1])
	}
	good := `{"INPUT0":"a"}`
	add("g_one", good, "Content-Encoding: gzip")
	add("g_one", good, "Content-Encoding: identity")
	add("g_one", good, "Content-Encoding: Identity")
	add("g_one", good, "Content-Encoding: ")
	add("g_one", good, "Accept-Encoding: gzip")
	add("g_one", good, "Inference-Header-Content-Length: 3")
	add("g_one", good, "endpoint-load-metrics-format: json")
	add("nope", "}", "Content-Encoding: gzip")
	return all
}

// TestGenerate compares the answers with those of NVIDIA's server, chunk by chunk.
func TestGenerate(t *testing.T) {
	all := generateCases()
	var names []string
	for _, w := range all {
		require.NotContains(t, names, w.name)
		names = append(names, w.name)
	}
	if *record != "" {
		got := map[string]string{}
		for _, w := range all {
			got[w.name] = sendRaw(t, *record, w)
		}
		writeRecord(t, generateFile, names, got)
	}
	theirs, ours := recorded(t, generateFile), recorded(t, generateOurs)
	both(t, func(t *testing.T, start serving) {
		addr := start(t, newService(), httpapi.Options{})
		changed := map[string]string{}
		for _, w := range all {
			got := sendRaw(t, addr, w)
			if wanted(theirs[w.name]) == got {
				require.False(t, !sharedtest.UpdateGolden() && ours[w.name] != "", "%s is no difference any more", w.name)
				continue
			}
			changed[w.name] = got
			if whyGenerate(w.name) == "" || !sharedtest.UpdateGolden() && ours[w.name] != got {
				t.Errorf("%s\nTriton:\n%s\nhere:\n%s", w.name, theirs[w.name], got)
			}
		}
		if sharedtest.UpdateGolden() {
			writeRecord(t, generateOurs, names, changed)
		}
		require.NotEmpty(t, theirs)
	})
}

func whyGenerate(name string) string {
	name = strings.Replace(name, "_stream ", " ", 1)
	for _, d := range generateDifferences {
		if strings.HasPrefix(name, d.cases) {
			return d.why
		}
	}
	return ""
}

// sendRaw is send for chunked replies; it returns each chunk on a line of its own.
func sendRaw(t *testing.T, addr string, w wire) string {
	t.Helper()
	c, err := net.DialTimeout("tcp", addr, 5*time.Second)
	require.NoError(t, err)
	defer c.Close()
	require.NoError(t, c.SetDeadline(time.Now().Add(waitTime)))
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: server\r\nConnection: close\r\n", w.path)
	for _, h := range w.header {
		head += h + "\r\n"
	}
	_, err = fmt.Fprintf(c, "%sContent-Length: %d\r\n\r\n%s", head, len(w.body), w.body)
	require.NoError(t, err)
	all, err := io.ReadAll(c)
	require.NoError(t, err)
	top, body, _ := strings.Cut(string(all), "\r\n\r\n")
	lines := strings.Split(top, "\r\n")
	text := strings.Fields(lines[0])[1] + "\n"
	for _, want := range []string{"Content-Type: ", "Transfer-Encoding: ", "Endpoint-Load-Metrics: "} {
		for _, l := range lines[1:] {
			if len(l) > len(want) && strings.EqualFold(l[:len(want)], want) {
				text += l + "\n"
			}
		}
	}
	if !strings.Contains(top, "Transfer-Encoding: chunked") {
		return text + body + "\n"
	}
	for {
		size, rest, ok := strings.Cut(body, "\r\n")
		n, err := strconv.ParseUint(size, 16, 31)
		if !ok || err != nil || len(rest) < int(n)+2 {
			return text + "broken off: " + strconv.Quote(body) + "\n"
		}
		if n == 0 {
			return text + "end" + strings.TrimSuffix(rest, "\r\n") + "\n"
		}
		text += strconv.Quote(rest[:n]) + "\n"
		body = rest[n+2:]
	}
}
