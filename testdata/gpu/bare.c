// The peer of the server's speed: ONNX Runtime alone. Some threads run one model in a loop, each
// with a session of its own, by the C API of the library that the server uses too.
//
//	bare LIBRARY MODEL PROVIDER BATCH THREADS SECONDS WHERE GRAPH
//
// PROVIDER is cpu or cuda. WHERE is host (inputs and outputs in the processor's memory, so that each
// run copies them) or device (bound on the GPU once: what shared memory on the GPU could reach at
// best). GRAPH 1 replays a CUDA graph, which needs device. The first dimension of each input is
// BATCH; other dimensions that vary are 1. It writes one line of JSON.
#include <dlfcn.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "onnxruntime_c_api.h"

#define MOST_TENSORS 16
#define MOST_RUNS 1000000
#define RANK 16

static const OrtApi *api;
static OrtEnv *env;
static const char *model, *provider, *where;
static int64_t batch;
static int threads, graph;
static double seconds;
static atomic_int ready, stop;

static void check(OrtStatus *status) {
	if (!status) return;
	fprintf(stderr, "bare: %s\n", api->GetErrorMessage(status));
	exit(1);
}

static void fail(const char *text) {
	fprintf(stderr, "bare: %s\n", text);
	exit(1);
}

static double now(void) {
	struct timespec t;
	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec + t.tv_nsec * 1e-9;
}

typedef struct {
	pthread_t thread;
	float *took; // of each run, in microseconds
	int runs;
} worker;

static size_t element_size(ONNXTensorElementDataType type) {
	switch (type) {
	case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT:
	case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT32: return 4;
	case ONNX_TENSOR_ELEMENT_DATA_TYPE_FLOAT16: return 2;
	case ONNX_TENSOR_ELEMENT_DATA_TYPE_INT64: return 8;
	default: fail("an input or output has a type that this program does not know"); return 0;
	}
}

static OrtSession *open_session(void) {
	OrtSessionOptions *o;
	check(api->CreateSessionOptions(&o));
	check(api->SetSessionGraphOptimizationLevel(o, ORT_ENABLE_ALL));
	if (!strcmp(provider, "cuda")) {
		OrtCUDAProviderOptionsV2 *cuda;
		check(api->CreateCUDAProviderOptions(&cuda));
		const char *keys[] = {"device_id", "enable_cuda_graph"}, *values[] = {"0", graph ? "1" : "0"};
		check(api->UpdateCUDAProviderOptions(cuda, keys, values, 2));
		check(api->SessionOptionsAppendExecutionProvider_CUDA_V2(o, cuda));
		api->ReleaseCUDAProviderOptions(cuda);
	} else {
		check(api->SetIntraOpNumThreads(o, 1));
	}
	OrtSession *session;
	check(api->CreateSession(env, model, o, &session));
	api->ReleaseSessionOptions(o);
	return session;
}

// describe fills in a tensor's type and shape, with the batch in it, and returns its bytes.
static size_t describe(OrtTypeInfo *info, ONNXTensorElementDataType *type, int64_t *dims, size_t *rank) {
	const OrtTensorTypeAndShapeInfo *shape;
	check(api->CastTypeInfoToTensorInfo(info, &shape));
	if (!shape) fail("an input or output is no tensor");
	check(api->GetTensorElementType(shape, type));
	check(api->GetDimensionsCount(shape, rank));
	if (*rank > RANK) fail("a tensor has too many dimensions");
	check(api->GetDimensions(shape, dims, *rank));
	size_t bytes = element_size(*type);
	for (size_t i = 0; i < *rank; i++) {
		if (i == 0) dims[i] = batch;
		if (dims[i] < 1) dims[i] = 1;
		bytes *= dims[i];
	}
	api->ReleaseTypeInfo(info);
	return bytes;
}

