/* Sizes and offsets of every struct that crosses the provider ABI, for 64-bit machines: a change
 * here breaks existing modules. Fields may only be appended. */
#include <assert.h>
#include "raygpu/provider.h"

#define AT(type, field, offset)                                                                    \
	static_assert(offsetof(struct type, field) == offset, #type "." #field " moved")
#define SIZE(type, bytes) static_assert(sizeof(struct type) == bytes, #type " has another size")

static_assert(sizeof(void *) == 8, "written for 64-bit machines");
static_assert(RGP_ABI_MAJOR == 1, "another major is another symbol");

AT(rgp_bytes, data, 0);
AT(rgp_bytes, len, 8);
SIZE(rgp_bytes, 16);

AT(rgp_http_req, size, 0);
AT(rgp_http_req, flags, 4);
AT(rgp_http_req, method, 8);
AT(rgp_http_req, url, 16);
AT(rgp_http_req, headers, 24);
AT(rgp_http_req, body, 32);
AT(rgp_http_req, auth, 48);
AT(rgp_http_req, connection, 64);
AT(rgp_http_req, what, 80);
AT(rgp_http_req, timeout_ms, 88);
AT(rgp_http_req, max_tries, 92);
AT(rgp_http_req, classify, 96);
AT(rgp_http_req, classify_data, 104);
SIZE(rgp_http_req, 112);

AT(rgp_http_resp, size, 0);
AT(rgp_http_resp, status, 4);
AT(rgp_http_resp, body, 8);
AT(rgp_http_resp, headers, 24);
AT(rgp_http_resp, skew_s, 40);
AT(rgp_http_resp, tries, 48);
AT(rgp_http_resp, reserved, 52);
SIZE(rgp_http_resp, 56);

AT(rgp_exec_req, size, 0);
AT(rgp_exec_req, flags, 4);
AT(rgp_exec_req, argv, 8);
AT(rgp_exec_req, env, 16);
AT(rgp_exec_req, input, 24);
AT(rgp_exec_req, timeout_ms, 40);
AT(rgp_exec_req, reserved, 44);
SIZE(rgp_exec_req, 48);

AT(rgp_exec_resp, size, 0);
AT(rgp_exec_resp, status, 4);
AT(rgp_exec_resp, output, 8);
AT(rgp_exec_resp, errors, 24);
SIZE(rgp_exec_resp, 40);

AT(rgp_diag, size, 0);
AT(rgp_diag, severity, 4);
AT(rgp_diag, class_, 8);
AT(rgp_diag, reserved, 12);
AT(rgp_diag, summary, 16);
AT(rgp_diag, detail, 24);
AT(rgp_diag, hint, 32);
AT(rgp_diag, code, 40);
AT(rgp_diag, request_id, 48);
AT(rgp_diag, address, 56);
AT(rgp_diag, attribute, 64);
AT(rgp_diag, origin, 72);
SIZE(rgp_diag, 80);

AT(rgp_host, size, 0);
AT(rgp_host, abi_major, 4);
AT(rgp_host, abi_minor, 8);
AT(rgp_host, reserved, 12);
AT(rgp_host, http, 16);
AT(rgp_host, diag, 24);
AT(rgp_host, result, 32);
AT(rgp_host, log, 40);
AT(rgp_host, canceled, 48);
AT(rgp_host, sleep_ms, 56);
AT(rgp_host, env, 64);
AT(rgp_host, read_file, 72);
AT(rgp_host, exec, 80);
AT(rgp_host, secret, 88);
AT(rgp_host, now, 96);
AT(rgp_host, http_all, 104);
AT(rgp_host, write_file, 112);
AT(rgp_host, exec_all, 120);
SIZE(rgp_host, 128);

AT(rgp_args, size, 0);
AT(rgp_args, flags, 4);
AT(rgp_args, input, 8);
AT(rgp_args, content, 24);
SIZE(rgp_args, 40);

AT(rgp_provider, size, 0);
AT(rgp_provider, abi_major, 4);
AT(rgp_provider, abi_minor, 8);
AT(rgp_provider, flags, 12);
AT(rgp_provider, name, 16);
AT(rgp_provider, version, 24);
AT(rgp_provider, schema, 32);
AT(rgp_provider, open, 40);
AT(rgp_provider, close, 48);
AT(rgp_provider, resolve, 56);
AT(rgp_provider, lower, 64);
AT(rgp_provider, list, 72);
AT(rgp_provider, create, 80);
AT(rgp_provider, remove, 88);
AT(rgp_provider, update, 96);
AT(rgp_provider, ready, 104);
AT(rgp_provider, find, 112);
AT(rgp_provider, preflight, 120);
AT(rgp_provider, reveal, 128);
AT(rgp_provider, account, 136);
AT(rgp_provider, console, 144);
AT(rgp_provider, permissions, 152);
AT(rgp_provider, blocks, 160);
AT(rgp_provider, health, 168);
AT(rgp_provider, export_form, 176);
AT(rgp_provider, blob_get, 184);
AT(rgp_provider, blob_put, 192);
AT(rgp_provider, blob_delete, 200);
AT(rgp_provider, blob_list, 208);
AT(rgp_provider, members, 216);
AT(rgp_provider, changing, 224);
SIZE(rgp_provider, 232);

int main(void)
{
	return 0;
}
