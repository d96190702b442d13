// The functions of ONNX Runtime's OrtApi table that we call. The table is a
// struct of function pointers that only ever grows at its end, so a function is
// known by its place in it and by its type. Both are given here, one line per
// function, and api_test.go has the C compiler compare every line with the
// published header.
#ifndef TRT_ORT_API_H
#define TRT_ORT_API_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The version of the table that the last of these functions came with, and the oldest version that
// is served. Functions that came between the two are called only if the table has them.
#define TRT_ORT_API_VERSION 24
#define TRT_ORT_API_OLDEST 17

#ifndef ORT_API_VERSION // not with the published header, which has these itself
typedef struct OrtAllocator OrtAllocator;
typedef struct OrtArenaCfg OrtArenaCfg;
typedef struct OrtCUDAProviderOptionsV2 OrtCUDAProviderOptionsV2;
typedef struct OrtEnv OrtEnv;
typedef struct OrtKeyValuePairs OrtKeyValuePairs;
typedef struct OrtMemoryInfo OrtMemoryInfo;
typedef struct OrtRunOptions OrtRunOptions;
typedef struct OrtSession OrtSession;
typedef struct OrtSessionOptions OrtSessionOptions;
typedef struct OrtStatus OrtStatus;
typedef struct OrtTensorRTProviderOptionsV2 OrtTensorRTProviderOptionsV2;
typedef struct OrtTensorTypeAndShapeInfo OrtTensorTypeAndShapeInfo;
typedef struct OrtThreadingOptions OrtThreadingOptions;
typedef struct OrtTypeInfo OrtTypeInfo;
typedef struct OrtValue OrtValue;

// Threads of pools.
typedef const struct OrtCustomHandleType *OrtCustomThreadHandle;
typedef void (*OrtThreadWorkerFn)(void *);
typedef OrtCustomThreadHandle (*OrtCustomCreateThreadFn)(void *, OrtThreadWorkerFn, void *);
typedef void (*OrtCustomJoinThreadFn)(OrtCustomThreadHandle);

// Enumerations in the published header.
typedef unsigned ExecutionMode;
typedef unsigned GraphOptimizationLevel;
typedef unsigned ONNXTensorElementDataType;
typedef unsigned ONNXType;
typedef unsigned OrtErrorCode;
typedef unsigned OrtLoggingLevel;
typedef int OrtAllocatorType;
typedef int OrtMemType;

typedef struct {
	const void *const *(*GetApi)(uint32_t version);
	const char *(*GetVersionString)(void);
} OrtApiBase;
#endif

