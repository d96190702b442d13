//go:build cgo && linux

// Models and their instances.

#include <stdlib.h>
#include <string.h>

#include "host.h"

TRITONSERVER_Error *TRITONBACKEND_ModelName(TRITONBACKEND_Model *m, const char **name) {
	TRT_CHECK(m, TRT_MODEL, "model");
	*name = m->name;
	return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_ModelVersion(TRITONBACKEND_Model *m, uint64_t *version) {
	TRT_CHECK(m, TRT_MODEL, "model");
	*version = m->version;
	return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_ModelRepository(TRITONBACKEND_Model *m, TRITONBACKEND_ArtifactType *type, const char **location) {
	TRT_CHECK(m, TRT_MODEL, "model");
	*type = TRITONBACKEND_ARTIFACT_FILESYSTEM;
	*location = m->location;
	return NULL;
}

static TRITONSERVER_Error *check_version(uint32_t version) {
	if (version != 1) {
		return trt_fail(TRITONSERVER_ERROR_INVALID_ARG,
			"model configuration version %u not supported, supported versions are: 1", version);
	}
	return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_ModelConfig(TRITONBACKEND_Model *m, const uint32_t version, TRITONSERVER_Message **config) {
	TRT_CHECK(m, TRT_MODEL, "model");
	TRITONSERVER_Error *err = check_version(version);
	if (err != NULL) {
		return err;
	}
	return TRITONSERVER_MessageNewFromSerializedJson(config, m->config, m->config_size);
}

TRITONSERVER_Error *TRITONBACKEND_ModelAutoCompleteConfig(TRITONBACKEND_Model *m, bool *complete) {
	TRT_CHECK(m, TRT_MODEL, "model");
	*complete = m->auto_complete;
	return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_ModelSetConfig(TRITONBACKEND_Model *m, const uint32_t version, TRITONSERVER_Message *config) {
	TRT_CHECK(m, TRT_MODEL, "model");
	TRITONSERVER_Error *err = check_version(version);
	if (err != NULL) {
		return err;
	}
	if (!m->initializing) {
		return trt_fail(TRITONSERVER_ERROR_UNSUPPORTED, "%s: the configuration can be set in TRITONBACKEND_ModelInitialize only", __func__);
	}
	const char *json;
	size_t size;
	err = TRITONSERVER_MessageSerializeToJson(config, &json, &size);
	return err != NULL ? err : trt_go_set_config(m, (char *)json, size);
}

TRITONSERVER_Error *TRITONBACKEND_ModelServer(TRITONBACKEND_Model *m, TRITONSERVER_Server **server) {
	TRT_CHECK(m, TRT_MODEL, "model");
	return trt_go_server(m, server);
}

TRITONSERVER_Error *TRITONBACKEND_ModelBackend(TRITONBACKEND_Model *m, TRITONBACKEND_Backend **backend) {
	TRT_CHECK(m, TRT_MODEL, "model");
	*backend = m->backend;
	return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_ModelState(TRITONBACKEND_Model *m, void **state) {
	TRT_CHECK(m, TRT_MODEL, "model");
	*state = __atomic_load_n(&m->state, __ATOMIC_ACQUIRE);
	return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_ModelSetState(TRITONBACKEND_Model *m, void *state) {
	TRT_CHECK(m, TRT_MODEL, "model");
	__atomic_store_n(&m->state, state, __ATOMIC_RELEASE);
	return NULL;
}

static TRITONSERVER_Error *report(TRITONBACKEND_Model *m, TRITONBACKEND_ModelInstance *i, TRITONSERVER_BufferAttributes **usage, uint32_t count) {
	if (count > 0) {
		TRT_NEED(usage);
	}
	trt_memory *all = calloc((size_t)count + 1, sizeof(*all));
	if (all == NULL) {
		return trt_fail(TRITONSERVER_ERROR_UNAVAILABLE, "no memory for a report of %u entries", count);
	}
	TRITONSERVER_Error *err = NULL;
	for (uint32_t k = 0; k < count && err == NULL; k++) {
		size_t bytes = 0;
		err = TRITONSERVER_BufferAttributesMemoryType(usage[k], &all[k].type);
		if (err == NULL) {
			err = TRITONSERVER_BufferAttributesMemoryTypeId(usage[k], &all[k].id);
		}
		if (err == NULL) {
			err = TRITONSERVER_BufferAttributesByteSize(usage[k], &bytes);
		}
		all[k].bytes = bytes;
	}
	if (err == NULL) {
		trt_go_memory(m, i, all, count);
	}
	free(all);
	return err;
}

TRITONSERVER_Error *TRITONBACKEND_ModelReportMemoryUsage(TRITONBACKEND_Model *m, TRITONSERVER_BufferAttributes **usage, uint32_t count) {
	TRT_CHECK(m, TRT_MODEL, "model");
	return report(m, NULL, usage, count);
}

TRITONSERVER_Error *TRITONBACKEND_ModelInstanceReportMemoryUsage(TRITONBACKEND_ModelInstance *i, TRITONSERVER_BufferAttributes **usage, uint32_t count) {
	TRT_CHECK(i, TRT_INSTANCE, "instance");
	return report(i->model, i, usage, count);
}

TRITONSERVER_Error *TRITONBACKEND_ModelInstanceName(TRITONBACKEND_ModelInstance *i, const char **name) {
	TRT_CHECK(i, TRT_INSTANCE, "instance");
	*name = i->name;
	return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_ModelInstanceKind(TRITONBACKEND_ModelInstance *i, TRITONSERVER_InstanceGroupKind *kind) {
	TRT_CHECK(i, TRT_INSTANCE, "instance");
	*kind = i->device_kind;
	return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_ModelInstanceDeviceId(TRITONBACKEND_ModelInstance *i, int32_t *device) {
	TRT_CHECK(i, TRT_INSTANCE, "instance");
	*device = i->device;
	return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_ModelInstanceHostPolicy(TRITONBACKEND_ModelInstance *i, TRITONSERVER_Message **policy) {
	TRT_CHECK(i, TRT_INSTANCE, "instance");
	*policy = i->host_policy;
	return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_ModelInstanceIsPassive(TRITONBACKEND_ModelInstance *i, bool *passive) {
	TRT_CHECK(i, TRT_INSTANCE, "instance");
	*passive = i->passive;
	return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_ModelInstanceProfileCount(TRITONBACKEND_ModelInstance *i, uint32_t *count) {
	TRT_CHECK(i, TRT_INSTANCE, "instance");
	*count = i->profiles.count;
	return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_ModelInstanceProfileName(TRITONBACKEND_ModelInstance *i, const uint32_t index, const char **name) {
	TRT_CHECK(i, TRT_INSTANCE, "instance");
	*name = NULL;
	if (index >= i->profiles.count) {
		return trt_fail(TRITONSERVER_ERROR_INVALID_ARG,
			"out of bounds index %u: instance is configured with %u profiles", index, i->profiles.count);
	}
	*name = i->profiles.names[index];
	return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_ModelInstanceSecondaryDeviceCount(TRITONBACKEND_ModelInstance *i, uint32_t *count) {
	TRT_CHECK(i, TRT_INSTANCE, "instance");
	*count = i->secondary.count;
	return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_ModelInstanceSecondaryDeviceProperties(TRITONBACKEND_ModelInstance *i, uint32_t index, const char **kind, int64_t *id) {
	TRT_CHECK(i, TRT_INSTANCE, "instance");
	if (index >= i->secondary.count) {
		return trt_fail(TRITONSERVER_ERROR_INVALID_ARG,
			"out of bounds index %u: instance is configured with %u secondary devices", index, i->secondary.count);
	}
	*kind = i->secondary.names[index];
	*id = i->secondary_ids[index];
	return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_ModelInstanceModel(TRITONBACKEND_ModelInstance *i, TRITONBACKEND_Model **model) {
	TRT_CHECK(i, TRT_INSTANCE, "instance");
	*model = i->model;
	return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_ModelInstanceState(TRITONBACKEND_ModelInstance *i, void **state) {
	TRT_CHECK(i, TRT_INSTANCE, "instance");
	*state = __atomic_load_n(&i->state, __ATOMIC_ACQUIRE);
	return NULL;
}

TRITONSERVER_Error *TRITONBACKEND_ModelInstanceSetState(TRITONBACKEND_ModelInstance *i, void *state) {
	TRT_CHECK(i, TRT_INSTANCE, "instance");
	__atomic_store_n(&i->state, state, __ATOMIC_RELEASE);
	return NULL;
}
