/* A module's own embedded files: schema.json and tables. */
#pragma once
#include "base/embedded.h"
#include "common/talk.h"

/* They always exist: the names are fixed at build time. */
const struct rg_embedded *mod_data_find(const struct rg_embedded *files, const char *name);
/* mod_ptr_foreach (ModField, row, rows): the fields of each row. */
typedef char *ModField;
/* The rows (GStrv) of a table: one per line after the header, those with at least `least` fields.
 * No field has quotes; the last of `most` (-1: any number) may have commas. */
GPtrArray *mod_rows(const char *csv, guint least, gint most);

/* MOD_DATA(aws) defines aws_data_find(name), of the files that embed.py wrote. */
#define MOD_DATA(word)                                                                             \
	extern const struct rg_embedded word##_module_files[];                                     \
	static inline const struct rg_embedded *word##_data_find(const char *name)                 \
	{                                                                                          \
		return mod_data_find(word##_module_files, name);                                   \
	}

/* MOD_SCHEMA(aws) defines call_schema for the module's table. */
#define MOD_SCHEMA(word)                                                                           \
	static rgp_status call_schema(const struct rgp_host *host, struct rgp_call *call)          \
	{                                                                                          \
		const struct rg_embedded *schema = word##_data_find("schema.json");                \
		return host->result(                                                               \
			call, "schema", (struct rgp_bytes){schema->data, schema->len});            \
	}
