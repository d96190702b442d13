# `make help` lists the targets. Two of them set everything up on a fresh machine:
# `make demo` and `make test`. Both need Go, a C compiler and Python with pip (or npm).

VERSION ?= $(shell git describe --tags --always --dirty 2>/dev/null || echo devel)
COMMIT  ?= $(shell git rev-parse HEAD 2>/dev/null)
LDFLAGS  = -s -w -X main.version=$(VERSION) -X main.commit=$(COMMIT)
PYTHON  ?= python3

# NVML's header marks its older calls as deprecated; and where the linker binds all
# symbols at start by default, a machine without the driver could not start the program.
export CGO_CFLAGS ?= -O2 -g -Wno-deprecated-declarations
ifeq ($(shell go env GOOS),linux)
# Only the functions of the C API are visible to the libraries that the server opens.
LDFLAGS += -extldflags=-Wl,-z,lazy,--version-script=$(CURDIR)/server/capi/exports.map
endif
# gRPC's trace pages would bring in the templates of the standard library, and with them a
# quarter more of a program (pkg/ui, WritePage).
TAGS     = grpcnotrace
# One set of flags for the program, the tests and the linter, so that each package is compiled once. Debug information
# takes a sixth of the compiler's time, and neither the program nor the tests of `make test` are linked with it.
# Releases add -trimpath (deploy/packages.sh).
export GOFLAGS ?= -tags=$(TAGS) -gcflags=all=-dwarf=false
MODELS  ?= models
DEMO_PORT ?= 8000

GOLANGCI_LINT = github.com/golangci/golangci-lint/v2/cmd/golangci-lint@v2.15.0
GORELEASER    = github.com/goreleaser/goreleaser/v2@v2.15.0
GRPCURL       = github.com/fullstorydev/grpcurl/cmd/grpcurl@v1.9.4
NFPM          = github.com/goreleaser/nfpm/v2/cmd/nfpm@v2.45.2
GOVULNCHECK   = golang.org/x/vuln/cmd/govulncheck@v1.1.4
BENCHSTAT     = golang.org/x/perf/cmd/benchstat@latest
STORES = github.com/minio/minio@v0.0.0-20260212201848-7aac2a2c5b7c github.com/fsouza/fake-gcs-server@v1.56.1 \
  github.com/distribution/distribution/v3/cmd/registry@v3.1.2
AZURITE = azurite@3.37.0
HELM          = helm.sh/helm/v3/cmd/helm@v3.22.0
KUBECONFORM   = github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0
H2SPEC        = github.com/summerwind/h2spec/cmd/h2spec@v2.2.1
GRPC_INTEROP  = google.golang.org/grpc/interop/client@v1.85.0
PROTOC_GEN_GO = google.golang.org/protobuf/cmd/protoc-gen-go@v1.36.12
PROTOC_GEN_GO_GRPC = google.golang.org/grpc/cmd/protoc-gen-go-grpc@v1.6.2

VENV   = .venv
ORACLE = .oracle
TOOLS  = build/tools

.DEFAULT_GOAL := help
.PHONY: help
help: ## this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

.PHONY: build
build: ## build bin/triton
	@mkdir -p bin
	go build -ldflags '$(LDFLAGS)' -o bin/triton ./cmd/triton

LIBRARY ?= bin/libtritonserver.so
.PHONY: libtritonserver
libtritonserver: ## build bin/libtritonserver.so, the server as a C library; its headers are in server/capi/include
	@mkdir -p $(dir $(LIBRARY))
	go build -buildmode=c-shared -o $(LIBRARY) \
	  -ldflags '-s -w -X main.version=$(VERSION) -extldflags=-Wl,-soname,libtritonserver.so,-z,lazy,--version-script=$(CURDIR)/server/capi/exports.map' ./cmd/libtritonserver
	@rm -f $(LIBRARY:.so=.h)
	go run ./cmd/libtritonserver/weaken $(LIBRARY) nvml
	TRITON_LIBTRITONSERVER=$(abspath $(LIBRARY)) go test -count=1 -run '^TestLibrary$$' ./cmd/libtritonserver/

