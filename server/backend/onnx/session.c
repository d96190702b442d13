//go:build cgo && (linux || darwin)

#include <stdlib.h>
#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "ort.h"

trt_ort_error trt_ort_options_new(const trt_ort_library *lib, OrtSessionOptions **o) { return trt_ort_check(lib, ORT(lib, CreateSessionOptions)(o)); }

void trt_ort_options_free(const trt_ort_library *lib, OrtSessionOptions *o) { ORT(lib, ReleaseSessionOptions)(o); }

trt_ort_error trt_ort_options_level(const trt_ort_library *lib, OrtSessionOptions *o, int32_t level) {
	return trt_ort_check(lib, ORT(lib, SetSessionGraphOptimizationLevel)(o, (GraphOptimizationLevel)level));
}

trt_ort_error trt_ort_options_mode(const trt_ort_library *lib, OrtSessionOptions *o, int32_t mode) {
	return trt_ort_check(lib, ORT(lib, SetSessionExecutionMode)(o, (ExecutionMode)mode));
}

trt_ort_error trt_ort_options_threads(const trt_ort_library *lib, OrtSessionOptions *o, int32_t intra, int32_t inter) {
	OrtStatus *s = NULL;
	if (intra > 0) {
		s = ORT(lib, SetIntraOpNumThreads)(o, intra);
	}
	if (s == NULL && inter > 0) {
		s = ORT(lib, SetInterOpNumThreads)(o, inter);
	}
	return trt_ort_check(lib, s);
}

trt_ort_error trt_ort_options_global_pool(const trt_ort_library *lib, OrtSessionOptions *o) { return trt_ort_check(lib, ORT(lib, DisablePerSessionThreads)(o)); }

trt_ort_error trt_ort_options_arena(const trt_ort_library *lib, OrtSessionOptions *o, int32_t on) {
	return trt_ort_check(lib, on ? ORT(lib, EnableCpuMemArena)(o) : ORT(lib, DisableCpuMemArena)(o));
}

trt_ort_error trt_ort_options_pattern(const trt_ort_library *lib, OrtSessionOptions *o, int32_t on) {
	return trt_ort_check(lib, on ? ORT(lib, EnableMemPattern)(o) : ORT(lib, DisableMemPattern)(o));
}

trt_ort_error trt_ort_options_entry(const trt_ort_library *lib, OrtSessionOptions *o, const char *key, const char *value) {
	return trt_ort_check(lib, ORT(lib, AddSessionConfigEntry)(o, key, value));
}

trt_ort_error trt_ort_options_library(const trt_ort_library *lib, OrtSessionOptions *o, const char *path) {
	return trt_ort_check(lib, ORT(lib, RegisterCustomOpsLibrary_V2)(o, path));
}

trt_ort_error trt_ort_options_optimized(const trt_ort_library *lib, OrtSessionOptions *o, const char *path) {
	return trt_ort_check(lib, ORT(lib, SetOptimizedModelFilePath)(o, path));
}

trt_ort_error trt_ort_options_profile(const trt_ort_library *lib, OrtSessionOptions *o, const char *prefix) {
	return trt_ort_check(lib, ORT(lib, EnableProfiling)(o, prefix));
}

OrtStatus *trt_ort_create(const trt_ort_library *lib, const trt_ort_source *from, const OrtSessionOptions *o, OrtSession **session) {
	if (from->data != NULL) {
		return ORT(lib, CreateSessionFromArray)(lib->env, from->data, from->bytes, o, session);
	}
	return ORT(lib, CreateSession)(lib->env, from->path, o, session);
}

trt_ort_error trt_ort_session_open(const trt_ort_library *lib, const trt_ort_source *from, const OrtSessionOptions *o, OrtSession **session) {
	return trt_ort_check(lib, trt_ort_create(lib, from, o, session));
}

trt_ort_error trt_ort_session_end_profile(const trt_ort_library *lib, OrtSession *session, char **file) {
	char *name = NULL;
	OrtStatus *s = ORT(lib, SessionEndProfiling)(session, lib->allocator, &name);
	if (s == NULL) {
		*file = strdup(name);
		s = ORT(lib, AllocatorFree)(lib->allocator, name);
	}
	return trt_ort_check(lib, s);
}

void trt_ort_session_free(const trt_ort_library *lib, OrtSession *session) { ORT(lib, ReleaseSession)(session); }

trt_ort_error trt_ort_session_count(const trt_ort_library *lib, const OrtSession *session, int32_t which, size_t *n) {
	switch (which) {
	case TRT_ORT_INPUT:
		return trt_ort_check(lib, ORT(lib, SessionGetInputCount)(session, n));
	case TRT_ORT_OUTPUT:
		return trt_ort_check(lib, ORT(lib, SessionGetOutputCount)(session, n));
	}
	return trt_ort_check(lib, ORT(lib, SessionGetOverridableInitializerCount)(session, n));
}

static OrtStatus *name_of(const trt_ort_library *lib, const OrtSession *session, int32_t which, size_t i, char **name) {
	switch (which) {
	case TRT_ORT_INPUT:
		return ORT(lib, SessionGetInputName)(session, i, lib->allocator, name);
	case TRT_ORT_OUTPUT:
		return ORT(lib, SessionGetOutputName)(session, i, lib->allocator, name);
	}
	return ORT(lib, SessionGetOverridableInitializerName)(session, i, lib->allocator, name);
}

