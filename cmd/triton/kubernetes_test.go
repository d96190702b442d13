package main_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"go.yaml.in/yaml/v3"

	"triton/pkg/sharedtest"
	"triton/server/store/remote/remotetest"
)

// kubernetesObject has the fields of Kubernetes' objects that decide how a container starts.
type kubernetesObject struct {
	Kind     string
	Metadata struct{ Name, Namespace string }
	Spec     struct {
		Containers []kubernetesContainer // of a runtime of KServe
		Replicas   int
		Ports      []struct {
			Name string
			Port int
		}
		Template struct {
			Spec struct {
				Containers []kubernetesContainer
				Volumes    []struct {
					Name     string
					EmptyDir struct {
						Medium    string
						SizeLimit string `yaml:"sizeLimit"`
					} `yaml:"emptyDir"`
				}
			}
		}
	}
}

type kubernetesContainer struct {
	Command, Args []string
	Ports         []struct {
		Name          string
		ContainerPort int `yaml:"containerPort"`
	}
	LivenessProbe  kubernetesProbe `yaml:"livenessProbe"`
	ReadinessProbe kubernetesProbe `yaml:"readinessProbe"`
	Resources      struct{ Limits map[string]string }
	VolumeMounts   []struct {
		Name      string
		MountPath string `yaml:"mountPath"`
	} `yaml:"volumeMounts"`
}

type kubernetesProbe struct {
	HTTPGet struct{ Path, Port string } `yaml:"httpGet"`
}

// readManifest returns the objects of a manifest by kind.
func readManifest(t *testing.T, file string) map[string]kubernetesObject {
	t.Helper()
	text, err := os.ReadFile(file)
	require.NoError(t, err)
	objects := map[string]kubernetesObject{}
	for d := yaml.NewDecoder(bytes.NewReader(text)); ; {
		var o kubernetesObject
		err := d.Decode(&o)
		if errors.Is(err, io.EOF) {
			return objects
		}
		require.NoError(t, err)
		require.NotContains(t, objects, o.Kind)
		objects[o.Kind] = o
	}
}

// serviceVariables returns the variables that the kubelet sets in every container of the namespace for
// a Service with named ports.
func serviceVariables(service, ip string, ports map[string]int, order ...string) (environ []string) {
	name := strings.ToUpper(strings.ReplaceAll(service, "-", "_"))
	set := func(suffix, value string) { environ = append(environ, name+suffix+"="+value) }
	first := ports[order[0]]
	set("_SERVICE_HOST", ip)
	set("_SERVICE_PORT", fmt.Sprint(first))
	set("_PORT", fmt.Sprintf("tcp://%s:%d", ip, first))
	for _, port := range order {
		number := ports[port]
		set("_SERVICE_PORT_"+strings.ToUpper(port), fmt.Sprint(number))
		set(fmt.Sprintf("_PORT_%d_TCP", number), fmt.Sprintf("tcp://%s:%d", ip, number))
		set(fmt.Sprintf("_PORT_%d_TCP_PROTO", number), "tcp")
		set(fmt.Sprintf("_PORT_%d_TCP_PORT", number), fmt.Sprint(number))
		set(fmt.Sprintf("_PORT_%d_TCP_ADDR", number), ip)
	}
	return environ
}

