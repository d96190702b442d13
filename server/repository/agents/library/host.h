// What the server gives to the library of a repository agent, and how it calls the library. Only
// these types and functions cross between Go and C.
#pragma once

#include "triton/core/tritonrepoagent.h"

// The functions of a library; NULL: it does not have the function.
struct trt_agent_functions {
	void *initialize, *finalize, *model_initialize, *model_finalize, *model_action;
};

// trt_agent_new returns NULL without memory.
TRITONREPOAGENT_Agent *trt_agent_new(struct trt_agent_functions functions);
void trt_agent_delete(TRITONREPOAGENT_Agent *agent);

// trt_agent_model_new returns a model without a location; NULL without memory. All texts are copied.
// scratch is the template of the names of the directories that it may acquire.
TRITONREPOAGENT_AgentModel *trt_agent_model_new(const char *config, const char *scratch);
int trt_agent_model_locate(TRITONREPOAGENT_AgentModel *model, int type, const char *location);
int trt_agent_model_parameter(TRITONREPOAGENT_AgentModel *model, const char *name, const char *value);
void trt_agent_model_delete(TRITONREPOAGENT_AgentModel *model);

// trt_agent_model_location returns a copy of the location, which the caller frees.
char *trt_agent_model_location(TRITONREPOAGENT_AgentModel *model, int *type);

// trt_agent_model_discarded returns a directory that the library has released and that is to be
// removed, which the caller frees; NULL if there is none. With all, those that it has not released
// count too.
char *trt_agent_model_discarded(TRITONREPOAGENT_AgentModel *model, int all);

// These call the library. They return 0, or 1 and an error whose message the caller frees.
int trt_agent_initialize(TRITONREPOAGENT_Agent *agent, int *code, char **message);
int trt_agent_finalize(TRITONREPOAGENT_Agent *agent, int *code, char **message);
int trt_agent_model_initialize(TRITONREPOAGENT_Agent *agent, TRITONREPOAGENT_AgentModel *model, int *code, char **message);
int trt_agent_model_finalize(TRITONREPOAGENT_Agent *agent, TRITONREPOAGENT_AgentModel *model, int *code, char **message);
int trt_agent_model_action(TRITONREPOAGENT_Agent *agent, TRITONREPOAGENT_AgentModel *model, int action, int *code, char **message);