# The packages with C code of ours, and those that run libraries by the C API.
C_PACKAGES = ./server/capi/... ./server/backend/plugin ./server/backend/onnx ./server/backend/native \
  ./server/cache/library ./server/repository/agents/... ./pkg/sharedlib ./cmd/libtritonserver

# The tests call C++ libraries, whose exceptions a sanitizer finds only in a C++ runtime that the
# program starts with. It keeps freed memory for a while, so that no test of memory use can hold, and
# ends the process where ONNX Runtime expects that too large an allocation is refused.
.PHONY: capi-asan
capi-asan: onnxruntime ## the C code with an address sanitizer and a search for leaks: its packages, and a program over libtritonserver.so
	CGO_LDFLAGS='-O2 -g -Wl,--no-as-needed -lstdc++' \
	  go test -asan -count=1 -p 1 -timeout 20m -skip '^(TestMemoryStaysFlat|TestHugeOutputShape|TestGrowth)$$' $(C_PACKAGES)
	$(MAKE) libtritonserver
	TRITON_LIBTRITONSERVER=$(abspath $(LIBRARY)) go test -count=1 -v -run '^TestSanitizer$$' ./cmd/libtritonserver/

.PHONY: capi-cgocheck
capi-cgocheck: onnxruntime ## the C code with all checks of pointers between Go and C
	GOEXPERIMENT=cgocheck2 GODEBUG=cgocheck=1 go test -count=1 -p 1 -timeout 20m $(C_PACKAGES)

.PHONY: capi-growth
capi-growth: ## 24 million requests by the C API to a backend in a library: memory, descriptors; GROWTH=n
	TRITON_GROWTH=$(or $(GROWTH),24000000) go test -count=1 -v -timeout 120m -run '^TestGrowth$$' ./cmd/libtritonserver/

.PHONY: onnxruntime
onnxruntime: ## get the pinned, hash-checked ONNX Runtime library into lib/
	@deploy/onnxruntime.sh lib

.PHONY: demo
demo: build onnxruntime ## build, make the example models, serve them, measure resnet50
	@[ -d $(MODELS) ] || bin/triton repo example $(MODELS)
	@deploy/demo.sh bin/triton $(MODELS) $(DEMO_PORT)

.PHONY: test
# A program under the race detector otherwise waits for a second before it exits.
test: build onnxruntime redis haproxy $(VENV)/.stamp ## what must pass before a change lands: all tests, those of the packages that share memory by the race detector
	@deploy/size.sh bin/triton
	@[ "$$(uname -s)" != Linux ] || testdata/gpu/standin/check.sh bin/triton
	deploy/gotest.sh go test $(TESTFLAGS) -timeout 10m $$(go run ./deploy/testplan plain)
	GORACE=atexit_sleep_ms=50 deploy/gotest.sh go test $(TESTFLAGS) -race -short -timeout 12m $$(go run ./deploy/testplan race)
	TRITON_TEST_GRPC_TRANSPORT=$(OTHER_TRANSPORT) deploy/gotest.sh go test $(TESTFLAGS) -timeout 10m ./server/grpcapi/
	TRITON_TEST_GRPC_TRANSPORT=$(OTHER_TRANSPORT) deploy/gotest.sh go test $(TESTFLAGS) -timeout 10m -run '^Test(ConformanceBinary|PythonClient)$$' ./cmd/triton/

# The transport of --grpc-transport that is not the default.
OTHER_TRANSPORT = builtin
.PHONY: other-transport
other-transport: onnxruntime haproxy $(VENV)/.stamp ## the tests that may depend on the gRPC transport, on the one that is not the default
	TRITON_TEST_GRPC_TRANSPORT=$(OTHER_TRANSPORT) go test -count=1 -timeout 20m ./server/ ./server/grpcapi/ ./server/grpctest/ ./cmd/triton/ ./pkg/client/... ./perf/...

