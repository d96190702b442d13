//go:build cgo && linux

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

#include "driver.h"

// The names in the library, with the versions that CUDA's own header chooses.
static const char *const names[TRT_CUDA_CALLS] = {
    [TRT_CUDA_INIT] = "cuInit",
    [TRT_CUDA_COUNT] = "cuDeviceGetCount",
    [TRT_CUDA_DEVICE] = "cuDeviceGet",
    [TRT_CUDA_RETAIN] = "cuDevicePrimaryCtxRetain",
    [TRT_CUDA_RELEASE] = "cuDevicePrimaryCtxRelease_v2",
    [TRT_CUDA_PUSH] = "cuCtxPushCurrent_v2",
    [TRT_CUDA_POP] = "cuCtxPopCurrent_v2",
    [TRT_CUDA_OPEN] = "cuIpcOpenMemHandle_v2",
    [TRT_CUDA_CLOSE] = "cuIpcCloseMemHandle",
    [TRT_CUDA_RANGE] = "cuMemGetAddressRange_v2",
    [TRT_CUDA_READ] = "cuMemcpyDtoHAsync_v2",
    [TRT_CUDA_WRITE] = "cuMemcpyHtoDAsync_v2",
    [TRT_CUDA_WAIT] = "cuStreamSynchronize",
    [TRT_CUDA_TEXT] = "cuGetErrorString",
    // The first version: a later one tells the part of a GPU that a device is.
    [TRT_CUDA_UUID] = "cuDeviceGetUuid",
    [TRT_CUDA_PCI] = "cuDeviceGetPCIBusId",
    [TRT_CUDA_ALLOC] = "cuMemAlloc_v2",
    [TRT_CUDA_FREE] = "cuMemFree_v2",
    [TRT_CUDA_HANDLE] = "cuIpcGetMemHandle",
};

typedef struct {
	char bytes[64];
} ipc_handle;

// CUDA_ERROR_INVALID_VALUE.
#define INVALID_VALUE 1
// CUDA_ERROR_NOT_FOUND.
#define NOT_FOUND 500
// CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS, the only flag there is.
#define LAZY_PEER_ACCESS 1
// CU_STREAM_PER_THREAD: copies of other threads, and engines, are not waited for.
#define OWN_STREAM ((void *)2)

#define CALL(which, ...) (((int (*)(__VA_ARGS__))api->call[which]))

char *trt_cuda_load(trt_cuda *api, const char *path) {
	void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!lib) return strdup(dlerror());
	for (int i = 0; i < TRT_CUDA_CALLS; i++) {
		void *at = dlsym(lib, names[i]);
		if (!at && i < TRT_CUDA_NEEDED) {
			char *why = strdup(dlerror());
			dlclose(lib);
			return why;
		}
		memcpy(&api->call[i], &at, sizeof at);
	}
	// It stays: the driver has threads of its own once it is started.
	return NULL;
}

int trt_cuda_start(const trt_cuda *api, int *devices) {
	int e = CALL(TRT_CUDA_INIT, unsigned)(0);
	return e ? e : CALL(TRT_CUDA_COUNT, int *)(devices);
}

// enter and leave make a context that of the calling thread, and undo it.
static int enter(const trt_cuda *api, void *context) { return CALL(TRT_CUDA_PUSH, void *)(context); }

static void leave(const trt_cuda *api) {
	void *context;
	CALL(TRT_CUDA_POP, void **)(&context);
}

// attach maps the memory; the context is that of the thread.
static int attach(const trt_cuda *api, const void *handle, trt_cuda_memory *m) {
	ipc_handle h;
	memcpy(&h, handle, sizeof h);
	int e = CALL(TRT_CUDA_OPEN, uint64_t *, ipc_handle, unsigned)(&m->address, h, LAZY_PEER_ACCESS);
	if (e) return e;
	// A small allocation is part of a larger one, and the handle may point into it.
	uint64_t base = 0;
	size_t size = 0;
	e = CALL(TRT_CUDA_RANGE, uint64_t *, size_t *, uint64_t)(&base, &size, m->address);
	if (!e && (m->address < base || m->address - base > size)) e = INVALID_VALUE;
	if (e) {
		CALL(TRT_CUDA_CLOSE, uint64_t)(m->address);
		return e;
	}
	m->size = size - (m->address - base);
	return 0;
}

