//go:build cgo && linux

#include <string.h>

#include "model.h"

#pragma weak TRITONSERVER_ErrorCode
#pragma weak TRITONSERVER_ErrorMessage
#pragma weak TRITONSERVER_ErrorDelete

typedef TRITONSERVER_Error *(*agent_function)(TRITONREPOAGENT_Agent *);
typedef TRITONSERVER_Error *(*model_function)(TRITONREPOAGENT_Agent *, TRITONREPOAGENT_AgentModel *);
typedef TRITONSERVER_Error *(*action_function)(TRITONREPOAGENT_Agent *, TRITONREPOAGENT_AgentModel *, const TRITONREPOAGENT_ActionType);

// outcome takes over the error of a library.
static int outcome(TRITONSERVER_Error *error, int *code, char **message) {
	if (!error) {
		return 0;
	}
	const char *text = TRITONSERVER_ErrorMessage(error);
	*code = TRITONSERVER_ErrorCode(error);
	*message = strdup(text ? text : "");
	TRITONSERVER_ErrorDelete(error);
	return 1;
}

static int call_agent(void *function, TRITONREPOAGENT_Agent *agent, int *code, char **message) {
	return function ? outcome(((agent_function)function)(agent), code, message) : 0;
}

static int call_model(void *function, TRITONREPOAGENT_Agent *agent, TRITONREPOAGENT_AgentModel *model, int *code, char **message) {
	return function ? outcome(((model_function)function)(agent, model), code, message) : 0;
}

int trt_agent_initialize(TRITONREPOAGENT_Agent *agent, int *code, char **message) {
	return call_agent(agent->functions.initialize, agent, code, message);
}

int trt_agent_finalize(TRITONREPOAGENT_Agent *agent, int *code, char **message) {
	return call_agent(agent->functions.finalize, agent, code, message);
}

int trt_agent_model_initialize(TRITONREPOAGENT_Agent *agent, TRITONREPOAGENT_AgentModel *model, int *code, char **message) {
	return call_model(agent->functions.model_initialize, agent, model, code, message);
}

int trt_agent_model_finalize(TRITONREPOAGENT_Agent *agent, TRITONREPOAGENT_AgentModel *model, int *code, char **message) {
	return call_model(agent->functions.model_finalize, agent, model, code, message);
}

int trt_agent_model_action(TRITONREPOAGENT_Agent *agent, TRITONREPOAGENT_AgentModel *model, int action, int *code, char **message) {
	pthread_mutex_lock(&model->lock);
	model->action = action;
	pthread_mutex_unlock(&model->lock);
	return outcome(((action_function)agent->functions.model_action)(agent, model, action), code, message);
}