# Programs of tests are linked without debug information: linking is much of the time. `make lint` vets.
TESTFLAGS = -ldflags=-w -vet=off

BASE ?= main
.PHONY: check
check: onnxruntime ## a minute while you work: builds, vets and tests what differs from BASE (main) and what imports it
	go build ./...
	@affected=$$(go run ./deploy/testplan affected $(BASE)) && changed=$$(go run ./deploy/testplan changed $(BASE)) && \
	  if [ -z "$$affected" ]; then echo "no package differs from $(BASE)"; else set -x; go vet $$affected && go test $(TESTFLAGS) -short -timeout 5m $$changed; fi

.PHONY: redis
redis: ## unpack Debian's redis-server into build/tools/, for tests that are otherwise skipped
	@testdata/redis/get.sh $(TOOLS)

.PHONY: haproxy
haproxy: ## unpack Debian's haproxy into build/tools/, for the test of rolling restarts
	@testdata/haproxy/get.sh $(TOOLS)

.PHONY: manifests
manifests: $(TOOLS)/helm $(TOOLS)/kubeconform ## lint and render the Helm chart, check all manifests by their schemas
	deploy/kubernetes/check.sh $(TOOLS)

$(TOOLS)/helm $(TOOLS)/kubeconform:
	@mkdir -p $(TOOLS)
	GOBIN=$(abspath $(TOOLS)) go install $(if $(findstring helm,$(notdir $@)),$(HELM),$(KUBECONFORM))

.PHONY: observability
observability: onnxruntime ## test the alerts with promtool, and each query of dashboard and alerts with a real Prometheus
	testdata/prometheus/get.sh $(TOOLS)
	cd deploy/observability && $(abspath $(TOOLS))/promtool check rules alerts.yaml && $(abspath $(TOOLS))/promtool test rules alerts_test.yaml
	TRITON_PROMETHEUS=$(abspath $(TOOLS)) go test -count=1 -run '^TestDashboard$$' ./cmd/triton/

$(VENV)/.stamp: testdata/python/requirements.txt
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@

.PHONY: lint
lint: $(TOOLS)/golangci-lint $(TOOLS)/goreleaser ## golangci-lint, go.mod tidy, goreleaser check
	$(TOOLS)/golangci-lint run
	go mod tidy -diff
	$(TOOLS)/goreleaser check

$(TOOLS)/golangci-lint:
	@mkdir -p $(TOOLS)
	GOBIN=$(abspath $(TOOLS)) go install $(GOLANGCI_LINT)

$(TOOLS)/goreleaser:
	@mkdir -p $(TOOLS)
	GOBIN=$(abspath $(TOOLS)) go install $(GORELEASER)

.PHONY: generate
generate: ## regenerate the protobuf code
	@mkdir -p $(TOOLS)
	[ -x build/protoc/bin/python ] || { $(PYTHON) -m venv build/protoc && build/protoc/bin/pip install -q grpcio-tools==1.76.0; }
	GOBIN=$(abspath $(TOOLS)) go install $(PROTOC_GEN_GO)
	GOBIN=$(abspath $(TOOLS)) go install $(PROTOC_GEN_GO_GRPC)
	for d in pkg/inferencepb cmd/cli/scaler/externalscalerpb; do cd $(CURDIR)/$$d && PATH=$(abspath $(TOOLS)):$$PATH $(abspath build/protoc)/bin/python -m grpc_tools.protoc -I. \
	  --go_out=. --go_opt=paths=source_relative --go-grpc_out=. --go-grpc_opt=paths=source_relative *.proto || exit 1; done

