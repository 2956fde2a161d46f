/* list and find of instances: their pages, passed on one by one, and the boot disks of all. */
#include <string.h>
#include "gcp/instance.h"

#define DISK_FIELDS "name,type,sizeGb,sourceImage"
/* What the links to types, disks, images and networks begin with: a seventh of a page. */
#define LINK "https://www.googleapis.com/compute/v1/"

/* ---- pages of all zones */

typedef struct {
	const GcpCall *call;
	const char *collection; /* "instances" */
	GcpZoneSink list;
	void *data;
} Pages;

static bool is_of_region(const GcpCall *call, const char *zone)
{
	size_t length = strlen(call->inst->region);
	return g_str_has_prefix(zone, call->inst->region) && zone[length] == '-';
}

static rgp_status unreachable(const GcpCall *call, const char *zone)
{
	g_autofree char *summary =
		g_strdup_printf("Compute Engine cannot list zone %s at the moment", zone);
	mod_report_text(&call->talk, RGP_CLASS_TRANSIENT, summary, NULL, "try again later");
	return RGP_FAIL;
}

/* A zone of another region that cannot be read does not matter. */
static rgp_status on_page(void *data, const json_t *body)
{
	const Pages *pages = data;
	mod_foreach (missing, json_object_get(body, "unreachables")) {
		const char *zone =
			gcp_last_of(json_string_value(missing) ? json_string_value(missing) : "");
		if (is_of_region(pages->call, zone))
			return unreachable(pages->call, zone);
	}
	mod_foreach_member (scope, part, json_object_get(body, "items")) {
		const char *zone = gcp_last_of(scope);
		const char *warning = mod_str(json_object_get(part, "warning"), "code");
		const json_t *list = json_object_get(part, pages->collection);
		rgp_status status = RGP_OK;
		if (!is_of_region(pages->call, zone))
			continue;
		if (g_str_equal(warning, "UNREACHABLE"))
			return unreachable(pages->call, zone);
		if (json_array_size(list))
			status = pages->list(pages->data, scope, list);
		if (status != RGP_OK)
			return status;
	}
	return RGP_OK;
}

static rgp_status list_all(const Pages *pages, const char *fields, const char *filter)
{
	const GcpCall *call = pages->call;
	const char *project = gcp_project(call), *collection = pages->collection;
	g_autofree char *escaped = gcp_escape(filter);
	g_autofree char *what = g_strconcat(collection, ".aggregatedList", NULL);
	if (!project)
		return RGP_FAIL;
	g_autofree char *url =
		g_strdup_printf("projects/%s/aggregated/%s?filter=%s&maxResults=500"
				"&returnPartialSuccess=true&prettyPrint=false&fields="
				"kind,items/*/%s(%s),items/*/warning(code),nextPageToken,"
				"unreachables",
			project, collection, escaped, collection, fields);
	ModRestRequest request = gcp_get(call, what, url);
	request.elided = LINK;
	return gcp_pages(call, &request, on_page, (void *)(uintptr_t)pages);
}

rgp_status gcp_list_zones(const GcpCall *call, const char *collection, const char *fields,
	const char *filter, GcpZoneSink list, void *data)
{
	const Pages pages = {call, collection, list, data};
	return list_all(&pages, fields, filter);
}

/* ---- disks */

typedef struct {
	const GcpCall *call;
	const char *filter;
	GcpSink sink;
	void *data;
	GHashTable *kinds; /* "TYPE IMAGE SIZE" -> GcpDisk: most are alike */
	GHashTable *disks; /* "zones/us-central1-a/disks/NAME" -> one of these */
	bool has_disks;	   /* they were listed */
	json_t *others;	   /* instances whose disk the list does not have */
	/* of the previous instance */
	json_t *record;
	const GcpDisk *disk;
	GcpSeen seen;
} Scan;

static void disk_free(gpointer data)
{
	GcpDisk *disk = data;
	g_free(disk->image);
	g_free(disk->type);
	g_free(disk);
}

static Scan scan_new(const GcpCall *call, const char *filter, GcpSink sink, void *data)
{
	return (Scan){.call = call,
		.filter = filter,
		.sink = sink,
		.data = data,
		.kinds = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, disk_free),
		.disks = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL),
		.others = json_array()};
}

static void scan_clear(Scan *scan)
{
	gcp_seen_clear(&scan->seen);
	json_decref(scan->record);
	json_decref(scan->others);
	g_hash_table_unref(scan->disks);
	g_hash_table_unref(scan->kinds);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Scan, scan_clear)