// allocate allocates memory with its handle; the context is that of the thread.
static int allocate(const trt_cuda *api, void *handle, trt_cuda_memory *m) {
	int e = CALL(TRT_CUDA_ALLOC, uint64_t *, size_t)(&m->address, m->size);
	if (e) return e;
	e = CALL(TRT_CUDA_HANDLE, void *, uint64_t)(handle, m->address);
	if (e) CALL(TRT_CUDA_FREE, uint64_t)(m->address);
	return e;
}

// begin enters the context of a device, whose reference m keeps.
static int begin(const trt_cuda *api, int index, trt_cuda_memory *m) {
	int e = CALL(TRT_CUDA_DEVICE, int *, int)(&m->device, index);
	if (e) return e;
	e = CALL(TRT_CUDA_RETAIN, void **, int)(&m->context, m->device);
	if (e) return e;
	e = enter(api, m->context);
	if (e) CALL(TRT_CUDA_RELEASE, int)(m->device);
	return e;
}

// end leaves the context, and releases it after an error.
static int end(const trt_cuda *api, const trt_cuda_memory *m, int e) {
	leave(api);
	if (e) CALL(TRT_CUDA_RELEASE, int)(m->device);
	return e;
}

int trt_cuda_open(const trt_cuda *api, int index, const void *handle, trt_cuda_memory *m) {
	int e = begin(api, index, m);
	return e ? e : end(api, m, attach(api, handle, m));
}

int trt_cuda_allocate(const trt_cuda *api, int index, uint64_t size, void *handle, trt_cuda_memory *m) {
	if (!api->call[TRT_CUDA_ALLOC] || !api->call[TRT_CUDA_FREE] || !api->call[TRT_CUDA_HANDLE]) return NOT_FOUND;
	m->size = size;
	int e = begin(api, index, m);
	return e ? e : end(api, m, allocate(api, handle, m));
}

int trt_cuda_read(const trt_cuda *api, const trt_cuda_memory *m, void *dst, uint64_t offset, size_t n) {
	int e = enter(api, m->context);
	if (e) return e;
	e = CALL(TRT_CUDA_READ, void *, uint64_t, size_t, void *)(dst, m->address + offset, n, OWN_STREAM);
	if (!e) e = CALL(TRT_CUDA_WAIT, void *)(OWN_STREAM);
	leave(api);
	return e;
}

int trt_cuda_write(const trt_cuda *api, const trt_cuda_memory *m, uint64_t offset, const void *src, size_t n) {
	int e = enter(api, m->context);
	if (e) return e;
	e = CALL(TRT_CUDA_WRITE, uint64_t, const void *, size_t, void *)(m->address + offset, src, n, OWN_STREAM);
	// Without it the bytes may still be on their way when the call returns.
	if (!e) e = CALL(TRT_CUDA_WAIT, void *)(OWN_STREAM);
	leave(api);
	return e;
}

// give_back ends the use of memory by a call of the driver.
static int give_back(const trt_cuda *api, const trt_cuda_memory *m, int call) {
	int e = enter(api, m->context);
	if (!e) {
		e = CALL(call, uint64_t)(m->address);
		leave(api);
	}
	int last = CALL(TRT_CUDA_RELEASE, int)(m->device);
	return e ? e : last;
}

int trt_cuda_close(const trt_cuda *api, const trt_cuda_memory *m) { return give_back(api, m, TRT_CUDA_CLOSE); }

int trt_cuda_free(const trt_cuda *api, const trt_cuda_memory *m) { return give_back(api, m, TRT_CUDA_FREE); }

int trt_cuda_identity(const trt_cuda *api, int index, unsigned char *uuid, char *pci, int pci_size) {
	if (!api->call[TRT_CUDA_UUID] || !api->call[TRT_CUDA_PCI]) return NOT_FOUND;
	int device;
	int e = CALL(TRT_CUDA_DEVICE, int *, int)(&device, index);
	if (!e) e = CALL(TRT_CUDA_UUID, void *, int)(uuid, device);
	if (!e) e = CALL(TRT_CUDA_PCI, char *, int, int)(pci, pci_size, device);
	return e;
}

const char *trt_cuda_text(const trt_cuda *api, int error) {
	const char *text = NULL;
	if (CALL(TRT_CUDA_TEXT, int, const char **)(error, &text)) return NULL;
	return text;
}
