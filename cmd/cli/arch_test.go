package cli_test

import (
	"encoding/json"
	"errors"
	"io"
	"maps"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// mayImport is the import table of docs/architecture.md: which of our packages
// each package may import. status, invariant and log are open to all. A package
// that is missing here fails the test, so that a new one is a decision.
var mayImport = map[string]string{
	"cmd/triton":                  "cmd/cli cmd/cli/process",
	"cmd/libtritonserver/weaken":  "",
	"deploy/digest":               "",
	"deploy/image":                "",
	"deploy/kubernetes/schemas":   "",
	"deploy/manual":               "cmd/cli cmd/cli/process",
	"deploy/probe":                "",
	"deploy/sbom":                 "",
	"cmd/libtritonserver":         "server server/backend/onnx server/capi server/capi/inprocess server/ratelimit server/repository",
	"cmd/cli":                     "cmd/cli/access cmd/cli/analyze cmd/cli/doctor cmd/cli/flags cmd/cli/modelanalyzer cmd/cli/perf cmd/cli/process cmd/cli/repo cmd/cli/scaler cmd/cli/serve cmd/cli/top",
	"cmd/cli/access":              "cmd/cli/flags cmd/cli/process server/access/apikey server/access/policy server/access/right",
	"cmd/cli/modelanalyzer":       "cmd/cli/process cmd/cli/flags cmd/cli/analyze/profile cmd/cli/analyze/report",
	"cmd/cli/analyze/binding":     "cmd/cli/process cmd/cli/complete cmd/cli/flags analyzer/settings",
	"cmd/cli/analyze/profile":     "cmd/cli/process cmd/cli/complete cmd/cli/analyze/binding analyzer/settings cmd/cli/devices cmd/cli/flags cmd/cli/output cmd/cli/perf analyzer/checkpoint analyzer/launch analyzer/launch/docker analyzer/load analyzer/load/external analyzer/metric analyzer/profile analyzer/ranking analyzer/report/export analyzer/search analyzer/search/planner analyzer/search/space analyzer/search/sweep analyzer/search/tpe analyzer/trial cmd/cli/analyze/simulate perf perf/llm pkg/client pkg/gpu pkg/inferencepb pkg/ui",
	"cmd/cli/analyze/report":      "cmd/cli/process cmd/cli/complete cmd/cli/analyze/binding analyzer/settings analyzer/checkpoint analyzer/profile analyzer/report/export",
	"cmd/cli/process":             "",
	"cmd/cli/flags":               "cmd/cli/process pkg/spelling",
	"cmd/cli/complete":            "pkg/client repo",
	"cmd/cli/output":              "cmd/cli/flags cmd/cli/process",
	"cmd/cli/systemd":             "",
	"cmd/cli/devices":             "cmd/cli/process pkg/cuda pkg/gpu",
	"cmd/cli/doctor":              "analyzer/footprint/host cmd/cli/complete cmd/cli/devices cmd/cli/flags cmd/cli/library cmd/cli/output cmd/cli/process pkg/client pkg/cuda pkg/gpu pkg/ui repo repo/example server server/backend/onnx server/local server/repository",
	"cmd/cli/connect":             "cmd/cli/flags cmd/cli/process pkg/client pkg/scrape",
	"cmd/cli/top":                 "cmd/cli/complete cmd/cli/connect cmd/cli/flags cmd/cli/output cmd/cli/process pkg/client pkg/scrape pkg/ui",
	"cmd/cli/scaler":              "cmd/cli/flags cmd/cli/process pkg/client pkg/scaler pkg/scrape",
	"pkg/scaler":                  "pkg/scrape pkg/scaler/externalscalerpb",
	"pkg/scaler/externalscalerpb": "",
	"pkg/scrape":                  "",
	"cmd/cli/serve":               "cmd/cli/process cmd/cli/complete cmd/cli/flags cmd/cli/devices server server/backend/onnx server/grpcapi server/model server/ratelimit server/repository server/restricted server/store/remote/signature server/store/remote/unpack server/trace pkg/cuda pkg/gpu cmd/cli/library server/readiness server/backend/isolated/host server/backend/plugin cmd/cli/systemd server/hostpolicy",
	"cmd/cli/perf":                "cmd/cli/process cmd/cli/complete cmd/cli/flags cmd/cli/output cmd/cli/perf/recording cmd/cli/perf/results perf perf/data perf/load perf/report perf/result perf/result/chart pkg/client pkg/client/lane pkg/kserve pkg/measure cmd/cli/devices cmd/cli/library cmd/cli/perf/inprocess perf/llm perf/llm/genaiperf perf/service/dynamicgrpc perf/service/openai perf/service/tfserving perf/service/torchserve server cmd/cli/perf/run perf/trace",
	"cmd/cli/library":             "cmd/cli/process server/backend/onnx",
	"cmd/cli/perf/run":            "cmd/cli/process cmd/cli/flags perf/offline perf/offline/rows pkg/client pkg/ui",
	"cmd/cli/perf/inprocess":      "perf server server/infer server/local server/repository pkg/client pkg/client/lane pkg/kserve pkg/kserve/rpc pkg/tensor",
	"cmd/cli/perf/recording":      "cmd/cli/process cmd/cli/flags perf/record pkg/ui",
	"cmd/cli/perf/results":        "cmd/cli/process cmd/cli/flags perf/result/chart perf/result/compare",
	"cmd/cli/analyze":             "cmd/cli/process cmd/cli/complete cmd/cli/flags cmd/cli/output cmd/cli/devices cmd/cli/perf cmd/cli/analyze/profile cmd/cli/analyze/report analyzer analyzer/report analyzer/search perf pkg/client pkg/client/lane pkg/gpu pkg/modelconfig cmd/cli/analyze/devices cmd/cli/analyze/simulate cmd/cli/analyze/fit analyzer/footprint analyzer/footprint/sweep pkg/ui",
	"cmd/cli/analyze/simulate":    "cmd/cli/process analyzer/trial cmd/cli/complete cmd/cli/flags cmd/cli/output analyzer/capacity analyzer/cost perf/result perf/trace pkg/inferencepb pkg/kserve pkg/modelconfig pkg/ui server/scheduler/simulate",
	"cmd/cli/analyze/devices":     "cmd/cli/process cmd/cli/devices cmd/cli/flags cmd/cli/output pkg/gpu pkg/gpu/catalog pkg/ui",
	"cmd/cli/repo":                "cmd/cli/repo/traffic cmd/cli/process cmd/cli/complete cmd/cli/flags cmd/cli/output repo repo/example repo/lint repo/report repo/scaffold pkg/modelconfig pkg/onnxmodel/autofill repo/compare repo/explain repo/fix repo/lsp repo/render repo/suppress pkg/modelconfig/format pkg/ui pkg/client pkg/fleetstate",
	"cmd/cli/repo/traffic":        "cmd/cli/process cmd/cli/complete cmd/cli/flags cmd/cli/output pkg/client pkg/routing pkg/ui",
	"pkg/invariant":               "",
	"pkg/status":                  "",
	"pkg/log":                     "pkg/tritonjson",
	"pkg/spelling":                "",
	"pkg/tritonjson":              "",
	"pkg/tensor":                  "",
	"pkg/inferencepb":             "",
	"pkg/onnxmodel":               "pkg/tensor",
	"pkg/onnxmodel/autofill":      "pkg/onnxmodel pkg/modelconfig pkg/inferencepb pkg/tensor pkg/spelling",
	"pkg/modelconfig":             "pkg/inferencepb pkg/tensor pkg/spelling pkg/tritonjson",
	"pkg/modelconfig/agent":       "pkg/modelconfig pkg/inferencepb",
	"pkg/modelconfig/extension":   "pkg/routing pkg/modelconfig pkg/inferencepb pkg/tensor pkg/spelling",
	"pkg/routing":                 "",
	"pkg/kserve":                  "pkg/tensor",
	"pkg/kserve/rest":             "pkg/kserve pkg/tensor pkg/tritonjson",
	"pkg/kserve/rpc":              "pkg/kserve pkg/tensor pkg/inferencepb",
	"pkg/client":                  "pkg/routing pkg/client/internal/wire pkg/inferencepb pkg/kserve pkg/tensor",
	"pkg/client/internal/wire":    "pkg/nonblock",
	"pkg/client/lane":             "pkg/client pkg/client/internal/wire pkg/deflate pkg/kserve pkg/kserve/rest pkg/kserve/rpc pkg/inferencepb pkg/tensor pkg/tritonjson",
	"pkg/deflate":                 "",
	"pkg/gpu":                     "pkg/gpu/nvml",
	"pkg/gpu/nvml":                "",
	"pkg/gpu/catalog":             "pkg/gpu",
	"pkg/cuda":                    "",
	"pkg/sharedlib":               "",
	"pkg/hashorder":               "",
	"pkg/freeport":                "",
	"pkg/nonblock":                "",
	"pkg/measure":                 "",
	"pkg/measure/confidence":      "pkg/measure",
	"pkg/ui":                      "pkg/ui/webpage",
	"pkg/ui/webpage":              "",
	"server":                      "server/* pkg/*",
	"server/infer":                "server/memory pkg/kserve pkg/tensor pkg/inferencepb",
	"server/connlimit":            "",
	"server/http1":                "pkg/nonblock server/connlimit",
	"server/frontend":             "pkg/inferencepb server/infer server/trace",
	"server/adminjson":            "pkg/inferencepb pkg/tensor pkg/tritonjson",
	"server/httpapi":              "server/access server/access/httpguard server/access/right server/adminjson pkg/routing server/http1 server/frontend server/infer server/memory server/shm server/trace server/restricted pkg/kserve pkg/kserve/rest pkg/inferencepb pkg/modelconfig pkg/tensor pkg/tritonjson server/readiness",
	"server/grpcapi":              "server/connlimit server/access server/access/identity server/access/policy server/access/quota server/access/right server/frontend server/infer server/memory server/shm server/trace server/restricted pkg/deflate pkg/kserve pkg/kserve/rpc pkg/inferencepb pkg/modelconfig pkg/tensor pkg/nonblock",
	"server/shm":                  "pkg/cuda pkg/kserve pkg/tensor",
	"server/trace":                "server/infer pkg/kserve pkg/tensor pkg/tritonjson",
	"server/restricted":           "",
	"server/memory":               "pkg/tensor",
	"server/access":               "server/access/apikey server/access/audit server/access/damping server/access/policy server/access/quota server/access/right server/access/token server/infer",
	"server/access/accesstest":    "server/access server/access/apikey server/access/right",
	"server/access/apikey":        "server/access/policy",
	"server/access/audit":         "pkg/tritonjson",
	"server/access/damping":       "",
	"server/access/httpguard":     "server/access server/access/identity server/http1 pkg/tritonjson",
	"server/access/identity":      "server/access/policy",
	"server/access/policy":        "server/access/right server/infer",
	"server/access/quota":         "server/access/policy server/infer",
	"server/access/right":         "",
	"server/access/token":         "server/access/policy",
	"server/contenttype":          "server/http1",
	"server/sagemaker":            "server/access server/access/httpguard server/access/right server/http1 server/infer server/memory server/contenttype server/restricted pkg/tritonjson",
	"server/local":                "pkg/client pkg/kserve pkg/tensor server server/infer server/shm",
	"server/fake":                 "pkg/client pkg/kserve pkg/tensor server server/backend server/infer server/local",
	"server/vertex":               "server/http1 server/infer server/contenttype pkg/tritonjson",
	"server/repository":           "server/loadphase server/repository/actual server/repository/desired server/repository/layout server/repository/plan server/model server/store server/infer server/backend server/stats server/validation pkg/modelconfig pkg/inferencepb server/repository/settle server/store/notify server/readiness server/repository/estimate server/repository/evict server/repository/ondemand pkg/modelconfig/extension server/repository/agents",
	"server/repository/actual":    "server/model server/store server/infer server/stats server/validation pkg/inferencepb server/readiness",
	"server/repository/desired":   "server/repository/layout server/store",
	"server/repository/layout":    "server/loadphase server/store server/infer pkg/modelconfig pkg/modelconfig/agent server/repository/agents server/repository/agents/library pkg/framework",
	"server/repository/plan":      "server/repository/desired server/repository/layout server/store pkg/modelconfig pkg/inferencepb",
	"server/loadphase":            "",
	"server/model":                "server/backend/plugin server/loadphase server/model/fingerprint server/cache server/ensemble server/infer server/scheduler server/scheduler/dynamic server/scheduler/sequence server/scheduler/state server/instance server/backend server/backend/metric server/ratelimit server/warmup server/stats server/store server/validation server/lengthbucket server/admission server/scheduler/adaptive pkg/modelconfig pkg/modelconfig/extension pkg/inferencepb pkg/tensor pkg/modelconfig/modelfile pkg/modelconfig/requirement server/repository/agents server/hostpolicy pkg/framework",
	"server/repository/estimate":  "server/repository/evict pkg/inferencepb",
	"server/repository/evict":     "",
	"server/repository/ondemand":  "server/repository/evict",
	"server/model/fingerprint":    "server/store pkg/inferencepb",
	"server/repository/settle":    "server/store",
	"server/store":                "pkg/modelconfig",
	"server/store/notify":         "",
	"server/readiness":            "",
	"server/fleet":                "pkg/fleetstate pkg/inferencepb server/infer",
	"pkg/fleetstate":              "",
	"server/validation":           "server/backend server/infer pkg/hashorder pkg/inferencepb pkg/kserve pkg/tensor",
	"server/scheduler":            "server/infer server/stats pkg/inferencepb pkg/kserve pkg/tensor",
	"server/scheduler/adaptive":   "server/scheduler server/infer server/stats",
	"server/scheduler/dynamic":    "server/scheduler server/infer server/stats pkg/inferencepb pkg/kserve pkg/tensor",
	"server/scheduler/simulate":   "server/scheduler server/scheduler/dynamic server/infer server/stats pkg/inferencepb pkg/tensor",
	"server/scheduler/sequence":   "server/scheduler server/scheduler/dynamic server/infer server/stats pkg/inferencepb pkg/kserve pkg/tensor",
	"server/scheduler/state":      "server/scheduler/sequence server/infer pkg/inferencepb pkg/modelconfig pkg/tensor pkg/modelconfig/modelfile",
	"server/ensemble":             "server/infer server/scheduler server/stats pkg/hashorder pkg/inferencepb pkg/kserve pkg/tensor",
	"server/instance":             "server/scheduler server/infer server/backend server/stats pkg/inferencepb pkg/tensor server/hostpolicy",
	"server/hostpolicy":           "pkg/inferencepb",
	"server/lengthbucket":         "server/infer pkg/modelconfig/extension pkg/kserve pkg/tensor",
	"server/admission":            "server/infer server/scheduler server/stats",
	"server/backend":              "server/backend/metric server/infer pkg/kserve pkg/inferencepb pkg/tensor server/hostpolicy",
	"server/backend/builtin":      "server/backend server/infer pkg/inferencepb pkg/kserve pkg/tensor pkg/modelconfig pkg/modelconfig/requirement",
	"server/backend/onnx":         "server/backend server/infer pkg/hashorder pkg/inferencepb pkg/kserve pkg/modelconfig pkg/onnxmodel pkg/onnxmodel/autofill pkg/tensor pkg/modelconfig/accelerator pkg/modelconfig/requirement pkg/modelconfig/textvalue",
	"server/backend/native":       "server/backend server/infer pkg/inferencepb pkg/tensor",
	"server/backend/openvino":     "server/backend server/backend/native pkg/inferencepb pkg/tensor",
	"server/backend/trees":        "server/backend server/backend/native pkg/inferencepb pkg/modelconfig/textvalue pkg/tensor",
	"server/backend/child":        "server/backend pkg/nonblock pkg/tensor",
	"server/backend/metric":       "",
	"server/backend/plugin":       "server/backend server/capi server/capi/inprocess server/infer pkg/inferencepb pkg/kserve pkg/modelconfig pkg/sharedlib pkg/tensor server/hostpolicy",
	"server/backend/python":       "server/backend server/backend/child server/backend/metric server/backend/python/env server/infer pkg/inferencepb pkg/kserve pkg/modelconfig pkg/modelconfig/extension pkg/tensor pkg/tritonjson pkg/modelconfig/requirement server/hostpolicy",
	"server/backend/python/env":   "",
	"server/ratelimit":            "server/scheduler",
	"server/cache/redis":          "server/cache server/cache/breaker server/cache/stored server/infer pkg/tensor",
	"server/cache/breaker":        "server/infer",
	"server/cache/library":        "server/cache server/cache/breaker server/cache/stored server/capi server/infer pkg/sharedlib pkg/tensor",
	"server/cache/stored":         "server/infer pkg/kserve pkg/tensor",
	"server/cache":                "server/infer server/scheduler server/stats pkg/kserve pkg/tensor",
	"server/warmup":               "server/infer server/backend pkg/inferencepb pkg/tensor pkg/modelconfig pkg/modelconfig/modelfile",
	"server/traffic":              "pkg/kserve server/infer server/traffic/canary server/traffic/shadow server/validation pkg/inferencepb pkg/routing pkg/tensor",
	"server/traffic/canary":       "pkg/routing",
	"server/traffic/shadow":       "server/infer pkg/kserve pkg/routing pkg/tensor",
	"server/stats":                "server/infer pkg/gpu pkg/inferencepb",
	"perf":                        "perf/load perf/data perf/memory pkg/client pkg/client/lane pkg/cuda pkg/kserve pkg/measure pkg/measure/confidence pkg/inferencepb pkg/tensor",
	"perf/memory":                 "pkg/cuda",
	"perf/load":                   "pkg/client/lane pkg/kserve pkg/measure",
	"perf/data":                   "pkg/inferencepb pkg/kserve pkg/spelling pkg/tensor pkg/tritonjson perf/trace",
	"perf/offline":                "perf/data perf/offline/rows pkg/client pkg/tensor",
	"perf/offline/rows":           "perf/data pkg/tensor pkg/tritonjson",
	"perf/llm":                    "perf pkg/kserve pkg/tensor",
	"perf/llm/genaiperf":          "perf/llm pkg/ui",
	"perf/service":                "pkg/kserve pkg/tensor",
	"perf/service/dynamicgrpc":    "perf perf/data perf/service pkg/client pkg/client/lane pkg/kserve pkg/tensor",
	"perf/service/openai":         "perf perf/data perf/service pkg/client pkg/client/lane pkg/kserve pkg/tensor",
	"perf/service/tfserving":      "perf perf/data perf/service pkg/client pkg/client/lane pkg/kserve pkg/tensor",
	"perf/service/torchserve":     "perf perf/data perf/service pkg/client pkg/client/lane pkg/kserve pkg/tensor",
	"perf/report":                 "perf pkg/kserve pkg/kserve/rest pkg/measure pkg/tensor pkg/tritonjson pkg/ui",
	"perf/trace":                  "pkg/kserve pkg/tensor",
	"perf/record":                 "perf/trace pkg/kserve pkg/kserve/rest pkg/kserve/rpc pkg/tensor",
	"perf/result":                 "perf perf/data pkg/measure",
	"perf/result/compare":         "perf/result pkg/ui",
	"perf/result/chart":           "perf/result pkg/ui pkg/ui/webpage",
	"analyzer":                    "analyzer/scratch analyzer/search pkg/modelconfig pkg/inferencepb pkg/gpu pkg/measure analyzer/footprint analyzer/footprint/device analyzer/footprint/host analyzer/footprint/oom analyzer/footprint/sweep pkg/modelconfig/edit pkg/freeport",
	"analyzer/metric":             "",
	"analyzer/trial":              "analyzer/metric pkg/inferencepb",
	"analyzer/ranking":            "analyzer/metric analyzer/trial",
	"analyzer/settings":           "analyzer/metric analyzer/trial pkg/inferencepb pkg/spelling",
	"analyzer/search":             "analyzer/search/brute analyzer/search/planner analyzer/search/quick analyzer/search/space analyzer/search/sweep analyzer/search/tpe analyzer/search/trials analyzer/trial",
	"analyzer/search/space":       "analyzer/trial",
	"analyzer/search/trials":      "analyzer/metric analyzer/search/space analyzer/trial",
	"analyzer/search/brute":       "analyzer/search/trials analyzer/trial",
	"analyzer/search/sweep":       "analyzer/search/trials analyzer/trial",
	"analyzer/search/quick":       "analyzer/search/space analyzer/search/trials analyzer/trial",
	"analyzer/search/tpe":         "analyzer/search/space analyzer/search/trials analyzer/trial",
	"analyzer/search/planner":     "analyzer/metric analyzer/search/space analyzer/search/trials analyzer/trial",
	"analyzer/cost":               "",
	"analyzer/capacity":           "analyzer/cost analyzer/trial analyzer/variant pkg/inferencepb pkg/kserve pkg/measure",
	"analyzer/report":             "analyzer analyzer/search pkg/measure pkg/ui analyzer/footprint analyzer/footprint/law",
	"repo":                        "pkg/modelconfig pkg/inferencepb",
	"repo/lint":                   "repo pkg/modelconfig pkg/inferencepb pkg/onnxmodel pkg/onnxmodel/autofill pkg/tensor pkg/modelconfig/agent pkg/modelconfig/extension pkg/spelling pkg/modelconfig/requirement pkg/modelconfig/modelfile pkg/framework",
	"repo/scaffold":               "repo pkg/modelconfig pkg/inferencepb pkg/onnxmodel pkg/onnxmodel/autofill pkg/tensor pkg/framework",
	"repo/report":                 "repo pkg/ui",
	"repo/example":                "pkg/onnxmodel pkg/tensor",
	"pkg/framework":               "pkg/inferencepb",
	"pkg/modelconfig/modelfile":   "pkg/modelconfig pkg/inferencepb pkg/tensor pkg/spelling",
	"pkg/modelconfig/requirement": "pkg/modelconfig pkg/modelconfig/accelerator pkg/modelconfig/textvalue pkg/inferencepb pkg/tensor",
	"pkg/modelconfig/accelerator": "pkg/modelconfig/textvalue pkg/inferencepb",
	"pkg/modelconfig/textvalue":   "",
	"cmd/cli/analyze/fit":         "cmd/cli/process cmd/cli/complete cmd/cli/flags cmd/cli/output cmd/cli/devices analyzer/footprint analyzer/footprint/packing analyzer/report pkg/gpu pkg/gpu/catalog pkg/ui",
	"pkg/modelconfig/edit":        "pkg/modelconfig pkg/modelconfig/cst pkg/inferencepb",
	"analyzer/footprint":          "analyzer/footprint/law analyzer/trial",
	"analyzer/footprint/device":   "pkg/gpu",
	"analyzer/footprint/host":     "",
	"analyzer/footprint/law":      "",
	"analyzer/footprint/oom":      "analyzer/trial",
	"analyzer/footprint/packing":  "",
	"analyzer/footprint/sweep":    "",
	"analyzer/scratch":            "",
	"analyzer/variant":            "analyzer/trial pkg/inferencepb pkg/modelconfig",
	"analyzer/load":               "analyzer/metric analyzer/trial",
	"analyzer/load/external":      "analyzer/load analyzer/metric analyzer/scratch",
	"analyzer/monitor":            "analyzer analyzer/metric pkg/gpu",
	"analyzer/launch":             "analyzer",
	"analyzer/launch/docker":      "analyzer analyzer/launch analyzer/metric analyzer/monitor",
	"analyzer/checkpoint":         "analyzer/load analyzer/metric analyzer/trial analyzer/variant pkg/inferencepb",
	"analyzer/profile":            "analyzer/checkpoint analyzer/footprint/oom analyzer/launch analyzer/load analyzer/metric analyzer/monitor analyzer/settings analyzer/trial analyzer/variant pkg/client pkg/gpu pkg/inferencepb pkg/modelconfig",
	"analyzer/report/plot":        "",
	"analyzer/report/page":        "analyzer/report/plot pkg/ui pkg/ui/webpage",
	"analyzer/report/outcome":     "analyzer/metric analyzer/profile analyzer/ranking analyzer/trial pkg/inferencepb",
	"analyzer/report/table":       "analyzer/metric analyzer/report/outcome analyzer/trial",
	"analyzer/report/chart":       "analyzer/metric analyzer/report/outcome analyzer/report/page analyzer/report/plot analyzer/settings analyzer/trial",
	"analyzer/report/cell":        "analyzer/metric analyzer/report/outcome analyzer/report/page analyzer/trial",
	"analyzer/report/summary":     "analyzer/metric analyzer/report/cell analyzer/report/chart analyzer/report/outcome analyzer/report/page analyzer/settings analyzer/trial",
	"analyzer/report/detail":      "analyzer/metric analyzer/report/cell analyzer/report/chart analyzer/report/outcome analyzer/report/page analyzer/settings analyzer/trial",
	"analyzer/report/export":      "analyzer/metric analyzer/profile analyzer/ranking analyzer/report/chart analyzer/report/detail analyzer/report/outcome analyzer/report/page analyzer/report/plot analyzer/report/summary analyzer/report/table analyzer/settings analyzer/trial",
	"pkg/modelconfig/cst":         "",
	"pkg/modelconfig/format":      "pkg/modelconfig pkg/modelconfig/cst",
	"repo/fix":                    "repo pkg/inferencepb pkg/modelconfig pkg/modelconfig/edit pkg/modelconfig/format",
	"repo/render":                 "repo pkg/hashorder pkg/inferencepb pkg/modelconfig pkg/modelconfig/cst pkg/modelconfig/edit pkg/modelconfig/format pkg/onnxmodel pkg/onnxmodel/autofill",
	"repo/lsp":                    "repo repo/explain repo/fix repo/lint repo/render repo/suppress pkg/inferencepb pkg/modelconfig pkg/modelconfig/cst pkg/modelconfig/extension pkg/modelconfig/format",
	"repo/compare":                "pkg/inferencepb pkg/modelconfig",
	"repo/suppress":               "repo pkg/modelconfig/cst",
	"repo/explain":                "repo repo/lint repo/suppress pkg/spelling",

	"server/store/download":          "server/store/remote",
	"server/store/filecache":         "",
	"server/store/mirror":            "server/store server/store/download server/store/filecache server/store/remote",
	"server/store/remote":            "",
	"server/store/remote/azure":      "server/store/remote server/store/remote/credential server/store/remote/web",
	"server/store/remote/credential": "",
	"server/store/remote/gcs":        "server/store/remote server/store/remote/credential server/store/remote/web",
	"server/store/remote/s3":         "server/store/remote server/store/remote/credential server/store/remote/web",
	"server/store/remote/web":        "server/store/remote",
	"server/store/remote/archive":    "server/store/filecache server/store/remote server/store/remote/packed server/store/remote/signature server/store/remote/unpack server/store/remote/webget",
	"server/store/remote/oci":        "server/store/remote server/store/remote/packed server/store/remote/signature server/store/remote/unpack server/store/remote/webget",
	"server/store/remote/packed":     "server/store/filecache server/store/remote server/store/remote/unpack",
	"server/store/remote/signature":  "",
	"server/store/remote/unpack":     "server/store/remote",
	"server/store/remote/webget":     "server/store/remote server/store/remote/web",
	"server/backend/isolated":        "server/backend server/backend/child server/backend/metric server/backend/isolated/wire server/infer pkg/inferencepb pkg/kserve pkg/modelconfig/extension pkg/tensor",
	"server/backend/isolated/host":   "server/backend server/backend/child server/backend/metric server/backend/isolated/wire server/infer pkg/inferencepb pkg/kserve pkg/modelconfig/extension pkg/tensor server/backend/plugin server/capi server/hostpolicy",
	"server/capi":                    "pkg/tritonjson server/backend/metric",
	"server/capi/inprocess":          "pkg/kserve pkg/modelconfig pkg/tensor server/adminjson server/capi server/frontend server/infer",
	"server/backend/isolated/wire":   "server/backend server/backend/child server/infer pkg/kserve pkg/modelconfig/extension pkg/tensor server/hostpolicy",

	"server/repository/agents":         "pkg/modelconfig pkg/modelconfig/agent server/repository/agents/library",
	"server/repository/agents/library": "pkg/sharedlib server/capi",
}

// testsImport is the import table of the packages that are for tests only. No other package
// imports them.
var testsImport = map[string]string{
	"cmd/cli/clitest":                     "cmd/cli cmd/cli/process pkg/log/logtest",
	"cmd/cli/clitest/golden":              "",
	"cmd/cli/analyze/binding/bindingtest": "cmd/cli/clitest/golden analyzer/settings",
	"perf/load/loadtest":                  "pkg/inferencepb pkg/kserve pkg/tensor",
	"pkg/kserve/kservetest":               "pkg/tensor",
	"pkg/freeport/freeporttest":           "pkg/freeport",
	"pkg/log/logtest":                     "",
	"pkg/tensor/tensortest":               "pkg/tensor",
	"pkg/ui/uitest":                       "",
	"server/backend/backendtest":          "server/backend server/infer server/infer/infertest",
	"server/hostpolicy/hostpolicytest":    "server/hostpolicy",
	"server/capi/capitest":                "",
	"server/capi/description":             "",
	"server/chaos":                        "pkg/client pkg/measure pkg/onnxmodel pkg/routing",
	"server/conformance":                  "pkg/inferencepb",
	"server/http1/http1test":              "server/http1",
	"server/infer/infertest":              "server/infer",
	"server/scenario":                     "pkg/inferencepb",
	"server/servertest":                   "*",
	"server/store/remote/remotetest":      "pkg/freeport server/store/download server/store/filecache server/store/mirror server/store/remote server/store/remote/signature",
	"pkg/gpu/gputest":                     "pkg/gpu pkg/gpu/nvml",
	"repo/lint/linttest":                  "pkg/inferencepb pkg/modelconfig repo/example",
}

var openToAll = []string{"pkg/status", "pkg/invariant", "pkg/log"}

type listed struct {
	ImportPath string
	Name       string
	Doc        string
	Imports    []string
}

func listPackages(t *testing.T) []listed {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Name,Doc,Imports", "triton/...").Output()
	require.NoError(t, err)
	var all []listed
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p listed
		err := dec.Decode(&p)
		if errors.Is(err, io.EOF) {
			return all
		}
		require.NoError(t, err)
		all = append(all, p)
	}
}

