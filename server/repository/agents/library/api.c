//go:build cgo && linux

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "model.h"

// The functions of the C API that other packages of this program define. The references are
// weak, because cgo links each package alone before it links the program.
#pragma weak TRITONSERVER_ErrorNew
#pragma weak TRITONSERVER_MessageNewFromSerializedJson

static TRITONSERVER_Error *invalid(const char *text) { return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INVALID_ARG, text); }

static TRITONSERVER_Error *no_memory(void) { return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_UNAVAILABLE, "no memory for a repository agent"); }

// REQUIRE returns an error unless the arguments are present.
#define REQUIRE(condition, names) \
	if (!(condition)) { \
		return invalid(names " was nullptr"); \
	}

TRITONSERVER_Error *TRITONREPOAGENT_ApiVersion(uint32_t *major, uint32_t *minor) {
	REQUIRE(major && minor, "major or minor")
	*major = TRITONREPOAGENT_API_VERSION_MAJOR;
	*minor = TRITONREPOAGENT_API_VERSION_MINOR;
	return NULL;
}

TRITONSERVER_Error *TRITONREPOAGENT_ModelRepositoryLocation(TRITONREPOAGENT_Agent *agent, TRITONREPOAGENT_AgentModel *model, TRITONREPOAGENT_ArtifactType *type, const char **location) {
	REQUIRE(model && type && location, "model, artifact_type or location")
	pthread_mutex_lock(&model->lock);
	const char *set = model->location;
	if (set) {
		*type = model->type;
		*location = set;
	}
	pthread_mutex_unlock(&model->lock);
	return set ? NULL : TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INTERNAL, "Model repository location is not set");
}

// acquire makes a directory. The caller has locked the model.
static TRITONSERVER_Error *acquire(TRITONREPOAGENT_AgentModel *model) {
	size_t size = strlen(model->scratch) + 1;
	struct trt_directory *directory = calloc(1, sizeof *directory);
	struct trt_text *text = malloc(sizeof *text + size);
	if (!directory || !text) {
		free(directory);
		free(text);
		return no_memory();
	}
	memcpy(text->bytes, model->scratch, size);
	if (!mkdtemp(text->bytes)) {
		char message[512];
		snprintf(message, sizeof message, "Failed to create local temp folder: %s, errno:%s", model->scratch, strerror(errno));
		free(directory);
		free(text);
		return TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_INTERNAL, message);
	}
	text->next = model->texts;
	model->texts = text;
	directory->path = text->bytes;
	directory->next = model->directories;
	model->directories = directory;
	return NULL;
}

TRITONSERVER_Error *TRITONREPOAGENT_ModelRepositoryLocationAcquire(TRITONREPOAGENT_Agent *agent, TRITONREPOAGENT_AgentModel *model, const TRITONREPOAGENT_ArtifactType type, const char **location) {
	REQUIRE(model && location, "model or location")
	if (type != TRITONREPOAGENT_ARTIFACT_FILESYSTEM) {
		return invalid("Unexpected artifact type, expects 'TRITONREPOAGENT_ARTIFACT_FILESYSTEM'");
	}
	TRITONSERVER_Error *error = NULL;
	pthread_mutex_lock(&model->lock);
	if (!model->directories || model->directories->released) {
		error = acquire(model);
	}
	if (!error) {
		*location = model->directories->path;
	}
	pthread_mutex_unlock(&model->lock);
	return error;
}

// The server removes the directory after the call of the library.
TRITONSERVER_Error *TRITONREPOAGENT_ModelRepositoryLocationRelease(TRITONREPOAGENT_Agent *agent, TRITONREPOAGENT_AgentModel *model, const char *location) {
	REQUIRE(model, "model")
	pthread_mutex_lock(&model->lock);
	int acquired = model->directories && !model->directories->released;
	if (acquired) {
		model->directories->released = 1;
	}
	pthread_mutex_unlock(&model->lock);
	return acquired ? NULL : TRITONSERVER_ErrorNew(TRITONSERVER_ERROR_UNAVAILABLE, "No mutable location to be deleted");
}