FUZZTIME ?= 30s
.PHONY: fuzz
fuzz: ## run every fuzz target for FUZZTIME (30s)
	@set -e; n=0; for pkg in $$(go list ./...); do \
	  listed=$$(go test -list '^Fuzz' $$pkg); \
	  for f in $$(echo "$$listed" | grep '^Fuzz' || true); do \
	    echo "== $$pkg $$f"; go test -run '^$$' -fuzz "^$$f\$$" -fuzztime $(FUZZTIME) $$pkg; n=$$((n + 1)); done; done; \
	  echo "$$n fuzz targets, nothing found"

.PHONY: oracle
oracle: ## install NVIDIA's tritonserver and perf_analyzer into .oracle/ (linux x86_64)
	testdata/oracle/setup.sh $(ORACLE)

.PHONY: conformance
conformance: onnxruntime ## send the requests of server/servertest/conformance to our server, or to TRITON_CONFORMANCE_HTTP and _GRPC
	TRITON_CONFORMANCE_LONG=1 go test -count=1 -v -run 'TestConformance' ./cmd/triton/

.PHONY: isolation
isolation: onnxruntime ## the tests of the server with all models in processes of their own, and 200 kills under load
	TRITON_TEST_ISOLATION=process go test -count=1 ./server/
	TRITON_KILLS=200 go test -count=1 -v -run 'TestKills' ./server/backend/isolated/

.PHONY: compare
compare: build onnxruntime oracle ## send the same requests to NVIDIA's server and to ours: half an hour, which is mostly waiting
	TRITON_ORACLE=$(abspath $(ORACLE)) go test -count=1 -v -timeout 90m -run 'TestCompare' ./cmd/triton/ ./pkg/modelconfig/

# TestGroundTruth starts two processes of Python for most cases; TestServe few.
.PHONY: groundtruth
groundtruth: onnxruntime oracle $(VENV)/.stamp ## lint 1000 repositories with mistakes, and serve them here and with NVIDIA's server
	go test -count=1 -v -timeout 60m -run 'TestServe$$' ./repo/lint/ -cases 1000 -python-models
	TRITON_ORACLE=$(abspath $(ORACLE)) go test -count=1 -v -timeout 120m -run 'TestGroundTruth$$' ./repo/lint/ -cases 1000

.PHONY: stores
stores: build/stores/.stamp ## models from real stores (MinIO, fake-gcs-server, Azurite, a registry), with faults of the network
	TRITON_STORES=$(abspath build/stores) TRITON_STORES_TABLE=$(abspath docs/repositories.md) \
	  go test -count=1 -timeout 30m -run '^TestStores' ./server/

build/stores/.stamp:
	mkdir -p build/stores
	for p in $(STORES); do CGO_ENABLED=0 GOBIN=$(abspath build/stores) go install $$p || exit 1; done
	npm install --prefix build/stores --no-audit --no-fund --no-package-lock $(AZURITE)
	@touch $@

.PHONY: scenarios
scenarios: oracle ## play the scripts of server/servertest/scenario on NVIDIA's server and on ours
	TRITON_ORACLE=$(abspath $(ORACLE)) go test -count=1 -v -timeout 60m ./server/servertest/scenario/

# PYTHONS are interpreters with numpy. One that has torch or jax runs their tests too.
.PHONY: pythons
pythons: ## the tests of the Python backend with other interpreters, PYTHONS="<python> <python>"
	for p in $(PYTHONS); do go test -count=1 ./server/backend/python -args -python=$$p -packages=$$p || exit 1; done

.PHONY: engines
engines: build/engines/.stamp ## OpenVINO, XGBoost, LightGBM and Treelite: the native form of a backend beside that in Python
	TRITON_ENGINES=$(abspath build/engines/bin/python) go test -count=1 -v -timeout 30m -run '^TestEngine' ./server/

build/engines/.stamp: testdata/engines/requirements.txt
	$(PYTHON) -m venv build/engines
	build/engines/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --no-deps -r $<
	@touch $@