// place in the table, result, name, parameters
#define TRT_ORT_FUNCTIONS(F) \
	F(1, OrtErrorCode, GetErrorCode, (const OrtStatus *)) \
	F(2, const char *, GetErrorMessage, (const OrtStatus *)) \
	F(3, OrtStatus *, CreateEnv, (OrtLoggingLevel, const char *, OrtEnv **)) \
	F(7, OrtStatus *, CreateSession, (const OrtEnv *, const char *, const OrtSessionOptions *, OrtSession **)) \
	F(8, OrtStatus *, CreateSessionFromArray, (const OrtEnv *, const void *, size_t, const OrtSessionOptions *, OrtSession **)) \
	F(9, OrtStatus *, Run, (OrtSession *, const OrtRunOptions *, const char * const *, const OrtValue * const *, size_t, const char * const *, size_t, OrtValue **)) \
	F(10, OrtStatus *, CreateSessionOptions, (OrtSessionOptions **)) \
	F(11, OrtStatus *, SetOptimizedModelFilePath, (OrtSessionOptions *, const char *)) \
	F(13, OrtStatus *, SetSessionExecutionMode, (OrtSessionOptions *, ExecutionMode)) \
	F(14, OrtStatus *, EnableProfiling, (OrtSessionOptions *, const char *)) \
	F(16, OrtStatus *, EnableMemPattern, (OrtSessionOptions *)) \
	F(17, OrtStatus *, DisableMemPattern, (OrtSessionOptions *)) \
	F(18, OrtStatus *, EnableCpuMemArena, (OrtSessionOptions *)) \
	F(19, OrtStatus *, DisableCpuMemArena, (OrtSessionOptions *)) \
	F(23, OrtStatus *, SetSessionGraphOptimizationLevel, (OrtSessionOptions *, GraphOptimizationLevel)) \
	F(24, OrtStatus *, SetIntraOpNumThreads, (OrtSessionOptions *, int)) \
	F(25, OrtStatus *, SetInterOpNumThreads, (OrtSessionOptions *, int)) \
	F(30, OrtStatus *, SessionGetInputCount, (const OrtSession *, size_t *)) \
	F(31, OrtStatus *, SessionGetOutputCount, (const OrtSession *, size_t *)) \
	F(32, OrtStatus *, SessionGetOverridableInitializerCount, (const OrtSession *, size_t *)) \
	F(33, OrtStatus *, SessionGetInputTypeInfo, (const OrtSession *, size_t, OrtTypeInfo **)) \
	F(34, OrtStatus *, SessionGetOutputTypeInfo, (const OrtSession *, size_t, OrtTypeInfo **)) \
	F(35, OrtStatus *, SessionGetOverridableInitializerTypeInfo, (const OrtSession *, size_t, OrtTypeInfo **)) \
	F(36, OrtStatus *, SessionGetInputName, (const OrtSession *, size_t, OrtAllocator *, char **)) \
	F(37, OrtStatus *, SessionGetOutputName, (const OrtSession *, size_t, OrtAllocator *, char **)) \
	F(38, OrtStatus *, SessionGetOverridableInitializerName, (const OrtSession *, size_t, OrtAllocator *, char **)) \
	F(39, OrtStatus *, CreateRunOptions, (OrtRunOptions **)) \
	F(41, OrtStatus *, RunOptionsSetRunLogSeverityLevel, (OrtRunOptions *, int)) \
	F(46, OrtStatus *, RunOptionsSetTerminate, (OrtRunOptions *)) \
	F(47, OrtStatus *, RunOptionsUnsetTerminate, (OrtRunOptions *)) \
	F(48, OrtStatus *, CreateTensorAsOrtValue, (OrtAllocator *, const int64_t *, size_t, ONNXTensorElementDataType, OrtValue **)) \
	F(49, OrtStatus *, CreateTensorWithDataAsOrtValue, (const OrtMemoryInfo *, void *, size_t, const int64_t *, size_t, ONNXTensorElementDataType, OrtValue **)) \
	F(51, OrtStatus *, GetTensorMutableData, (OrtValue *, void **)) \
	F(53, OrtStatus *, GetStringTensorDataLength, (const OrtValue *, size_t *)) \
	F(55, OrtStatus *, CastTypeInfoToTensorInfo, (const OrtTypeInfo *, const OrtTensorTypeAndShapeInfo **)) \
	F(56, OrtStatus *, GetOnnxTypeFromTypeInfo, (const OrtTypeInfo *, ONNXType *)) \
	F(60, OrtStatus *, GetTensorElementType, (const OrtTensorTypeAndShapeInfo *, ONNXTensorElementDataType *)) \
	F(61, OrtStatus *, GetDimensionsCount, (const OrtTensorTypeAndShapeInfo *, size_t *)) \
	F(62, OrtStatus *, GetDimensions, (const OrtTensorTypeAndShapeInfo *, int64_t *, size_t)) \
	F(63, OrtStatus *, GetSymbolicDimensions, (const OrtTensorTypeAndShapeInfo *, const char **, size_t)) \
	F(65, OrtStatus *, GetTensorTypeAndShape, (const OrtValue *, OrtTensorTypeAndShapeInfo **)) \
	F(69, OrtStatus *, CreateCpuMemoryInfo, (OrtAllocatorType, OrtMemType, OrtMemoryInfo **)) \
	F(76, OrtStatus *, AllocatorFree, (OrtAllocator *, void *)) \
	F(78, OrtStatus *, GetAllocatorWithDefaultOptions, (OrtAllocator **)) \
	F(93, void, ReleaseStatus, (OrtStatus *)) \
	F(95, void, ReleaseSession, (OrtSession *)) \
	F(96, void, ReleaseValue, (OrtValue *)) \
	F(97, void, ReleaseRunOptions, (OrtRunOptions *)) \
	F(98, void, ReleaseTypeInfo, (OrtTypeInfo *)) \
	F(99, void, ReleaseTensorTypeAndShapeInfo, (OrtTensorTypeAndShapeInfo *)) \
	F(100, void, ReleaseSessionOptions, (OrtSessionOptions *)) \
	F(110, OrtStatus *, SessionEndProfiling, (OrtSession *, OrtAllocator *, char **)) \
	F(119, OrtStatus *, CreateEnvWithGlobalThreadPools, (OrtLoggingLevel, const char *, const OrtThreadingOptions *, OrtEnv **)) \
	F(120, OrtStatus *, DisablePerSessionThreads, (OrtSessionOptions *)) \
	F(121, OrtStatus *, CreateThreadingOptions, (OrtThreadingOptions **)) \
	F(122, void, ReleaseThreadingOptions, (OrtThreadingOptions *)) \
	F(125, OrtStatus *, GetAvailableProviders, (char ***, int *)) \
	F(126, OrtStatus *, ReleaseAvailableProviders, (char **, int)) \
	F(127, OrtStatus *, GetStringTensorElementLength, (const OrtValue *, size_t, size_t *)) \
	F(128, OrtStatus *, GetStringTensorElement, (const OrtValue *, size_t, size_t, void *)) \
	F(130, OrtStatus *, AddSessionConfigEntry, (OrtSessionOptions *, const char *, const char *)) \
	F(131, OrtStatus *, CreateAllocator, (const OrtSession *, const OrtMemoryInfo *, OrtAllocator **)) \
	F(132, void, ReleaseAllocator, (OrtAllocator *)) \
	F(144, OrtStatus *, CreateAndRegisterAllocator, (OrtEnv *, const OrtMemoryInfo *, const OrtArenaCfg *)) \
	F(147, OrtStatus *, SetGlobalIntraOpNumThreads, (OrtThreadingOptions *, int)) \
	F(148, OrtStatus *, SetGlobalInterOpNumThreads, (OrtThreadingOptions *, int)) \
	F(157, void, ReleaseArenaCfg, (OrtArenaCfg *)) \
	F(164, OrtStatus *, CreateArenaCfgV2, (const char * const *, const size_t *, size_t, OrtArenaCfg **)) \
	F(165, OrtStatus *, AddRunConfigEntry, (OrtRunOptions *, const char *, const char *)) \
	F(170, OrtStatus *, SessionOptionsAppendExecutionProvider_TensorRT_V2, (OrtSessionOptions *, const OrtTensorRTProviderOptionsV2 *)) \
	F(171, OrtStatus *, CreateTensorRTProviderOptions, (OrtTensorRTProviderOptionsV2 **)) \
	F(172, OrtStatus *, UpdateTensorRTProviderOptions, (OrtTensorRTProviderOptionsV2 *, const char * const *, const char * const *, size_t)) \
	F(174, void, ReleaseTensorRTProviderOptions, (OrtTensorRTProviderOptionsV2 *)) \
	F(196, OrtStatus *, SessionOptionsSetCustomCreateThreadFn, (OrtSessionOptions *, OrtCustomCreateThreadFn)) \
	F(197, OrtStatus *, SessionOptionsSetCustomThreadCreationOptions, (OrtSessionOptions *, void *)) \
	F(198, OrtStatus *, SessionOptionsSetCustomJoinThreadFn, (OrtSessionOptions *, OrtCustomJoinThreadFn)) \
	F(204, OrtStatus *, SessionOptionsAppendExecutionProvider_CUDA_V2, (OrtSessionOptions *, const OrtCUDAProviderOptionsV2 *)) \
	F(205, OrtStatus *, CreateCUDAProviderOptions, (OrtCUDAProviderOptionsV2 **)) \
	F(206, OrtStatus *, UpdateCUDAProviderOptions, (OrtCUDAProviderOptionsV2 *, const char * const *, const char * const *, size_t)) \
	F(208, void, ReleaseCUDAProviderOptions, (OrtCUDAProviderOptionsV2 *)) \
	F(216, OrtStatus *, SessionOptionsAppendExecutionProvider, (OrtSessionOptions *, const char *, const char * const *, const char * const *, size_t)) \
	F(228, OrtStatus *, RegisterCustomOpsLibrary_V2, (OrtSessionOptions *, const char *)) \
	F(252, OrtStatus *, GetResizedStringTensorElementBuffer, (OrtValue *, size_t, size_t, char **)) \
	F(275, OrtStatus *, SessionOptionsAppendExecutionProvider_OpenVINO_V2, (OrtSessionOptions *, const char * const *, const char * const *, size_t)) \
	F(298, void, GetKeyValuePairs, (const OrtKeyValuePairs *, const char * const **, const char * const **, size_t *)) \
	F(300, void, ReleaseKeyValuePairs, (OrtKeyValuePairs *)) \
	F(318, OrtStatus *, GetTensorSizeInBytes, (const OrtValue *, size_t *)) \
	F(319, OrtStatus *, AllocatorGetStats, (const OrtAllocator *, OrtKeyValuePairs **)) \
	F(390, bool, TensorTypeAndShape_HasShape, (const OrtTensorTypeAndShapeInfo *)) \
	F(414, OrtStatus *, GetTensorElementTypeAndShapeDataReference, (const OrtValue *, ONNXTensorElementDataType *, const int64_t **, size_t *))

#define TRT_ORT_DECLARE(place, result, name, parameters) \
	enum { trt_ort_at_##name = place };              \
	typedef result(*trt_ort_fn_##name) parameters;
TRT_ORT_FUNCTIONS(TRT_ORT_DECLARE)
#undef TRT_ORT_DECLARE

#endif
