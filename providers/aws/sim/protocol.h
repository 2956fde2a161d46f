/* The three protocols on one port: EC2's and STS's query forms, SSM's JSON 1.1. From the HTTP
 * request to a tree of parameters, and from an outcome to the reply's text. Pure. */
#pragma once
#include "sim/core/call.h"
#include "sim/core/dispatch.h"

/* By the target header or the form's Version; EC2 when nothing says otherwise. */
RgSimService rg_sim_protocol_service(const RgSimRequest *request, const json_t *params);
/* The parameters as params.h has them, the action's name and version among them. NULL and *problem
 * (g_free) when the body is not well-formed. */
json_t *rg_sim_protocol_parse(const RgSimRequest *request, char **problem);
const char *rg_sim_protocol_type(RgSimService service);
/* The reply to an action that `call` carried out; `call->body` holds its members. */
void rg_sim_protocol_success(const RgSimCall *call, const char *request_id, GString *out);
void rg_sim_protocol_error(RgSimService service, int status, const char *code, const char *message,
	const char *request_id, GString *out);