.PHONY: kills
kills: $(VENV)/.stamp ## kill 200 Python processes under load, load a Python model 200 times; KILLS=n SEED=n
	TRITON_KILLS=$(or $(KILLS),200) TRITON_KILLS_SEED=$(or $(SEED),1) TRITON_LOADS=$(or $(LOADS),200) \
	  go test -count=1 -v -timeout 60m -run '^TestPython(Kills|Loads)$$' ./server/

.PHONY: rolling
rolling: haproxy ## restart 3 replicas behind a proxy under load: none of 100,000 requests is lost; REQUESTS=n
	TRITON_ROLLING=$(or $(REQUESTS),100000) go test -count=1 -v -timeout 30m -run '^TestRollingRestart$$' ./cmd/triton/

.PHONY: h2spec
h2spec: $(TOOLS)/h2spec ## all 145 checks of h2spec against the gRPC port, on each transport: what fails is in server/grpcapi/testdata/h2spec, with reasons
	TRITON_H2SPEC=$(abspath $(TOOLS))/h2spec go test -count=1 -v -run '^TestH2Spec$$' ./server/grpcapi/
	TRITON_H2SPEC=$(abspath $(TOOLS))/h2spec TRITON_TEST_GRPC_TRANSPORT=builtin go test -count=1 -v -run '^TestH2Spec$$' ./server/grpcapi/

$(TOOLS)/h2spec:
	@mkdir -p $(TOOLS)
	GOBIN=$(abspath $(TOOLS)) go install $(H2SPEC)

.PHONY: grpc-transports
grpc-transports: $(TOOLS)/grpc-interop ## gRPC's interoperability tests, random frames (EXECUTIONS=n SEED=n) and drains on each gRPC transport, grpc-go beside ours
	TRITON_GRPC_INTEROP=$(abspath $(TOOLS))/grpc-interop TRITON_ORACLE_EXECUTIONS=$(or $(EXECUTIONS),1000000) TRITON_ORACLE_SEED=$(or $(SEED),1) \
	  go test -count=1 -v -timeout 120m -run '^Test(Interop|Oracle|DrainCounts)$$' ./server/grpctest/

$(TOOLS)/grpc-interop:
	@mkdir -p $(TOOLS)
	GOBIN=$(abspath $(TOOLS))/grpc-interop-bin go install $(GRPC_INTEROP)
	mv $(TOOLS)/grpc-interop-bin/client $@ && rmdir $(TOOLS)/grpc-interop-bin

.PHONY: on-demand
on-demand: onnxruntime ## 50 models with memory for five: latency of the loaded ones; ON_DEMAND=20s for each row
	TRITON_ON_DEMAND=$(or $(ON_DEMAND),20s) go test ./server -run TestResidentLatency -v -timeout 30m

.PHONY: chaos
chaos: onnxruntime $(VENV)/.stamp ## change, break and kill 21 models under traffic for ten minutes; TRITON_CHAOS=2m SEED=n REPLAY=journal
	TRITON_CHAOS=$(or $(TRITON_CHAOS),10m) go test -count=1 -v -timeout 60m -run '^TestChaos$$' ./cmd/triton/ \
	  -args -seed $(or $(SEED),1) -journals $(abspath build/chaos) $(if $(REPLAY),-replay $(abspath $(REPLAY)))

.PHONY: chaos-short
chaos-short: ## the same for two minutes
	$(MAKE) chaos TRITON_CHAOS=2m

.PHONY: many-models
many-models: build onnxruntime oracle ## start, memory, loads and unloads of 100 and 1500 models, beside NVIDIA's server; MOST=5 to try it
	[ -d $(MODELS) ] || bin/triton repo example $(MODELS)
	$(ORACLE)/bin/python testdata/bench/bench.py many_models --triton bin/triton --oracle $(ORACLE) --models $(MODELS) $(if $(MOST),--most $(MOST) --repeats 1)

