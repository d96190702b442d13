//go:build cgo && (linux || darwin)

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "ort.h"

trt_ort_library trt_ort;

trt_ort_error trt_ort_fail(int32_t code, const char *message) {
	trt_ort_error e = {code, message ? strdup(message) : NULL};
	return e;
}

trt_ort_error trt_ort_check(OrtStatus *status) {
	if (status == NULL) {
		return (trt_ort_error){0};
	}
	int32_t code = (int32_t)ORT(GetErrorCode)(status);
	trt_ort_error e = trt_ort_fail(code, ORT(GetErrorMessage)(status));
	ORT(ReleaseStatus)(status);
	return e;
}

// trt_ort_open opens the library at path and keeps it for good. version is set
// also when the library is too old.
trt_ort_error trt_ort_open(const char *path, char **version) {
	void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (handle == NULL) {
		return trt_ort_fail(TRT_ORT_NO_LIBRARY, dlerror());
	}
	const OrtApiBase *(*base)(void);
	*(void **)&base = dlsym(handle, "OrtGetApiBase");
	if (base == NULL) {
		trt_ort_error e = trt_ort_fail(TRT_ORT_NO_SYMBOL, dlerror());
		dlclose(handle);
		return e;
	}
	*version = strdup(base()->GetVersionString());
	const void *const *table = (const void *const *)base()->GetApi(TRT_ORT_API_VERSION);
	if (table == NULL) {
		dlclose(handle);
		return trt_ort_fail(TRT_ORT_TOO_OLD, NULL);
	}
	trt_ort.table = table;
	return (trt_ort_error){0};
}

static OrtStatus *global_pools(int32_t level, int32_t intra, int32_t inter) {
	OrtThreadingOptions *threads = NULL;
	OrtStatus *s = ORT(CreateThreadingOptions)(&threads);
	if (s == NULL && intra > 0) {
		s = ORT(SetGlobalIntraOpNumThreads)(threads, intra);
	}
	if (s == NULL && inter > 0) {
		s = ORT(SetGlobalInterOpNumThreads)(threads, inter);
	}
	if (s == NULL) {
		s = ORT(CreateEnvWithGlobalThreadPools)((OrtLoggingLevel)level, "log", threads, &trt_ort.env);
	}
	if (threads != NULL) {
		ORT(ReleaseThreadingOptions)(threads);
	}
	return s;
}

// trt_ort_env makes the process's environment, or joins it when it exists. It
// is never destroyed: sessions may live until the process ends.
trt_ort_error trt_ort_env(int32_t level, int32_t global_pool, int32_t intra, int32_t inter) {
	OrtStatus *s = NULL;
	if (trt_ort.env == NULL) {
		s = global_pool ? global_pools(level, intra, inter)
		                : ORT(CreateEnv)((OrtLoggingLevel)level, "log", &trt_ort.env);
	}
	if (s == NULL && trt_ort.cpu == NULL) {
		s = ORT(CreateCpuMemoryInfo)(1 /* arena */, 0 /* default */, &trt_ort.cpu);
	}
	if (s == NULL) {
		s = ORT(GetAllocatorWithDefaultOptions)(&trt_ort.allocator);
	}
	return trt_ort_check(s);
}

trt_ort_error trt_ort_providers(char ***names, int32_t *n) {
	int count = 0;
	trt_ort_error e = trt_ort_check(ORT(GetAvailableProviders)(names, &count));
	*n = count;
	return e;
}

void trt_ort_providers_free(char **names, int32_t n) {
	trt_ort_error e = trt_ort_check(ORT(ReleaseAvailableProviders)(names, n));
	free(e.message);
}
