package server_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"triton/server"
	"triton/server/repository"
	"triton/server/servertest"
	"triton/server/store/mirror"
	"triton/server/store/remote/remotetest"
)

// realStore is a real server with models.
type realStore struct {
	name    string
	address string // host:port of the server
	forms   []form
}

// form is a way to name and to open a repository in a store.
type form struct {
	path, credentials string // for the table
	// publish puts the files of a repository under a name, and replaces what is there.
	publish func(t *testing.T, name string, files tree)
	// repository returns the path of the repository, at the address of the store or of a proxy.
	repository func(address, name string) string
	variables  func(address string) map[string]string
	direct     bool               // not through the proxy
	fixed      bool               // the path names the content: nothing can be published later
	faults     bool               // all faults are tried with it
	without    []remotetest.Fault // that are not tried
	refused    string             // the error; empty: it works
}

// result is a row of the table.
type result struct{ server, path, credentials, fault, outcome string }

var (
	resultsMu sync.Mutex
	results   []result
)

// goneAndBack is the fault of a server that cannot be reached for a while.
const goneAndBack remotetest.Fault = "gone, and back"

// TestStores loads models from real servers, through a proxy that injects faults. While that goes
// on, a loaded model must answer each request, and the cache may have no unfinished or wrong file.
// TRITON_STORES_TABLE is the document whose table is written.
func TestStores(t *testing.T) {
	storePrograms(t)
	certificate := newCertificate(t)
	for _, s := range []realStore{minioStore(t, certificate), gcsStore(t), azureStore(t), registryStore(t), webStore(t), pythonStore(t)} {
		for i, f := range s.forms {
			faults := []remotetest.Fault{remotetest.None}
			if f.faults {
				faults = append(append(faults, remotetest.Faults...), goneAndBack)
				faults = slices.DeleteFunc(faults, func(other remotetest.Fault) bool { return slices.Contains(f.without, other) })
			}
			for _, fault := range faults {
				name := fmt.Sprintf("case-%d-%s", i, strings.NewReplacer(" ", "-", ",", "").Replace(string(cmp.Or(fault, "none"))))
				t.Run(s.name+"/"+name, func(t *testing.T) {
					tryStore(t, s, f, name, fault)
					outcome := "models load"
					switch {
					case f.refused != "":
						outcome = "refused: " + f.refused
					case fault == goneAndBack:
						outcome = "models serve meanwhile; the change loads afterwards"
					case fault != remotetest.None:
						outcome = "the change loads in spite of it"
					}
					resultsMu.Lock()
					defer resultsMu.Unlock()
					results = append(results, result{s.name, f.path, f.credentials, cmp.Or(string(fault), "-"), outcome})
				})
			}
		}
	}
	if path := os.Getenv("TRITON_STORES_TABLE"); path != "" && !t.Failed() {
		writeStoresTable(t, path)
	}
}

// storeModels returns a repository with the models steady and fresh. The weights are of fresh.
func storeModels(weights string) tree {
	identity := servertest.Identity("INT32", "4", 0)
	return tree{
		"steady/config.pbtxt": identity, "steady/1/weights.bin": "steady",
		"fresh/config.pbtxt": identity, "fresh/1/weights.bin": weights,
	}
}

// randomWeights are larger than a part of a download, and different each time.
func randomWeights() string {
	text := make([]byte, 600<<10)
	rand.Read(text) //nolint:errcheck // never fails
	return string(text)
}

// tryStore is one row of the table.
func tryStore(t *testing.T, s realStore, f form, name string, fault remotetest.Fault) {
	first := randomWeights()
	f.publish(t, name, storeModels(first))
	proxy := remotetest.NewProxy(t, "http://"+s.address)
	address := proxy.Address
	if f.direct {
		address = s.address
	}
	variables := map[string]string{}
	if f.variables != nil {
		variables = f.variables(address)
	}
	cache := t.TempDir()
	control := repository.ControlExplicit
	if fault == goneAndBack {
		control = repository.ControlPoll
	}
	running, err := servertest.Try(t, servertest.Repository(f.repository(address, name)), servertest.With(func(o *server.Options) {
		o.Models.Control, o.Models.PollInterval, o.Models.Startup = control, 100*time.Millisecond, []string{"steady"}
		o.Remote = server.Remote{
			CacheDirectory: cache, Getenv: func(name string) string { return variables[name] },
			Download: mirror.DownloadOptions{PartSize: 256 << 10, Silence: time.Second, FirstPause: 20 * time.Millisecond, MaxPause: 200 * time.Millisecond},
		}
	}))
	if f.refused != "" {
		require.ErrorContains(t, err, f.refused)
		checkCache(t, cache)
		return
	}
	require.NoError(t, err)
	stop := keepAsking(t, running.HTTP)
	defer stop()
	if control == repository.ControlExplicit { // else all are loaded
		loadFrom(t, running.HTTP, "fresh")
	}
	require.NoError(t, inferOnce(running.HTTP, "fresh"))
	checkCache(t, cache, first)
	if f.fixed {
		return
	}
	second := randomWeights()
	switch fault {
	case goneAndBack:
		proxy.GoAway()
		f.publish(t, name, storeModels(second))
		time.Sleep(500 * time.Millisecond) // some polls
		require.NotContains(t, cached(t, cache), digestOf([]byte(second)))
		proxy.ComeBack(t)
		require.Eventually(t, func() bool { return inferOnce(running.HTTP, "fresh") == nil && cachedHas(cache, second) }, time.Minute, 20*time.Millisecond)
	default:
		f.publish(t, name, storeModels(second))
		proxy.Set(remotetest.Rule{Fault: fault, After: 100_000, Times: 3})
		loadFrom(t, running.HTTP, "fresh")
		if fault != remotetest.None && !f.direct {
			require.Positive(t, proxy.Injected())
		}
	}
	checkCache(t, cache, second)
}