.PHONY: loads
loads: $(VENV)/.stamp ## load and unload a Python model 1000 times: the server's memory stays within 5 %; LOADS=n
	TRITON_MEMORY_LOADS=$(or $(LOADS),1000) go test -count=1 -v -timeout 120m -run '^TestPythonLoadsMemory$$' ./cmd/triton/

.PHONY: interop
interop: build onnxruntime oracle $(TOOLS)/grpcurl ## real clients against bin/triton: Python, perf_analyzer, grpcurl, curl, Node, Java, gRPC-Web
	PYTHON=$(PYTHON) testdata/interop/run.sh

GPU_KIT ?= build/gpu-kit
.PHONY: gpu-kit
gpu-kit: build ## pack what the checks on a GPU need on a machine without Go and network: build/gpu-kit/part-* (docs/gpu.md)
	PYTHON=$(PYTHON) testdata/gpu/kit.sh pack $(GPU_KIT)

# The checks with numpy and onnx, which the Python of `make oracle` has.
.PHONY: gpu-stand-in
gpu-stand-in: build onnxruntime oracle ## the checks on a GPU, without one: models on the processor, stand-ins of NVIDIA's libraries; ONLY=nvml,onnx
	testdata/gpu/kit.sh stand-in build/gpu-stand-in
	PYTHON=$(abspath $(ORACLE))/bin/python testdata/gpu/run.sh build/gpu-stand-in build/gpu-stand-in/out --stand-in $(if $(ONLY),--only $(ONLY))

.PHONY: browser-test
browser-test: ## the HTML reports of triton perf and triton analyze in headless Chromium, with axe for accessibility
	mkdir -p build/browser && cp perf/result/testdata/browser/package.json build/browser/
	npm install --prefix build/browser --no-audit --no-fund --no-package-lock
	TRITON_BROWSER=$(CURDIR)/build/browser go test -p 1 -count=1 -v -run TestBrowser ./perf/result ./analyzer/report ./cmd/cli/analyze

# With TRITON_NVIDIA_BACKENDS=<folder with onnxruntime/libtriton_onnxruntime.so> NVIDIA's server runs
# them too: that of `make oracle`, or TRITON_NVIDIA_SERVER=<tritonserver>.
.PHONY: zoo
zoo: build onnxruntime build/zoo/.stamp ## the models of the onnx package on bin/triton, in ONNX Runtime alone and on NVIDIA's server
	TRITON_NVIDIA_SERVER=$(or $(TRITON_NVIDIA_SERVER),$(ORACLE)/bin/tritonserver) \
	  build/zoo/venv/bin/python testdata/zoo/zoo.py --triton bin/triton --work build/zoo $(ZOO)

build/zoo/.stamp: testdata/zoo/requirements.txt
	$(PYTHON) -m venv build/zoo/venv
	build/zoo/venv/bin/python -m pip install --quiet --disable-pip-version-check -r $<
	@touch $@

$(TOOLS)/grpcurl:
	@mkdir -p $(TOOLS)
	GOBIN=$(abspath $(TOOLS)) go install $(GRPCURL)

.PHONY: bench
bench: build onnxruntime oracle ## the figures of docs/benchmarks.md; FIGURES=wire for some; FIGURES=guard BASE=<revision> compares with another build
	[ -d $(MODELS) ] || bin/triton repo example $(MODELS)
	$(ORACLE)/bin/python testdata/bench/bench.py $(FIGURES) --triton bin/triton --oracle $(ORACLE) --models $(MODELS) $(if $(filter guard,$(FIGURES)),--base $(BASE) --repeats $(or $(REPEATS),5))

