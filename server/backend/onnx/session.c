//go:build cgo && (linux || darwin)

#include <stdlib.h>
#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

#include "ort.h"

trt_ort_error trt_ort_options_new(OrtSessionOptions **o) { return trt_ort_check(ORT(CreateSessionOptions)(o)); }

void trt_ort_options_free(OrtSessionOptions *o) { ORT(ReleaseSessionOptions)(o); }

trt_ort_error trt_ort_options_level(OrtSessionOptions *o, int32_t level) {
	return trt_ort_check(ORT(SetSessionGraphOptimizationLevel)(o, (GraphOptimizationLevel)level));
}

trt_ort_error trt_ort_options_mode(OrtSessionOptions *o, int32_t mode) {
	return trt_ort_check(ORT(SetSessionExecutionMode)(o, (ExecutionMode)mode));
}

trt_ort_error trt_ort_options_threads(OrtSessionOptions *o, int32_t intra, int32_t inter) {
	OrtStatus *s = NULL;
	if (intra > 0) {
		s = ORT(SetIntraOpNumThreads)(o, intra);
	}
	if (s == NULL && inter > 0) {
		s = ORT(SetInterOpNumThreads)(o, inter);
	}
	return trt_ort_check(s);
}

trt_ort_error trt_ort_options_global_pool(OrtSessionOptions *o) { return trt_ort_check(ORT(DisablePerSessionThreads)(o)); }

trt_ort_error trt_ort_options_arena(OrtSessionOptions *o, int32_t on) {
	return trt_ort_check(on ? ORT(EnableCpuMemArena)(o) : ORT(DisableCpuMemArena)(o));
}

trt_ort_error trt_ort_options_pattern(OrtSessionOptions *o, int32_t on) {
	return trt_ort_check(on ? ORT(EnableMemPattern)(o) : ORT(DisableMemPattern)(o));
}

trt_ort_error trt_ort_options_entry(OrtSessionOptions *o, const char *key, const char *value) {
	return trt_ort_check(ORT(AddSessionConfigEntry)(o, key, value));
}

trt_ort_error trt_ort_options_library(OrtSessionOptions *o, const char *path) {
	return trt_ort_check(ORT(RegisterCustomOpsLibrary_V2)(o, path));
}

trt_ort_error trt_ort_options_cuda(OrtSessionOptions *o, const char *const *keys, const char *const *values, size_t n) {
	OrtCUDAProviderOptionsV2 *cuda = NULL;
	OrtStatus *s = ORT(CreateCUDAProviderOptions)(&cuda);
	if (s == NULL) {
		s = ORT(UpdateCUDAProviderOptions)(cuda, keys, values, n);
	}
	if (s == NULL) {
		s = ORT(SessionOptionsAppendExecutionProvider_CUDA_V2)(o, cuda);
	}
	if (cuda != NULL) {
		ORT(ReleaseCUDAProviderOptions)(cuda);
	}
	return trt_ort_check(s);
}

trt_ort_error trt_ort_session_open(const char *path, const OrtSessionOptions *o, OrtSession **session) {
	return trt_ort_check(ORT(CreateSession)(trt_ort.env, path, o, session));
}

void trt_ort_session_free(OrtSession *session) { ORT(ReleaseSession)(session); }

trt_ort_error trt_ort_session_count(const OrtSession *session, int32_t which, size_t *n) {
	switch (which) {
	case TRT_ORT_INPUT:
		return trt_ort_check(ORT(SessionGetInputCount)(session, n));
	case TRT_ORT_OUTPUT:
		return trt_ort_check(ORT(SessionGetOutputCount)(session, n));
	}
	return trt_ort_check(ORT(SessionGetOverridableInitializerCount)(session, n));
}

static OrtStatus *name_of(const OrtSession *session, int32_t which, size_t i, char **name) {
	switch (which) {
	case TRT_ORT_INPUT:
		return ORT(SessionGetInputName)(session, i, trt_ort.allocator, name);
	case TRT_ORT_OUTPUT:
		return ORT(SessionGetOutputName)(session, i, trt_ort.allocator, name);
	}
	return ORT(SessionGetOverridableInitializerName)(session, i, trt_ort.allocator, name);
}

