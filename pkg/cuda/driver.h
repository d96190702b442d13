// Our own thin layer over the CUDA driver: whole steps, each one call from Go,
// so that the context of a step is that of its thread from beginning to end.
// Nothing here is linked; the library is opened at run time.
#ifndef TRT_CUDA_H
#define TRT_CUDA_H

#include <stddef.h>
#include <stdint.h>

typedef int (*trt_cuda_call)(void);

// The entry points, in the order of their names in driver.c.
enum {
	TRT_CUDA_INIT,
	TRT_CUDA_COUNT,
	TRT_CUDA_DEVICE,
	TRT_CUDA_RETAIN,
	TRT_CUDA_RELEASE,
	TRT_CUDA_PUSH,
	TRT_CUDA_POP,
	TRT_CUDA_OPEN,
	TRT_CUDA_CLOSE,
	TRT_CUDA_RANGE,
	TRT_CUDA_READ,
	TRT_CUDA_WRITE,
	TRT_CUDA_WAIT,
	TRT_CUDA_TEXT,
	TRT_CUDA_NEEDED, // those that follow may be missing
	TRT_CUDA_UUID = TRT_CUDA_NEEDED,
	TRT_CUDA_PCI,
	TRT_CUDA_ALLOC,
	TRT_CUDA_FREE,
	TRT_CUDA_HANDLE,
	TRT_CUDA_CALLS,
};

typedef struct {
	trt_cuda_call call[TRT_CUDA_CALLS];
} trt_cuda;

// Memory of this process or of another one, and the device whose context it is in.
typedef struct {
	int device;
	void *context;
	uint64_t address, size;
} trt_cuda_memory;

// trt_cuda_load opens the library and finds the entry points; NULL, or what is
// missing, for the caller to free.
char *trt_cuda_load(trt_cuda *api, const char *path);

// These answer as the driver does: 0, or the number of an error.
int trt_cuda_start(const trt_cuda *api, int *devices);
int trt_cuda_open(const trt_cuda *api, int index, const void *handle, trt_cuda_memory *m);
int trt_cuda_read(const trt_cuda *api, const trt_cuda_memory *m, void *dst, uint64_t offset, size_t n);
int trt_cuda_write(const trt_cuda *api, const trt_cuda_memory *m, uint64_t offset, const void *src, size_t n);
int trt_cuda_close(const trt_cuda *api, const trt_cuda_memory *m);

// trt_cuda_allocate allocates memory and fills in the 64 bytes of its handle;
// trt_cuda_free frees the memory.
int trt_cuda_allocate(const trt_cuda *api, int index, uint64_t size, void *handle, trt_cuda_memory *m);
int trt_cuda_free(const trt_cuda *api, const trt_cuda_memory *m);

// trt_cuda_identity fills in the 16 bytes of a device's UUID and the text of its
// PCI bus address.
int trt_cuda_identity(const trt_cuda *api, int index, unsigned char *uuid, char *pci, int pci_size);

// trt_cuda_text is the driver's text for an error; NULL when it has none.
const char *trt_cuda_text(const trt_cuda *api, int error);

#endif
