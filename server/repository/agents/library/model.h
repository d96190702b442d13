// The structs behind the opaque types of the API of repository agents.
#pragma once

#include <pthread.h>

#include "host.h"

struct TRITONREPOAGENT_Agent {
	pthread_mutex_t lock;
	struct trt_agent_functions functions;
	void *state;
};

// A text of a model. The library may keep its address, so that it is freed with the model.
struct trt_text {
	struct trt_text *next;
	char bytes[];
};

struct trt_parameter {
	const char *name, *value;
};

// A directory that the library has acquired.
struct trt_directory {
	struct trt_directory *next;
	const char *path;
	int released, removed;
};

struct TRITONREPOAGENT_AgentModel {
	pthread_mutex_t lock; // a library may use a model from threads of its own
	struct trt_text *texts;
	int type;
	const char *location; // NULL: not set
	const char *config, *scratch;
	uint32_t count;
	struct trt_parameter *parameters;
	struct trt_directory *directories; // the last one first
	int action;                        // -1: none was begun
	void *state;
};