// keepAsking sends requests to the model steady until the returned function, which fails the test
// if one of them failed.
func keepAsking(t *testing.T, address string) (stop func()) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var work sync.WaitGroup
	asked, failed := 0, []error(nil)
	work.Go(func() {
		for ctx.Err() == nil {
			asked++
			if err := inferOnce(address, "steady"); err != nil {
				failed = append(failed, err)
			}
			time.Sleep(5 * time.Millisecond)
		}
	})
	return func() {
		cancel()
		work.Wait()
		require.Positive(t, asked)
		require.Empty(t, failed, "the loaded model must go on")
	}
}

func inferOnce(address, model string) error {
	const body = `{"inputs":[{"name":"INPUT0","datatype":"INT32","shape":[4],"data":[1,2,3,4]}]}`
	resp, err := http.Post("http://"+address+"/v2/models/"+model+"/infer", "application/json", strings.NewReader(body))
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err == nil && (resp.StatusCode != http.StatusOK || !bytes.Contains(text, []byte(`"data":[1,2,3,4]`))) {
		err = fmt.Errorf("%s: %s", resp.Status, text)
	}
	return err
}

// loadFrom loads a model and asks it.
func loadFrom(t *testing.T, address, model string) {
	t.Helper()
	resp, err := http.Post("http://"+address+"/v2/repository/models/"+model+"/load", "application/json", strings.NewReader("{}"))
	require.NoError(t, err)
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, resp.StatusCode, "%s", text)
	require.NoError(t, inferOnce(address, model))
}

// cached returns the digests of the files in the cache.
func cached(t *testing.T, dir string) map[string]bool {
	t.Helper()
	all := map[string]bool{}
	paths, err := filepath.Glob(filepath.Join(dir, "blobs", "*", "*"))
	require.NoError(t, err)
	for _, p := range paths {
		all[filepath.Base(p)] = true
	}
	return all
}

func cachedHas(dir, text string) bool {
	digest := digestOf([]byte(text))
	_, err := os.Stat(filepath.Join(dir, "blobs", digest[:2], digest))
	return err == nil
}

// checkCache checks that all files of the cache have the content that their names say, that the
// given ones are there, and that no download is unfinished.
func checkCache(t *testing.T, dir string, texts ...string) {
	t.Helper()
	all := cached(t, dir)
	for digest := range all {
		text, err := os.ReadFile(filepath.Join(dir, "blobs", digest[:2], digest))
		require.NoError(t, err)
		require.Equal(t, digest, digestOf(text))
	}
	for _, text := range texts {
		require.Contains(t, all, digestOf([]byte(text)))
	}
	parts, err := filepath.Glob(filepath.Join(dir, "process", "*", "part-*"))
	require.NoError(t, err)
	require.Empty(t, parts)
}

// writeStoresTable writes the table between its marks in a document.
func writeStoresTable(t *testing.T, path string) {
	t.Helper()
	const begin, end = "<!-- stores: begin -->\n", "<!-- stores: end -->"
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	before, rest, found := strings.Cut(string(text), begin)
	require.True(t, found, "%s has no mark %q", path, begin)
	_, after, found := strings.Cut(rest, end)
	require.True(t, found, "%s has no mark %q", path, end)
	var b strings.Builder
	b.WriteString("| Server | Path | Credentials | Faults | Outcome | Passed |\n|---|---|---|---|---|---|\n")
	for i := 0; i < len(results); {
		r, faults, n := results[i], []string{}, 0
		for ; i < len(results) && results[i].path == r.path && results[i].server == r.server && results[i].credentials == r.credentials && results[i].outcome == r.outcome; i++ {
			faults = append(faults, results[i].fault)
			n++
		}
		fmt.Fprintf(&b, "| %s | `%s` | %s | %s | %s | %d of %d |\n", r.server, r.path, r.credentials, strings.Join(faults, ", "), r.outcome, n, n)
	}
	require.NoError(t, os.WriteFile(path, []byte(before+begin+b.String()+end+after), 0o600))
}
