#include <arpa/inet.h>
#include "gcp/sim/gce.h"

/* Internal addresses of subnetworks: who has which. */

/* The first two addresses of a primary range and its last two are Google's
 * (cloud.google.com/vpc/docs/subnets, "Unusable addresses"). */
#define FIRST_HOST 2
#define KEPT_AT_END 2

/* For a project: what would take too long to look up in its documents. */
typedef struct {
	GHashTable *used;      /* "SUBNETWORK-LINK ADDRESS" */
	GHashTable *next_host; /* subnetwork's link -> next host number to try */
	GHashTable *numbers;   /* number of an instance -> its key */
} Own;

static void use(const Own *own, const char *subnetwork, const char *address)
{
	if (*address)
		g_hash_table_add(own->used, g_strdup_printf("%s %s", subnetwork, address));
}

static void use_all(const Own *own, const RgSimPlace *place)
{
	rg_sim_foreach (doc, place, GCE_INSTANCE) {
		const json_t *interface =
			json_array_get(json_object_get(doc, "networkInterfaces"), 0);
		use(own, doc_str(interface, "subnetwork"), doc_str(interface, "networkIP"));
	}
	rg_sim_foreach (doc, place, GCE_ADDRESS)
		use(own, doc_str(doc, "subnetwork"), doc_str(doc, "address"));
}

static Own *own_of(RgSimPlace *place)
{
	if (place->own)
		return place->own;
	Own *own = place->own = g_new(Own, 1);
	own->used = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	own->next_host = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
	own->numbers = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, g_free);
	use_all(own, place);
	return own;
}

void gce_place_clear(RgSimPlace *place)
{
	Own *own = place->own;
	if (!own)
		return;
	g_hash_table_unref(own->used);
	g_hash_table_unref(own->next_host);
	g_hash_table_unref(own->numbers);
	g_free(own);
}

json_t *gce_instance_by_number(RgSimPlace *place, const char *scope, const char *number)
{
	const Own *own = own_of(place);
	const char *key = g_hash_table_lookup(own->numbers, number);
	json_t *doc = rg_sim_find(place, GCE_INSTANCE, key);
	if (!doc || !g_str_equal(doc_str(doc, "id"), number)) {
		doc = rg_sim_find_by(place, GCE_INSTANCE, "id", number);
		if (doc)
			g_hash_table_replace(
				own->numbers, g_strdup(number), g_strdup(doc_str(doc, GCE_KEY)));
	}
	bool shown = doc && !gce_is_hidden(doc) && g_str_has_prefix(doc_str(doc, GCE_KEY), scope);
	return shown ? doc : NULL;
}

/* ---- addresses of a subnetwork */

static bool range_of(const json_t *subnetwork, guint32 *base, guint32 *size)
{
	g_auto(GStrv) parts = g_strsplit(doc_str(subnetwork, "ipCidrRange"), "/", 2);
	struct in_addr address;
	guint64 bits = 0;
	if (g_strv_length(parts) != 2 || inet_pton(AF_INET, parts[0], &address) != 1 ||
		!g_ascii_string_to_unsigned(parts[1], 10, 8, 29, &bits, NULL))
		return false;
	*base = ntohl(address.s_addr);
	*size = 1U << (32 - bits);
	return true;
}

static char *address_text(guint32 address)
{
	struct in_addr wire = {htonl(address)};
	char text[INET_ADDRSTRLEN];
	inet_ntop(AF_INET, &wire, text, sizeof(text));
	return g_strdup(text);
}

static bool is_free(const Own *own, const char *subnetwork, const char *address)
{
	g_autofree char *entry = g_strdup_printf("%s %s", subnetwork, address);
	return !g_hash_table_contains(own->used, entry);
}

static char *take_wanted(
	const Own *own, const json_t *subnetwork, const char *wanted, json_t **error)
{
	guint32 base = 0, size = 0;
	struct in_addr address;
	if (!range_of(subnetwork, &base, &size) || inet_pton(AF_INET, wanted, &address) != 1 ||
		ntohl(address.s_addr) < base + FIRST_HOST ||
		ntohl(address.s_addr) >= base + size - KEPT_AT_END)
		*error = gce_error(400, "INVALID_FIELD_VALUE",
			g_strdup_printf("Requested internal IP address %s is outside the "
					"network/subnetwork range.",
				wanted));
	else if (!is_free(own, doc_str(subnetwork, "selfLink"), wanted))
		*error = gce_error(400, "IP_IN_USE_BY_ANOTHER_RESOURCE",
			g_strdup_printf(
				"IP '%s' is already being used by another resource.", wanted));
	if (*error)
		return NULL;
	use(own, doc_str(subnetwork, "selfLink"), wanted);
	return g_strdup(wanted);
}

/* The next free address in turn, so that an address is not reused immediately. */
static char *take_next(const Own *own, const json_t *subnetwork, json_t **error)
{
	const char *link = doc_str(subnetwork, "selfLink");
	guint32 base = 0, size = 0;
	if (!range_of(subnetwork, &base, &size))
		size = FIRST_HOST + KEPT_AT_END;
	guint32 hosts = size - FIRST_HOST - KEPT_AT_END;
	guint32 start = GPOINTER_TO_UINT(g_hash_table_lookup(own->next_host, link));
	for (guint32 i = 0; i < hosts; i++) {
		guint32 host = (start + i) % hosts;
		g_autofree char *text = address_text(base + FIRST_HOST + host);
		if (!is_free(own, link, text))
			continue;
		g_hash_table_insert(own->next_host, g_strdup(link), GUINT_TO_POINTER(host + 1));
		use(own, link, text);
		return g_steal_pointer(&text);
	}
	*error = gce_error(
		400, "IP_SPACE_EXHAUSTED", g_strdup_printf("IP space of '%s' is exhausted.", link));
	return NULL;
}

char *gce_address_take(
	RgSimPlace *place, const json_t *subnetwork, const char *wanted, json_t **error)
{
	const Own *own = own_of(place);
	*error = NULL;
	return wanted ? take_wanted(own, subnetwork, wanted, error)
		      : take_next(own, subnetwork, error);
}

void gce_address_give_back(RgSimPlace *place, const char *subnetwork, const char *address)
{
	g_autofree char *entry = g_strdup_printf("%s %s", subnetwork, address);
	g_hash_table_remove(own_of(place)->used, entry);
}

/* ---- reserved ones */

/* The address of this text in the subnetwork; NULL: it is not reserved. */
json_t *gce_address_find(const RgSimPlace *place, const char *subnetwork, const char *address)
{
	rg_sim_foreach (doc, place, GCE_ADDRESS) {
		if (g_str_equal(doc_str(doc, "address"), address) &&
			g_str_equal(doc_str(doc, "subnetwork"), subnetwork))
			return doc;
	}
	return NULL;
}

void gce_address_set_user(RgSimPlace *place, const json_t *address, const char *user)
{
	json_t *doc = json_copy(rg_json_unconst(address));
	if (user)
		json_object_set_new(doc, "users", json_pack("[s]", user));
	else
		json_object_del(doc, "users");
	json_object_set_new(doc, "status", json_string(user ? "IN_USE" : "RESERVED"));
	rg_sim_put(place, GCE_ADDRESS, doc);
}
