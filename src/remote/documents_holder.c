/* The lock as JSON: who holds it. */
#include "remote/documents.h"

json_t *doc_holder_json(const RgHolder *holder, const char *id, unsigned ttl_s)
{
	g_autofree char *here = rg_object_machine();
	return json_pack("{s:i, s:s, s:s*, s:s*, s:s*, s:s*, s:s*, s:I, s:I, s:i}", "format",
		DOC_FORMAT, "id", id, "user", holder->user, "host", holder->host, "command",
		holder->command, "job", holder->job, "machine", here, "pid",
		(json_int_t)holder->pid, "started_s", (json_int_t)holder->started_s, "ttl_s",
		(int)ttl_s);
}

json_t *doc_holder_free(void)
{
	return json_pack("{s:i}", "format", DOC_FORMAT);
}

bool doc_holder_is_free(const json_t *lock)
{
	return !rg_json_str(lock, "id", NULL);
}

bool doc_holder_has_expired(const json_t *lock, int64_t age_s)
{
	int64_t ttl_s = rg_json_int(lock, "ttl_s", -1);
	return ttl_s >= 0 && age_s >= 0 && age_s > ttl_s;
}