.PHONY: analyze-spread
analyze-spread: build onnxruntime ## `triton analyze` ten times on real models: the spread, and the same count each time; RUNS=3 for fewer
	[ -d $(MODELS) ] || bin/triton repo example $(MODELS)
	python3 testdata/bench/spread.py --triton bin/triton --models $(MODELS) --runs $(or $(RUNS),10)

.PHONY: microbench
microbench: ## Go benchmarks of the hot paths; COUNT=6 for benchstat
	go test -run '^$$' -bench . -benchmem -benchtime 0.3s -count $(or $(COUNT),1) ./pkg/... ./server/... ./perf/...

.PHONY: packages
packages: onnxruntime $(TOOLS)/nfpm ## deb, rpm, container images, SBOM, provenance and checksums in dist/; SIGNING_KEY=key.pem signs
	NFPM=$(TOOLS)/nfpm deploy/packages.sh $(or $(DIST),dist)

.PHONY: archives
archives: $(TOOLS)/goreleaser ## archives for Linux, macOS and Windows in dist/, by goreleaser; needs aarch64-linux-gnu-gcc
	$(TOOLS)/goreleaser release --snapshot --clean

.PHONY: packages-test
packages-test: $(TOOLS)/nfpm ## install, start, ask, upgrade and remove what `make packages` built; needs root or user namespaces
	NFPM=$(TOOLS)/nfpm deploy/packages_test.sh $(or $(DIST),dist)

.PHONY: reproducible
reproducible: onnxruntime $(TOOLS)/nfpm ## `make packages` twice, in two folders without a common cache: all files are the same
	NFPM=$(abspath $(TOOLS))/nfpm deploy/reproducible.sh build/reproducible

.PHONY: sbom-check
sbom-check: ## check the bills of materials in dist/ by the schemas of CycloneDX and SPDX
	[ -d build/sbom ] || { $(PYTHON) -m venv build/sbom && build/sbom/bin/pip install -q 'cyclonedx-python-lib[json-validation]==11.12.0' spdx-tools==0.8.5; }
	build/sbom/bin/python deploy/sbom/check.py $(or $(DIST),dist)

# The lanes of `make verify`, CONTRIBUTING.md tells what each checks and when it must run.
VERIFY = verify-systems verify-bill verify-race conformance other-transport isolation capi-cgocheck zoo chaos-short manifests
.PHONY: verify $(filter verify-%,$(VERIFY))
verify: ## what `make test` leaves out: other systems, the whole race detector, long lanes; VERIFY="verify-race zoo" for some
	@for lane in $(VERIFY); do echo "== $$lane"; begun=$$(date +%s); $(MAKE) --no-print-directory $$lane || { echo "verify: $$lane failed" >&2; exit 1; }; \
	  echo "== $$lane: $$(($$(date +%s) - begun)) s"; done

verify-systems: ## without cgo; macOS; Windows
	CGO_ENABLED=0 go build ./...
	CGO_ENABLED=0 GOOS=darwin GOARCH=arm64 go build ./...
	CGO_ENABLED=0 GOOS=windows GOARCH=amd64 go build ./...
	GOARCH=arm64 CGO_ENABLED=0 go vet ./...

verify-bill: build ## the licences and the bill of materials
	go run ./deploy/sbom -check bin/triton

verify-race: onnxruntime redis haproxy $(VENV)/.stamp ## all packages by the race detector, without -short
	deploy/gotest.sh go test $(TESTFLAGS) -race -timeout 30m ./...

.PHONY: vulnerabilities
vulnerabilities: ## govulncheck; needs the network's vulnerability database
	go run $(GOVULNCHECK) ./... || { echo "govulncheck failed: it found something, or https://vuln.go.dev cannot be reached from here" >&2; exit 1; }

$(TOOLS)/nfpm:
	@mkdir -p $(TOOLS)
	GOBIN=$(abspath $(TOOLS)) go install $(NFPM)

.PHONY: clean
clean: ## remove what the build made (not lib/, models/, .venv/, .oracle/)
	rm -rf bin build dist