// TestKubernetesManifest starts the program with the command and the arguments of
// deploy/kubernetes/triton.yaml, with a store in place of Amazon's, under the variables of its own
// Service and of others that are named like flags. The probes of the manifest have to succeed.
func TestKubernetesManifest(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: starts the binary")
	}
	objects := readManifest(t, root(t, "deploy", "kubernetes", "triton.yaml"))
	deployment, service := objects["Deployment"], objects["Service"]
	container := deployment.Spec.Template.Spec.Containers[0]

	// What the manifest promises to be: one that ran with NVIDIA's image.
	require.Equal(t, "ml-serving", deployment.Metadata.Namespace)
	require.Equal(t, 3, deployment.Spec.Replicas)
	require.Equal(t, "triton-service", service.Metadata.Name)
	require.Equal(t, []string{"tritonserver"}, container.Command)
	require.Equal(t, strings.Fields("--model-repository=s3://models/triton-repo --model-control-mode=poll --repository-poll-secs=30 "+
		"--strict-model-config=false --log-verbose=1"), container.Args)
	require.Equal(t, "2", container.Resources.Limits["nvidia.com/gpu"])
	require.Equal(t, "/dev/shm", container.VolumeMounts[0].MountPath)
	require.Equal(t, "16Gi", deployment.Spec.Template.Spec.Volumes[0].EmptyDir.SizeLimit)

	var bucket remotetest.Bucket
	bucket.Put("triton-repo/m/config.pbtxt", `backend: "identity" max_batch_size: 8
input { name: "INPUT0" data_type: TYPE_INT32 dims: [ 2 ] } output { name: "OUTPUT0" data_type: TYPE_INT32 dims: [ 2 ] }`)
	bucket.Put("triton-repo/m/1/", "")
	store := remotetest.Server{Buckets: map[string]*remotetest.Bucket{"models": &bucket}}

	links, order := map[string]int{}, []string{}
	for _, p := range service.Spec.Ports {
		links[p.Name], order = p.Port, append(order, p.Name)
	}
	environ := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(),
		"AWS_ENDPOINT_URL_S3=http://" + remotetest.Serve(t, store.S3()), "AWS_REGION=us-east-1", "AWS_EC2_METADATA_DISABLED=true",
		"AWS_ACCESS_KEY_ID=id", "AWS_SECRET_ACCESS_KEY=secret",
	}
	for i, name := range []string{service.Metadata.Name, "triton", "triton-http", "triton-grpc", "triton-metrics", "triton-serve-http", "tritonserver"} {
		environ = append(environ, serviceVariables(name, fmt.Sprintf("10.96.0.%d", i+1), links, order...)...)
	}

	// The ports of the container are those of the machine here, so a file names free ones. Unlike
	// flags, a file counts less than variables: if they did disturb, the ports would not open.
	ports := sharedtest.Ports(t, 3)
	file := filepath.Join(t.TempDir(), "ports.yaml")
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, "http-port: %d\ngrpc-port: %d\nmetrics-port: %d\n"+
		"http-address: 127.0.0.1\ngrpc-address: 127.0.0.1\nmetrics-address: 127.0.0.1\n", ports[0], ports[1], ports[2]), 0o600))
	program := filepath.Join(t.TempDir(), container.Command[0])
	require.NoError(t, os.Symlink(tritonBinary(t), program))
	cmd := exec.Command(program, append(slices.Clone(container.Args), "--config="+file)...)
	cmd.Env = environ
	s := launch(t, cmd, ports)

	addresses := map[string]string{"http": s.http, "grpc": s.grpc, "metrics": s.metrics}
	for _, p := range container.Ports {
		require.Contains(t, addresses, p.Name)
		require.Equal(t, p.ContainerPort, links[p.Name])
	}
	for _, probe := range []kubernetesProbe{container.LivenessProbe, container.ReadinessProbe} {
		resp, err := http.Get("http://" + addresses[probe.HTTPGet.Port] + probe.HTTPGet.Path)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, http.StatusOK, resp.StatusCode, probe.HTTPGet.Path)
	}
	resp, err := http.Post("http://"+s.http+"/v2/models/m/infer", "application/json",
		strings.NewReader(`{"inputs":[{"name":"INPUT0","shape":[1,2],"datatype":"INT32","data":[1,2]}]}`))
	require.NoError(t, err)
	defer resp.Body.Close()
	answer, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, resp.StatusCode, string(answer))

	s.stop(t) // then all of its log is here
	for name, ignored := range map[string]int{
		"TRITON_HTTP_PORT": 1, "TRITON_GRPC_PORT": 1, "TRITON_METRICS_PORT": 1, "TRITON_SERVE_HTTP_PORT": 1,
		"TRITON_PORT": 0, "TRITON_SERVICE_PORT": 0, "TRITON_SERVICE_SERVICE_HOST": 0, // no flag has such a name
	} {
		require.Equal(t, ignored, strings.Count(s.log.String(), "environment variable "+name+" is ignored: "), name)
	}
}

// TestKServeRuntime starts the program, the entrypoint of the image, with the arguments of KServe's runtime
// for Triton: the old name --model-store too.
func TestKServeRuntime(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: starts the binary")
	}
	runtime := readManifest(t, root(t, "deploy", "kubernetes", "kserve", "runtime.yaml"))["ClusterServingRuntime"]
	container := runtime.Spec.Containers[0]
	require.Empty(t, container.Command)
	ports := sharedtest.Ports(t, 3)
	line := strings.Join(container.Args, "\n")
	for old, here := range map[string]string{
		"--model-store=/mnt/models": "--model-store=" + identityModels(t, "m"),
		"--http-port=8080":          "--http-port=" + strconv.Itoa(ports[0]),
		"--grpc-port=9000":          "--grpc-port=" + strconv.Itoa(ports[1]),
	} {
		require.Contains(t, line, old)
		line = strings.Replace(line, old, here, 1)
	}
	args := append(strings.Split(line, "\n"), "--metrics-port="+strconv.Itoa(ports[2]))
	s := launch(t, exec.Command(tritonBinary(t), args...), ports)
	s.stop(t) // then all of its log is here
	require.Contains(t, s.log.String(), "| m ")
}

var chartFlag = regexp.MustCompile(`(?m)^\s+- (--[a-z-]+=.*)$`)

// TestChartFlags starts the program with the flags that the Helm chart always sets.
func TestChartFlags(t *testing.T) {
	if testing.Short() {
		t.Skip("-short: starts the binary")
	}
	text, err := os.ReadFile(root(t, "deploy", "helm", "triton", "templates", "_helpers.tpl"))
	require.NoError(t, err)
	args := []string{"tritonserver", "--model-repository=" + identityModels(t, "m")}
	values := strings.NewReplacer("{{ .Values.drainDelaySeconds }}", "0", "{{ .Values.exitTimeoutSeconds }}", "30", "/var/cache/triton", t.TempDir())
	for _, m := range chartFlag.FindAllStringSubmatch(string(text), -1) {
		args = append(args, values.Replace(m[1]))
	}
	require.Len(t, args, 7, "the chart sets other flags than this test knows")
	s := start(t, exec.Command(tritonBinary(t), args...))
	s.stop(t)
}