static OrtStatus *type_of(const OrtSession *session, int32_t which, size_t i, OrtTypeInfo **type) {
	switch (which) {
	case TRT_ORT_INPUT:
		return ORT(SessionGetInputTypeInfo)(session, i, type);
	case TRT_ORT_OUTPUT:
		return ORT(SessionGetOutputTypeInfo)(session, i, type);
	}
	return ORT(SessionGetOverridableInitializerTypeInfo)(session, i, type);
}

// tensor_info reads type and dimensions. A rank that is too large is left for
// the caller to refuse; its dimensions are not read.
static OrtStatus *tensor_info(const OrtTypeInfo *type, trt_ort_info *info) {
	const OrtTensorTypeAndShapeInfo *tensor = NULL;
	ONNXTensorElementDataType element = 0;
	const char *symbols[TRT_ORT_MAX_RANK] = {0};
	size_t rank = 0;
	OrtStatus *s = ORT(CastTypeInfoToTensorInfo)(type, &tensor);
	if (s != NULL || tensor == NULL) {
		return s;
	}
	if ((s = ORT(GetTensorElementType)(tensor, &element)) != NULL ||
	    (s = ORT(GetDimensionsCount)(tensor, &rank)) != NULL) {
		return s;
	}
	info->type = (int32_t)element;
	info->ranked = ORT(TensorTypeAndShape_HasShape)(tensor);
	info->rank = (int32_t)rank;
	if (rank > TRT_ORT_MAX_RANK) {
		return NULL;
	}
	if ((s = ORT(GetDimensions)(tensor, info->dims, rank)) != NULL ||
	    (s = ORT(GetSymbolicDimensions)(tensor, symbols, rank)) != NULL) {
		return s;
	}
	for (size_t i = 0; i < rank; i++) {
		info->symbols[i] = symbols[i] ? strdup(symbols[i]) : NULL;
	}
	return NULL;
}

trt_ort_error trt_ort_session_info(const OrtSession *session, int32_t which, size_t i, trt_ort_info *info) {
	memset(info, 0, sizeof *info);
	char *name = NULL;
	OrtStatus *s = name_of(session, which, i, &name);
	if (s != NULL) {
		return trt_ort_check(s);
	}
	info->name = strdup(name);
	s = ORT(AllocatorFree)(trt_ort.allocator, name);
	OrtTypeInfo *type = NULL;
	ONNXType kind = 0;
	if (s == NULL) {
		s = type_of(session, which, i, &type);
	}
	if (s == NULL) {
		s = ORT(GetOnnxTypeFromTypeInfo)(type, &kind);
	}
	info->kind = (int32_t)kind;
	if (s == NULL) {
		s = tensor_info(type, info);
	}
	if (type != NULL) {
		ORT(ReleaseTypeInfo)(type);
	}
	return trt_ort_check(s);
}

static uint64_t stat(const OrtKeyValuePairs *stats, const char *key) {
	const char *const *keys = NULL, *const *values = NULL;
	size_t n = 0;
	ORT(GetKeyValuePairs)(stats, &keys, &values, &n);
	for (size_t i = 0; i < n; i++) {
		if (strcmp(keys[i], key) == 0) {
			return strtoull(values[i], NULL, 10);
		}
	}
	return 0;
}

// trt_ort_session_memory reads the statistics of the session's CPU arena; both
// are 0 when it keeps none.
trt_ort_error trt_ort_session_memory(const OrtSession *session, uint64_t *in_use, uint64_t *total) {
	OrtAllocator *arena = NULL;
	OrtKeyValuePairs *stats = NULL;
	OrtStatus *s = ORT(CreateAllocator)(session, trt_ort.cpu, &arena);
	if (s == NULL) {
		s = ORT(AllocatorGetStats)(arena, &stats);
	}
	if (s == NULL) {
		*in_use = stat(stats, "InUse");
		*total = stat(stats, "TotalAllocated");
	}
	if (stats != NULL) {
		ORT(ReleaseKeyValuePairs)(stats);
	}
	if (arena != NULL) {
		ORT(ReleaseAllocator)(arena);
	}
	return trt_ort_check(s);
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
