/* Questions of resolve and blocks, which are sent together. */
#include "aws/resolve.h"

void aws_question_free(gpointer data)
{
	AwsQuestion *question = data;
	json_decref(question->pages.params);
	json_decref(question->records);
	g_free(question);
}

AwsQuestion *aws_ask(GPtrArray *questions, const char *action, const AwsShape *shape,
	json_t *params, const char *origin)
{
	AwsQuestion *question = g_new0(AwsQuestion, 1);
	question->records = json_array();
	question->pages = (Ec2Pages){
		.request = {.action = action,
			.shape = shape,
			.record = ec2_collect,
			.data = question->records},
		.params = params,
		.origin = origin && *origin ? origin : NULL,
	};
	g_ptr_array_add(questions, question);
	return question;
}
