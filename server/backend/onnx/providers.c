//go:build cgo && (linux || darwin)

#include "ort.h"

static OrtStatus *cuda(const trt_ort_library *lib, OrtSessionOptions *o, const char *const *keys, const char *const *values, size_t n) {
	OrtCUDAProviderOptionsV2 *options = NULL;
	OrtStatus *s = ORT(lib, CreateCUDAProviderOptions)(&options);
	if (s == NULL) {
		s = ORT(lib, UpdateCUDAProviderOptions)(options, keys, values, n);
	}
	if (s == NULL) {
		s = ORT(lib, SessionOptionsAppendExecutionProvider_CUDA_V2)(o, options);
	}
	if (options != NULL) {
		ORT(lib, ReleaseCUDAProviderOptions)(options);
	}
	return s;
}

static OrtStatus *tensorrt(const trt_ort_library *lib, OrtSessionOptions *o, const char *const *keys, const char *const *values, size_t n) {
	OrtTensorRTProviderOptionsV2 *options = NULL;
	OrtStatus *s = ORT(lib, CreateTensorRTProviderOptions)(&options);
	if (s == NULL) {
		s = ORT(lib, UpdateTensorRTProviderOptions)(options, keys, values, n);
	}
	if (s == NULL) {
		s = ORT(lib, SessionOptionsAppendExecutionProvider_TensorRT_V2)(o, options);
	}
	if (options != NULL) {
		ORT(lib, ReleaseTensorRTProviderOptions)(options);
	}
	return s;
}

trt_ort_error trt_ort_options_provider(const trt_ort_library *lib, OrtSessionOptions *o, int32_t which, const char *name,
                                       const char *const *keys, const char *const *values, size_t n) {
	switch (which) {
	case TRT_ORT_CUDA:
		return trt_ort_check(lib, cuda(lib, o, keys, values, n));
	case TRT_ORT_TENSORRT:
		return trt_ort_check(lib, tensorrt(lib, o, keys, values, n));
	case TRT_ORT_OPENVINO:
		return trt_ort_check(lib, ORT(lib, SessionOptionsAppendExecutionProvider_OpenVINO_V2)(o, keys, values, n));
	}
	return trt_ort_check(lib, ORT(lib, SessionOptionsAppendExecutionProvider)(o, name, keys, values, n));
}
