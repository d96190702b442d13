// NVIDIA's management library without a GPU: two devices that are idle, with the identities of
// pkg/cuda/testdata/fake.c. It answers what `triton` asks on a machine with whole GPUs; every other
// function is missing, as it is in an old driver.
#include <stdio.h>
#include <string.h>

#include "nvml.h"

#define DEVICES 2
#define GIB (1ull << 30)

static int index_of(nvmlDevice_t d) { return (int)(long)d.handle - 1; }

static nvmlReturn_t text(char *to, unsigned size, const char *from) {
	return snprintf(to, size, "%s", from) < (int)size ? NVML_SUCCESS : NVML_ERROR_INSUFFICIENT_SIZE;
}

nvmlReturn_t nvmlInit_v2(void) { return NVML_SUCCESS; }
nvmlReturn_t nvmlInitWithFlags(unsigned flags) { return NVML_SUCCESS; }
nvmlReturn_t nvmlShutdown(void) { return NVML_SUCCESS; }
const char *nvmlErrorString(nvmlReturn_t r) { return r ? "the stand-in of NVML lacks this" : "Success"; }
nvmlReturn_t nvmlSystemGetDriverVersion(char *v, unsigned n) { return text(v, n, "580.0.0"); }
nvmlReturn_t nvmlSystemGetNVMLVersion(char *v, unsigned n) { return text(v, n, "13.580.0.0"); }
nvmlReturn_t nvmlSystemGetCudaDriverVersion_v2(int *v) {
	*v = 13000;
	return NVML_SUCCESS;
}
nvmlReturn_t nvmlSystemGetProcessName(unsigned pid, char *name, unsigned n) { return NVML_ERROR_NOT_FOUND; }

nvmlReturn_t nvmlDeviceGetCount_v2(unsigned *n) {
	*n = DEVICES;
	return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetHandleByIndex_v2(unsigned i, nvmlDevice_t *d) {
	if (i >= DEVICES) return NVML_ERROR_INVALID_ARGUMENT;
	d->handle = (void *)(long)(i + 1);
	return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetName(nvmlDevice_t d, char *name, unsigned n) { return text(name, n, "NVIDIA Stand-in"); }
nvmlReturn_t nvmlDeviceGetUUID(nvmlDevice_t d, char *uuid, unsigned n) {
	return text(uuid, n, index_of(d) ? "GPU-b0b1b2b3-b4b5-b6b7-b8b9-babbbcbdbebf" : "GPU-a0a1a2a3-a4a5-a6a7-a8a9-aaabacadaeaf");
}
nvmlReturn_t nvmlDeviceGetPciInfo_v3(nvmlDevice_t d, nvmlPciInfo_t *p) {
	memset(p, 0, sizeof *p);
	p->bus = 0x65 + index_of(d);
	snprintf(p->busId, sizeof p->busId, "00000000:%02X:00.0", p->bus);
	return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetCudaComputeCapability(nvmlDevice_t d, int *major, int *minor) {
	*major = 9, *minor = 0;
	return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetComputeMode(nvmlDevice_t d, nvmlComputeMode_t *m) {
	*m = NVML_COMPUTEMODE_DEFAULT;
	return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetPersistenceMode(nvmlDevice_t d, nvmlEnableState_t *m) {
	*m = NVML_FEATURE_ENABLED;
	return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetMemoryInfo(nvmlDevice_t d, nvmlMemory_t *m) {
	*m = (nvmlMemory_t){.total = 80 * GIB, .free = 79 * GIB, .used = GIB};
	return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetMemoryInfo_v2(nvmlDevice_t d, nvmlMemory_v2_t *m) {
	*m = (nvmlMemory_v2_t){.version = m->version, .total = 80 * GIB, .reserved = GIB / 2, .free = 79 * GIB, .used = GIB / 2};
	return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetComputeRunningProcesses_v3(nvmlDevice_t d, unsigned *n, nvmlProcessInfo_t *p) {
	*n = 0;
	return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetUtilizationRates(nvmlDevice_t d, nvmlUtilization_t *u) {
	*u = (nvmlUtilization_t){0};
	return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetPowerUsage(nvmlDevice_t d, unsigned *milliwatts) {
	*milliwatts = 75000;
	return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetEnforcedPowerLimit(nvmlDevice_t d, unsigned *milliwatts) {
	*milliwatts = 700000;
	return NVML_SUCCESS;
}
nvmlReturn_t nvmlDeviceGetTotalEnergyConsumption(nvmlDevice_t d, unsigned long long *millijoules) {
	*millijoules = 1000;
	return NVML_SUCCESS;
}
