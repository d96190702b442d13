//go:build cgo && linux

#include "model.h"

#include <stdlib.h>
#include <string.h>

TRITONREPOAGENT_Agent *trt_agent_new(struct trt_agent_functions functions) {
	TRITONREPOAGENT_Agent *agent = calloc(1, sizeof *agent);
	if (agent) {
		pthread_mutex_init(&agent->lock, NULL);
		agent->functions = functions;
	}
	return agent;
}

void trt_agent_delete(TRITONREPOAGENT_Agent *agent) {
	pthread_mutex_destroy(&agent->lock);
	free(agent);
}

// keep returns a copy of a text that lives as long as the model; NULL without memory.
static const char *keep(TRITONREPOAGENT_AgentModel *model, const char *bytes) {
	size_t size = strlen(bytes) + 1;
	struct trt_text *text = malloc(sizeof *text + size);
	if (!text) {
		return NULL;
	}
	memcpy(text->bytes, bytes, size);
	text->next = model->texts;
	model->texts = text;
	return text->bytes;
}

TRITONREPOAGENT_AgentModel *trt_agent_model_new(const char *config, const char *scratch) {
	TRITONREPOAGENT_AgentModel *model = calloc(1, sizeof *model);
	if (!model) {
		return NULL;
	}
	pthread_mutex_init(&model->lock, NULL);
	model->action = -1;
	model->config = keep(model, config);
	model->scratch = keep(model, scratch);
	if (!model->config || !model->scratch) {
		trt_agent_model_delete(model);
		return NULL;
	}
	return model;
}

int trt_agent_model_locate(TRITONREPOAGENT_AgentModel *model, int type, const char *location) {
	pthread_mutex_lock(&model->lock);
	const char *kept = keep(model, location);
	if (kept) {
		model->type = type;
		model->location = kept;
	}
	pthread_mutex_unlock(&model->lock);
	return kept ? 0 : 1;
}

int trt_agent_model_parameter(TRITONREPOAGENT_AgentModel *model, const char *name, const char *value) {
	struct trt_parameter *larger = realloc(model->parameters, (model->count + 1) * sizeof *larger);
	if (!larger) {
		return 1;
	}
	model->parameters = larger;
	struct trt_parameter parameter = {keep(model, name), keep(model, value)};
	if (!parameter.name || !parameter.value) {
		return 1;
	}
	model->parameters[model->count++] = parameter;
	return 0;
}

void trt_agent_model_delete(TRITONREPOAGENT_AgentModel *model) {
	while (model->texts) {
		struct trt_text *text = model->texts;
		model->texts = text->next;
		free(text);
	}
	while (model->directories) {
		struct trt_directory *directory = model->directories;
		model->directories = directory->next;
		free(directory);
	}
	free(model->parameters);
	pthread_mutex_destroy(&model->lock);
	free(model);
}

char *trt_agent_model_location(TRITONREPOAGENT_AgentModel *model, int *type) {
	pthread_mutex_lock(&model->lock);
	*type = model->type;
	char *copy = strdup(model->location ? model->location : "");
	pthread_mutex_unlock(&model->lock);
	return copy;
}

char *trt_agent_model_discarded(TRITONREPOAGENT_AgentModel *model, int all) {
	char *path = NULL;
	pthread_mutex_lock(&model->lock);
	for (struct trt_directory *d = model->directories; d && !path; d = d->next) {
		if ((d->released || all) && !d->removed) {
			d->removed = 1;
			path = strdup(d->path);
		}
	}
	pthread_mutex_unlock(&model->lock);
	return path;
}