/* Steals the place. */
static void keep_disk(Scan *scan, char *place, const json_t *record)
{
	const char *type = gcp_last_of(mod_str(record, "type"));
	const char *image = gcp_path_of(mod_str(record, "sourceImage"));
	const char *size = mod_str(record, "sizeGb");
	g_autofree char *text = g_strjoin(" ", type, image, size, NULL);
	GcpDisk *disk = g_hash_table_lookup(scan->kinds, text);
	if (!disk) {
		disk = g_new(GcpDisk, 1);
		*disk = (GcpDisk){g_strdup(image), g_strdup(type), g_ascii_strtoll(size, NULL, 10)};
		g_hash_table_insert(scan->kinds, g_steal_pointer(&text), disk);
	}
	g_hash_table_replace(scan->disks, place, disk);
}

static rgp_status on_disks(void *data, const char *scope, const json_t *list)
{
	mod_foreach (disk, list)
		keep_disk(data, g_strconcat(scope, "/disks/", mod_str(disk, "name"), NULL), disk);
	return RGP_OK;
}

/* "zones/us-central1-a/disks/NAME" of "projects/p/zones/..." */
static const char *place_of(const char *path)
{
	const char *slash = strchr(path, '/');
	slash = slash ? strchr(slash + 1, '/') : NULL;
	return slash ? slash + 1 : path;
}

/* ---- instances */

static void show(Scan *scan, json_t *record, const GcpDisk *disk)
{
	bool is_alike =
		scan->record && disk == scan->disk && gcp_instance_is_like(record, scan->record);
	if (is_alike) {
		gcp_instance_read_own(record, &scan->seen);
	} else {
		gcp_seen_clear(&scan->seen);
		gcp_instance_read(record, disk, &scan->seen);
	}
	scan->seen.is_alike = is_alike;
	json_decref(scan->record);
	scan->record = json_incref(record);
	scan->disk = disk;
	scan->sink(scan->data, &scan->seen);
}

static void show_or_keep(Scan *scan, json_t *record)
{
	const char *path = gcp_instance_disk(record);
	const GcpDisk *disk = g_hash_table_lookup(scan->disks, place_of(path));
	if (disk || !*path)
		show(scan, record, disk);
	else
		json_array_append(scan->others, record);
}

/* The disks are listed only if there is an instance. */
static rgp_status on_instances(void *data, const char *scope, const json_t *list)
{
	Scan *scan = data;
	json_auto_t *zone = json_string(scope);
	const Pages disks = {scan->call, "disks", on_disks, scan};
	rgp_status status = scan->has_disks ? RGP_OK : list_all(&disks, DISK_FIELDS, scan->filter);
	scan->has_disks = true;
	mod_foreach (record, list) {
		if (status != RGP_OK)
			break;
		json_object_set(record, "zone", zone);
		show_or_keep(scan, record);
	}
	return status;
}

/* Those whose disks the list by label does not have: imported instances. */
static rgp_status show_others(Scan *scan)
{
	g_autoptr(GPtrArray) urls = g_ptr_array_new();
	size_t n = json_array_size(scan->others);
	for (size_t i = 0; i < n; i++)
		g_ptr_array_add(urls,
			(char *)(uintptr_t)gcp_instance_disk(json_array_get(scan->others, i)));
	g_autofree json_t **found = g_new0(json_t *, n + 1);
	rgp_status status =
		n ? gcp_get_all(scan->call, "disks.get", urls, DISK_FIELDS, found) : RGP_OK;
	for (size_t i = 0; i < n; i++) {
		const char *place = place_of(urls->pdata[i]);
		if (found[i])
			keep_disk(scan, g_strdup(place), found[i]);
		if (status == RGP_OK)
			show(scan, json_array_get(scan->others, i),
				g_hash_table_lookup(scan->disks, place));
		json_decref(found[i]);
	}
	return status;
}

rgp_status gcp_instance_scan(const GcpCall *call, const GcpKind *kind, const char *mark,
	const char *value, GcpSink sink, void *data)
{
	g_autofree char *filter =
		g_strdup_printf("labels." GCP_MARK_PREFIX "%s=\"%s\"", mark, value);
	g_auto(Scan) scan = scan_new(call, filter, sink, data);
	const Pages pages = {call, "instances", on_instances, &scan};
	rgp_status status = list_all(&pages, GCP_INSTANCE_LISTED, filter);
	return status == RGP_OK ? show_others(&scan) : status;
}

rgp_status gcp_instance_look(
	const GcpCall *call, const GcpKind *kind, const GPtrArray *ids, GcpSink sink, void *data)
{
	json_auto_t *found = json_object();
	g_auto(Scan) scan = scan_new(call, NULL, sink, data);
	rgp_status status = gcp_instance_get(call, ids, found);
	mod_foreach_member (id, record, found)
		show_or_keep(&scan, record);
	return status == RGP_OK ? show_others(&scan) : status;
}