func allowed(table, pkg string) bool {
	for _, pattern := range append(strings.Fields(table), openToAll...) {
		prefix, wild := strings.CutSuffix(pattern, "*")
		if pkg == pattern || wild && strings.HasPrefix(pkg, prefix) {
			return true
		}
	}
	return false
}

func TestImportTable(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for _, p := range listPackages(t) {
		name := strings.TrimPrefix(p.ImportPath, "triton/")
		seen[name] = true
		table, known := mayImport[name]
		tests, forTests := testsImport[name]
		if !known && !forTests {
			t.Errorf("%s is not in the import table: decide what it may import and add it", name)
			continue
		}
		for _, i := range p.Imports {
			ours, ok := strings.CutPrefix(i, "triton/")
			if ok && !allowed(table+" "+tests, ours) {
				t.Errorf("%s imports %s, which the import table does not allow", name, ours)
			}
			if _, test := testsImport[ours]; test && !forTests {
				t.Errorf("%s imports %s, which is for tests only", name, ours)
			}
		}
	}
	for _, name := range slices.Concat(slices.Collect(maps.Keys(mayImport)), slices.Collect(maps.Keys(testsImport))) {
		if !seen[name] {
			t.Errorf("the import table names %s, which does not exist", name)
		}
	}
}

func TestEveryPackageIsDocumented(t *testing.T) {
	t.Parallel()
	for _, p := range listPackages(t) {
		if !strings.HasPrefix(p.Doc, "Package "+p.Name) && p.Name != "main" {
			t.Errorf("%s: package comment missing or not starting with %q", p.ImportPath, "Package "+p.Name)
		}
	}
}

// TestCgo keeps cgo in the packages made for it (docs/architecture.md), so that the
// rest builds everywhere.
func TestCgo(t *testing.T) {
	t.Parallel()
	packages := []string{
		"triton/server/backend/onnx", "triton/server/backend/native", "triton/server/backend/openvino", "triton/server/backend/trees",
		"triton/pkg/cuda", "triton/pkg/gpu/nvml", "triton/pkg/sharedlib",
		"triton/server/capi", "triton/server/capi/inprocess", "triton/server/capi/capitest", "triton/server/backend/plugin",
		"triton/server/cache/library", "triton/server/repository/agents/library",
	}
	for _, p := range listPackages(t) {
		for _, i := range []string{"C", "github.com/yalue/onnxruntime_go", "github.com/NVIDIA/go-nvml/pkg/nvml"} {
			if slices.Contains(p.Imports, i) && !slices.Contains(packages, p.ImportPath) {
				t.Errorf("%s imports %s", p.ImportPath, i)
			}
		}
	}
}