static void *work(void *arg) {
	worker *w = arg;
	OrtSession *session = open_session();
	OrtAllocator *cpu, *device = NULL;
	check(api->GetAllocatorWithDefaultOptions(&cpu));
	OrtMemoryInfo *host, *on = NULL;
	check(api->CreateCpuMemoryInfo(OrtArenaAllocator, OrtMemTypeDefault, &host));
	if (!strcmp(where, "device")) {
		check(api->CreateMemoryInfo("Cuda", OrtArenaAllocator, 0, OrtMemTypeDefault, &on));
		check(api->CreateAllocator(session, on, &device));
	}
	size_t inputs, outputs;
	check(api->SessionGetInputCount(session, &inputs));
	check(api->SessionGetOutputCount(session, &outputs));
	if (inputs > MOST_TENSORS || outputs > MOST_TENSORS) fail("the model has too many inputs or outputs");
	char *names[2 * MOST_TENSORS];
	OrtValue *values[2 * MOST_TENSORS] = {0};
	OrtIoBinding *binding;
	check(api->CreateIoBinding(session, &binding));
	for (size_t i = 0; i < inputs + outputs; i++) {
		OrtTypeInfo *info;
		int64_t dims[RANK];
		size_t rank;
		ONNXTensorElementDataType type;
		int in = i < inputs;
		check(in ? api->SessionGetInputName(session, i, cpu, &names[i]) : api->SessionGetOutputName(session, i - inputs, cpu, &names[i]));
		check(in ? api->SessionGetInputTypeInfo(session, i, &info) : api->SessionGetOutputTypeInfo(session, i - inputs, &info));
		size_t bytes = describe(info, &type, dims, &rank);
		if (device) {
			check(api->CreateTensorAsOrtValue(device, dims, rank, type, &values[i]));
		} else if (in) {
			void *data = calloc(1, bytes);
			if (!data) fail("out of memory");
			check(api->CreateTensorWithDataAsOrtValue(host, data, bytes, dims, rank, type, &values[i]));
		}
		if (in) {
			check(api->BindInput(binding, names[i], values[i]));
		} else if (device) {
			check(api->BindOutput(binding, names[i], values[i]));
		} else {
			check(api->BindOutputToDevice(binding, names[i], host));
		}
	}
	for (int i = 0; i < 5; i++) check(api->RunWithBinding(session, NULL, binding));
	atomic_fetch_add(&ready, 1);
	while (atomic_load(&ready) < threads) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	while (!atomic_load(&stop) && w->runs < MOST_RUNS) {
		double begin = now();
		check(api->RunWithBinding(session, NULL, binding));
		w->took[w->runs++] = (now() - begin) * 1e6;
	}
	// Nothing is released: the process ends, and a driver that fails then would hide the result.
	return NULL;
}

static int compare(const void *a, const void *b) {
	float x = *(const float *)a, y = *(const float *)b;
	return (x > y) - (x < y);
}

int main(int argc, char **argv) {
	if (argc != 9) fail("usage: bare LIBRARY MODEL PROVIDER BATCH THREADS SECONDS WHERE GRAPH");
	model = argv[2], provider = argv[3], batch = atoll(argv[4]), threads = atoi(argv[5]), seconds = atof(argv[6]);
	where = argv[7], graph = atoi(argv[8]);
	if (batch < 1 || threads < 1 || threads > 64 || seconds <= 0) fail("BATCH, THREADS (to 64) and SECONDS must be above 0");
	void *library = dlopen(argv[1], RTLD_NOW);
	if (!library) fail(dlerror());
	const OrtApiBase *(*base)(void) = (const OrtApiBase *(*)(void))dlsym(library, "OrtGetApiBase");
	if (!base || !(api = base()->GetApi(ORT_API_VERSION))) fail("the library is no ONNX Runtime, or too old");
	check(api->CreateEnv(ORT_LOGGING_LEVEL_ERROR, "bare", &env));
	worker *w = calloc(threads, sizeof *w);
	for (int i = 0; i < threads; i++) {
		w[i].took = malloc(MOST_RUNS * sizeof(float));
		if (pthread_create(&w[i].thread, NULL, work, &w[i])) fail("no thread");
	}
	while (atomic_load(&ready) < threads) nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
	double begin = now();
	nanosleep(&(struct timespec){.tv_sec = (time_t)seconds, .tv_nsec = (seconds - (time_t)seconds) * 1e9}, NULL);
	atomic_store(&stop, 1);
	int runs = 0;
	for (int i = 0; i < threads; i++) pthread_join(w[i].thread, NULL), runs += w[i].runs;
	double took = now() - begin;
	float *all = malloc((runs + 1) * sizeof(float));
	for (int i = 0, n = 0; i < threads; n += w[i++].runs) memcpy(all + n, w[i].took, w[i].runs * sizeof(float));
	qsort(all, runs, sizeof(float), compare);
	printf("{\"version\":\"%s\",\"batch\":%lld,\"threads\":%d,\"where\":\"%s\",\"graph\":%d,\"runs\":%d,\"items_per_second\":%.1f,\"p50_us\":%.1f,\"p99_us\":%.1f}\n",
	       base()->GetVersionString(), (long long)batch, threads, where, graph, runs, runs * batch / took,
	       runs ? all[runs / 2] : 0, runs ? all[(int)(runs * .99)] : 0);
	fflush(stdout);
	_Exit(0);
}
