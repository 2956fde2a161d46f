/* console: instances.getSerialPortOutput, one request per machine, concurrently. It can be read
 * whatever serial-port-enable is: that allows interactive sessions. */
#include "gcp/instance.h"

#define KEPT (64 * 1024) /* a negative start counts from the end (its description) */

static rgp_status give_one(const GcpCall *call, const json_t *item, const ModRestAnswer *answer)
{
	const char *address = mod_str(item, "address");
	if (answer->failure.class_ != RGP_CLASS_OK)
		return mod_give_failed(&call->talk, address, NULL, &answer->failure);
	return mod_give(&call->talk, "item",
		json_pack("{s:s, s:s, s:s}", "address", address, "outcome", "done", "text",
			mod_str(answer->body, "contents")));
}

rgp_status gcp_console(const GcpCall *call, const ModKind *any, const json_t *input)
{
	const GcpKind *kind = gcp_kind(any);
	g_autofree char *suffix = g_strdup_printf("/serialPort?port=1&start=-%d", KEPT);
	return gcp_instance_each(
		call, kind, input, "instances.getSerialPortOutput", suffix, give_one);
}