static const char *action_name(int action) {
	static const char *const names[] = {
		"TRITONREPOAGENT_ACTION_LOAD", "TRITONREPOAGENT_ACTION_LOAD_COMPLETE", "TRITONREPOAGENT_ACTION_LOAD_FAIL",
		"TRITONREPOAGENT_ACTION_UNLOAD", "TRITONREPOAGENT_ACTION_UNLOAD_COMPLETE",
	};
	return action < 0 ? "not set" : names[action];
}

TRITONSERVER_Error *TRITONREPOAGENT_ModelRepositoryUpdate(TRITONREPOAGENT_Agent *agent, TRITONREPOAGENT_AgentModel *model, const TRITONREPOAGENT_ArtifactType type, const char *location) {
	REQUIRE(model && location, "model or location")
	pthread_mutex_lock(&model->lock);
	int action = model->action;
	pthread_mutex_unlock(&model->lock);
	if (action != TRITONREPOAGENT_ACTION_LOAD) {
		char message[160];
		snprintf(message, sizeof message, "location can only be updated during TRITONREPOAGENT_ACTION_LOAD, current action type is %s", action_name(action));
		return invalid(message);
	}
	return trt_agent_model_locate(model, type, location) ? no_memory() : NULL;
}

TRITONSERVER_Error *TRITONREPOAGENT_ModelParameterCount(TRITONREPOAGENT_Agent *agent, TRITONREPOAGENT_AgentModel *model, uint32_t *count) {
	REQUIRE(model && count, "model or count")
	*count = model->count;
	return NULL;
}

TRITONSERVER_Error *TRITONREPOAGENT_ModelParameter(TRITONREPOAGENT_Agent *agent, TRITONREPOAGENT_AgentModel *model, const uint32_t index, const char **name, const char **value) {
	REQUIRE(model && name && value, "model, parameter_name or parameter_value")
	if (index >= model->count) {
		return invalid("index out of range for model parameters");
	}
	*name = model->parameters[index].name;
	*value = model->parameters[index].value;
	return NULL;
}

TRITONSERVER_Error *TRITONREPOAGENT_ModelConfig(TRITONREPOAGENT_Agent *agent, TRITONREPOAGENT_AgentModel *model, const uint32_t version, TRITONSERVER_Message **config) {
	REQUIRE(model && config, "model or model_config")
	if (version != 1) {
		char message[120];
		snprintf(message, sizeof message, "model configuration version %u not supported, supported versions are: 1", version);
		return invalid(message);
	}
	return TRITONSERVER_MessageNewFromSerializedJson(config, model->config, strlen(model->config));
}

TRITONSERVER_Error *TRITONREPOAGENT_ModelState(TRITONREPOAGENT_AgentModel *model, void **state) {
	REQUIRE(model && state, "model or state")
	pthread_mutex_lock(&model->lock);
	*state = model->state;
	pthread_mutex_unlock(&model->lock);
	return NULL;
}

TRITONSERVER_Error *TRITONREPOAGENT_ModelSetState(TRITONREPOAGENT_AgentModel *model, void *state) {
	REQUIRE(model, "model")
	pthread_mutex_lock(&model->lock);
	model->state = state;
	pthread_mutex_unlock(&model->lock);
	return NULL;
}

TRITONSERVER_Error *TRITONREPOAGENT_State(TRITONREPOAGENT_Agent *agent, void **state) {
	REQUIRE(agent && state, "agent or state")
	pthread_mutex_lock(&agent->lock);
	*state = agent->state;
	pthread_mutex_unlock(&agent->lock);
	return NULL;
}

TRITONSERVER_Error *TRITONREPOAGENT_SetState(TRITONREPOAGENT_Agent *agent, void *state) {
	REQUIRE(agent, "agent")
	pthread_mutex_lock(&agent->lock);
	agent->state = state;
	pthread_mutex_unlock(&agent->lock);
	return NULL;
}
