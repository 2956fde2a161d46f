#include "remote/postgres.h"

static const RgRemoteModule module = {
	.size = sizeof(RgRemoteModule),
	.version = RG_VERSION,
	.open = pg_open,
	.close = pg_close,
	.tables = pg_tables,
	.migrate = pg_migrate,
	.begin = pg_begin,
	.load = pg_load,
	.end = pg_end,
	.ids = pg_ids,
	.commit = pg_commit,
	.lock = pg_lock,
	.holder = pg_holder,
	.look = pg_look,
	.unlock = pg_unlock,
	.mark_moved = pg_mark_moved,
};

__attribute__((visibility("default"))) const void *raygpu_postgres_module(void)
{
	return &module;
}
