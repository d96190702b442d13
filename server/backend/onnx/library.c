//go:build cgo && (linux || darwin)

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "ort.h"

trt_ort_error trt_ort_fail(int32_t code, const char *message) {
	trt_ort_error e = {code, message ? strdup(message) : NULL};
	return e;
}

trt_ort_error trt_ort_check(const trt_ort_library *lib, OrtStatus *status) {
	if (status == NULL) {
		return (trt_ort_error){0};
	}
	int32_t code = (int32_t)ORT(lib, GetErrorCode)(status);
	trt_ort_error e = trt_ort_fail(code, ORT(lib, GetErrorMessage)(status));
	ORT(lib, ReleaseStatus)(status);
	return e;
}

// level_of returns the level of the table that a library of this version has: its minor
// version. 0: the text is no version 1.x.
static uint32_t level_of(const char *version) {
	if (strncmp(version, "1.", 2) != 0) {
		return 0;
	}
	long minor = strtol(version + 2, NULL, 10);
	return minor < 0 ? 0 : minor > TRT_ORT_API_VERSION ? TRT_ORT_API_VERSION : (uint32_t)minor;
}

// trt_ort_open opens the library at path and keeps it for good. version is set
// also when the library is too old.
trt_ort_error trt_ort_open(const char *path, trt_ort_library **opened, char **version) {
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
	uint32_t level = *version == NULL ? 0 : level_of(*version);
	const void *const *table = NULL;
	if (level >= TRT_ORT_API_OLDEST) {
		table = (const void *const *)base()->GetApi(level);
	}
	if (table == NULL) {
		dlclose(handle);
		return trt_ort_fail(TRT_ORT_TOO_OLD, NULL);
	}
	trt_ort_library *lib = calloc(1, sizeof *lib);
	if (lib == NULL) {
		dlclose(handle);
		return trt_ort_fail(TRT_ORT_MEMORY, "no memory");
	}
	lib->table = table;
	lib->level = level;
	*opened = lib;
	return (trt_ort_error){0};
}

static OrtStatus *global_pools(trt_ort_library *lib, int32_t level, int32_t intra, int32_t inter) {
	OrtThreadingOptions *threads = NULL;
	OrtStatus *s = ORT(lib, CreateThreadingOptions)(&threads);
	if (s == NULL && intra > 0) {
		s = ORT(lib, SetGlobalIntraOpNumThreads)(threads, intra);
	}
	if (s == NULL && inter > 0) {
		s = ORT(lib, SetGlobalInterOpNumThreads)(threads, inter);
	}
	if (s == NULL) {
		s = ORT(lib, CreateEnvWithGlobalThreadPools)((OrtLoggingLevel)level, "log", threads, &lib->env);
	}
	if (threads != NULL) {
		ORT(lib, ReleaseThreadingOptions)(threads);
	}
	return s;
}

// trt_ort_env makes the library's environment, or joins it when it exists. It
// is never destroyed: sessions may live until the process ends.
trt_ort_error trt_ort_env(trt_ort_library *lib, int32_t level, int32_t global_pool, int32_t intra, int32_t inter) {
	OrtStatus *s = NULL;
	if (lib->env == NULL) {
		s = global_pool ? global_pools(lib, level, intra, inter)
		                : ORT(lib, CreateEnv)((OrtLoggingLevel)level, "log", &lib->env);
	}
	if (s == NULL && lib->cpu == NULL) {
		s = ORT(lib, CreateCpuMemoryInfo)(1 /* arena */, 0 /* default */, &lib->cpu);
	}
	if (s == NULL) {
		s = ORT(lib, GetAllocatorWithDefaultOptions)(&lib->allocator);
	}
	return trt_ort_check(lib, s);
}

// trt_ort_env_arena registers a CPU arena that sessions with the entry
// session.use_env_allocators share.
trt_ort_error trt_ort_env_arena(const trt_ort_library *lib, const char *const *keys, const size_t *values, size_t n) {
	OrtArenaCfg *arena = NULL;
	OrtStatus *s = ORT(lib, CreateArenaCfgV2)(keys, values, n, &arena);
	if (s == NULL) {
		s = ORT(lib, CreateAndRegisterAllocator)(lib->env, lib->cpu, arena);
	}
	if (arena != NULL) {
		ORT(lib, ReleaseArenaCfg)(arena);
	}
	return trt_ort_check(lib, s);
}

trt_ort_error trt_ort_providers(const trt_ort_library *lib, char ***names, int32_t *n) {
	int count = 0;
	trt_ort_error e = trt_ort_check(lib, ORT(lib, GetAvailableProviders)(names, &count));
	*n = count;
	return e;
}

void trt_ort_providers_free(const trt_ort_library *lib, char **names, int32_t n) {
	trt_ort_error e = trt_ort_check(lib, ORT(lib, ReleaseAvailableProviders)(names, n));
	free(e.message);
}