static OrtStatus *type_of(const trt_ort_library *lib, const OrtSession *session, int32_t which, size_t i, OrtTypeInfo **type) {
	switch (which) {
	case TRT_ORT_INPUT:
		return ORT(lib, SessionGetInputTypeInfo)(session, i, type);
	case TRT_ORT_OUTPUT:
		return ORT(lib, SessionGetOutputTypeInfo)(session, i, type);
	}
	return ORT(lib, SessionGetOverridableInitializerTypeInfo)(session, i, type);
}

// tensor_info reads type and dimensions. A rank that is too large is left for
// the caller to refuse; its dimensions are not read.
static OrtStatus *tensor_info(const trt_ort_library *lib, const OrtTypeInfo *type, trt_ort_info *info) {
	const OrtTensorTypeAndShapeInfo *tensor = NULL;
	ONNXTensorElementDataType element = 0;
	const char *symbols[TRT_ORT_MAX_RANK] = {0};
	size_t rank = 0;
	OrtStatus *s = ORT(lib, CastTypeInfoToTensorInfo)(type, &tensor);
	if (s != NULL || tensor == NULL) {
		return s;
	}
	if ((s = ORT(lib, GetTensorElementType)(tensor, &element)) != NULL ||
	    (s = ORT(lib, GetDimensionsCount)(tensor, &rank)) != NULL) {
		return s;
	}
	info->type = (int32_t)element;
	// Before level 24 nothing tells a scalar from a tensor of unknown rank: it counts as a scalar, as
	// in Triton.
	info->ranked = lib->level < 24 || ORT(lib, TensorTypeAndShape_HasShape)(tensor);
	info->rank = (int32_t)rank;
	if (rank > TRT_ORT_MAX_RANK) {
		return NULL;
	}
	if ((s = ORT(lib, GetDimensions)(tensor, info->dims, rank)) != NULL ||
	    (s = ORT(lib, GetSymbolicDimensions)(tensor, symbols, rank)) != NULL) {
		return s;
	}
	for (size_t i = 0; i < rank; i++) {
		info->symbols[i] = symbols[i] ? strdup(symbols[i]) : NULL;
	}
	return NULL;
}

trt_ort_error trt_ort_session_info(const trt_ort_library *lib, const OrtSession *session, int32_t which, size_t i, trt_ort_info *info) {
	memset(info, 0, sizeof *info);
	char *name = NULL;
	OrtStatus *s = name_of(lib, session, which, i, &name);
	if (s != NULL) {
		return trt_ort_check(lib, s);
	}
	info->name = strdup(name);
	s = ORT(lib, AllocatorFree)(lib->allocator, name);
	OrtTypeInfo *type = NULL;
	ONNXType kind = 0;
	if (s == NULL) {
		s = type_of(lib, session, which, i, &type);
	}
	if (s == NULL) {
		s = ORT(lib, GetOnnxTypeFromTypeInfo)(type, &kind);
	}
	info->kind = (int32_t)kind;
	if (s == NULL) {
		s = tensor_info(lib, type, info);
	}
	if (type != NULL) {
		ORT(lib, ReleaseTypeInfo)(type);
	}
	return trt_ort_check(lib, s);
}

static uint64_t stat(const trt_ort_library *lib, const OrtKeyValuePairs *stats, const char *key) {
	const char *const *keys = NULL, *const *values = NULL;
	size_t n = 0;
	ORT(lib, GetKeyValuePairs)(stats, &keys, &values, &n);
	for (size_t i = 0; i < n; i++) {
		if (strcmp(keys[i], key) == 0) {
			return strtoull(values[i], NULL, 10);
		}
	}
	return 0;
}

// trt_ort_session_memory reads the statistics of the session's CPU arena; both
// are 0 when it keeps none, or the library has no statistics.
trt_ort_error trt_ort_session_memory(const trt_ort_library *lib, const OrtSession *session, uint64_t *in_use, uint64_t *total) {
	if (lib->level < 23) {
		return (trt_ort_error){0};
	}
	OrtAllocator *arena = NULL;
	OrtKeyValuePairs *stats = NULL;
	OrtStatus *s = ORT(lib, CreateAllocator)(session, lib->cpu, &arena);
	if (s == NULL) {
		s = ORT(lib, AllocatorGetStats)(arena, &stats);
	}
	if (s == NULL) {
		*in_use = stat(lib, stats, "InUse");
		*total = stat(lib, stats, "TotalAllocated");
	}
	if (stats != NULL) {
		ORT(lib, ReleaseKeyValuePairs)(stats);
	}
	if (arena != NULL) {
		ORT(lib, ReleaseAllocator)(arena);
	}
	return trt_ort_check(lib, s);
}

// trt_ort_heap is what the C heap of the process has handed out; 0 where the C
// library does not say.
uint64_t trt_ort_heap(void) {
#if defined(__GLIBC__) && (__GLIBC__ > 2 || __GLIBC_MINOR__ >= 33)
	struct mallinfo2 m = mallinfo2();
	return m.uordblks + m.hblkhd;
#else
	return 0;
#endif
}

// trt_ort_trim gives back to the system what a load used and freed, which for a
// large model is more than the model.
void trt_ort_trim(void) {
#ifdef __GLIBC__
	malloc_trim(0);
#endif
}
