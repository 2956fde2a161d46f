/* The console of a node: never refused; the results are valid text, within their limits. */
#include "fuzz.h"
#include "ready/console.h"
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	g_autofree char *text = g_strndup((const char *)data, size);
	g_autoptr(RgConsole) console = rg_console_parse(text);
	g_assert_nonnull(rg_node_state_name(console->state));
	g_assert_cmpuint(console->tail->len, <=, 10);
	for (guint i = 0; i < console->tail->len; i++) {
		g_assert_true(g_utf8_validate(console->tail->pdata[i], -1, NULL));
		g_assert_cmpuint(strlen(console->tail->pdata[i]), <=, 200);
	}
	g_assert_true(!console->reason == !console->failed_step);
	g_assert_true(console->state != RG_NODE_FAILED || console->reason);
	if (console->roster)
		rg_roster_find(console->roster, text);
	return 0;
}
