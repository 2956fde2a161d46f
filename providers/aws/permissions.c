#include "aws/permissions.h"
#include "aws/data.h"
#include <string.h>

/* Resources, condition keys and dependent actions: Service Authorization Reference, "Actions,
 * resources, and condition keys for Amazon EC2" (and of Systems Manager, IAM, KMS). */

/* What the placeholders of permissions.json stand for: a text, or a list in place of an element. */
typedef struct {
	const AwsCall *call;
	const json_t *input, *spec, *with;
	const char *region; /* of the place whose values these are */
	const json_t *config;
	json_t *values;
} Permissions;

/* Calls `look` for the head and each pool until it gives true. */
static bool any_node(const Permissions *permissions, bool (*look)(const json_t *node))
{
	if (look(json_object_get(permissions->spec, "head")))
		return true;
	mod_foreach_member (name, pool, json_object_get(permissions->spec, "pools"))
		if (look(pool))
			return true;
	return false;
}

static bool is_spot(const json_t *node)
{
	const json_t *market = json_object_get(node, "market");
	return json_object_get(market, "spot") ||
	       g_str_equal(json_is_string(market) ? json_string_value(market) : "", "spot");
}

static void set_value(Permissions *permissions, const char *name, char *text)
{
	json_object_set_new(permissions->values, name, json_string(text));
	g_free(text);
}

static const char *value_of(const Permissions *permissions, const char *name)
{
	return mod_str(permissions->values, name);
}

/* ARNs of the ids in a list or map of the settings; `all` where the spec has none. NULL `all`: no
 * value then. */
static void set_arns(Permissions *permissions, const char *name, const char *type,
	const json_t *ids, const char *all)
{
	const char *ec2 = value_of(permissions, "ec2");
	json_t *arns = json_array();
	mod_foreach (id, ids) {
		g_autofree char *arn =
			g_strdup_printf("%s:%s/%s", ec2, type, json_string_value(id));
		json_array_append_new(arns, json_string(arn));
	}
	mod_foreach_member (key, id, ids) {
		g_autofree char *arn =
			g_strdup_printf("%s:%s/%s", ec2, type, json_string_value(id));
		json_array_append_new(arns, json_string(arn));
	}
	if (!json_array_size(arns) && all) {
		g_autofree char *arn = g_strdup_printf("%s:%s/%s", ec2, type, all);
		json_array_append_new(arns, json_string(arn));
	}
	json_object_set_new(permissions->values, name, arns);
}

/* Images by `ssm:PATH`: the ARN of each parameter; Amazon's public ones have no account. */
static void add_parameter(Permissions *permissions, const json_t *node, json_t *arns)
{
	const char *image = mod_str(node, "image");
	if (!g_str_has_prefix(image, "ssm:"))
		return;
	const char *path = image + strlen("ssm:");
	while (*path == '/')
		path++;
	/* a version or label follows a colon and is not part of the ARN */
	g_autofree char *name = g_strndup(path, strcspn(path, ":"));
	bool public = g_str_has_prefix(name, "aws/service/");
	g_autofree char *arn = g_strdup_printf("arn:%s:ssm:%s:%s:parameter/%s",
		value_of(permissions, "partition"), value_of(permissions, "region"),
		public ? "" : value_of(permissions, "account"), name);
	json_array_append_new(arns, json_string(arn));
}

static void set_parameters(Permissions *permissions)
{
	json_t *arns = json_array();
	add_parameter(permissions, json_object_get(permissions->spec, "head"), arns);
	mod_foreach_member (name, pool, json_object_get(permissions->spec, "pools"))
		add_parameter(permissions, pool, arns);
	json_object_set_new(permissions->values, "parameters", arns);
}

/* The role of an instance profile: of the profile's own name, as the console makes both, unless
 * the caller names it. */
static void set_role(Permissions *permissions)
{
	const char *profile = mod_str(permissions->config, "instance_profile");
	const char *named = mod_str(permissions->with, "role"), *slash = strrchr(profile, '/');
	const char *role = *named ? named : slash ? slash + 1 : profile;
	if (*role)
		set_value(permissions, "role",
			g_strdup_printf("arn:%s:iam::%s:role/%s",
				value_of(permissions, "partition"),
				value_of(permissions, "account"), role));
}

static json_t *reservations_of(const Permissions *permissions)
{
	json_t *ids = json_array();
	mod_foreach_member (name, pool, json_object_get(permissions->spec, "pools")) {
		json_t *id = json_object_get(json_object_get(pool, "market"), "reservation");
		if (id)
			json_array_append(ids, id);
	}
	return ids;
}

static void set_places(Permissions *permissions)
{
	const char *region = permissions->region;
	const char *account = mod_str(permissions->input, "account");
	bool china = g_str_has_prefix(region, "cn-");
	const char *partition = china				      ? "aws-cn"
				: g_str_has_prefix(region, "us-gov-") ? "aws-us-gov"
								      : "aws";
	set_value(permissions, "region", g_strdup(region));
	set_value(permissions, "partition", g_strdup(partition));
	set_value(permissions, "suffix", g_strdup(china ? "amazonaws.com.cn" : "amazonaws.com"));
	set_value(permissions, "account", g_strdup(*account ? account : "*"));
	set_value(permissions, "cluster", g_strdup(mod_str(permissions->spec, "cluster")));
	set_value(permissions, "ec2",
		g_strdup_printf(
			"arn:%s:ec2:%s:%s", partition, region, value_of(permissions, "account")));
	set_value(permissions, "ec2_public", g_strdup_printf("arn:%s:ec2:%s:", partition, region));
}

static void set_values(Permissions *permissions)
{
	const json_t *config = permissions->config;
	const char *key = mod_str(config, "key_name"), *kms = mod_str(permissions->with, "kms_key");
	const char *vpc = mod_str(config, "vpc");
	set_places(permissions);
	set_arns(permissions, "subnets", "subnet", json_object_get(config, "subnets"), "*");
	set_arns(permissions, "vpc", "vpc", NULL, *vpc ? vpc : "*");
	set_arns(permissions, "security_groups", "security-group",
		json_object_get(config, "security_groups"), NULL);
	set_arns(permissions, "key_pair", "key-pair", NULL, *key ? key : NULL);
	set_arns(permissions, "spot_requests", "spot-instances-request", NULL,
		any_node(permissions, is_spot) ? "*" : NULL);
	json_auto_t *reservations = reservations_of(permissions);
	set_arns(permissions, "reservations", "capacity-reservation", reservations, NULL);
	set_parameters(permissions);
	set_role(permissions);
	if (*kms)
		set_value(permissions, "kms_key", g_strdup(kms));
}

/* Whether the spec, or the caller, has what the statement is for. */
static bool is_needed(const Permissions *permissions, const char *when)
{
	static const struct {
		const char *when, *value;
	} lists[] = {{"parameter_images", "parameters"}, {"reservations", "reservations"},
		{"security_groups", "security_groups"}, {"spot", "spot_requests"}};
	for (size_t i = 0; i < G_N_ELEMENTS(lists); i++)
		if (g_str_equal(when, lists[i].when))
			return json_array_size(
				       json_object_get(permissions->values, lists[i].value)) > 0;
	if (g_str_equal(when, "instance_profile"))
		return *value_of(permissions, "role") != '\0';
	if (g_str_equal(when, "imports") || g_str_equal(when, "removed"))
		return json_object_get(permissions->spec, when) != NULL;
	if (g_str_equal(when, "import") && json_object_get(permissions->spec, "imports"))
		return true;
	return !*when || json_object_get(permissions->with, when);
}

static char *fill_text(const Permissions *permissions, const char *text)
{
	GString *filled = g_string_new(NULL);
	while (*text) {
		const char *close = strchr(text, '}');
		g_autofree char *name = *text == '{' && close
						? g_strndup(text + 1, (gsize)(close - text - 1))
						: NULL;
		const char *value = name ? value_of(permissions, name) : "";
		if (*value) {
			g_string_append(filled, value);
			text = close + 1;
		} else {
			g_string_append_c(filled, *text++);
		}
	}
	return g_string_free(filled, FALSE);
}

/* The list that a text such as "{subnets}" stands for; NULL: it is none. */
static const json_t *list_of(const Permissions *permissions, const json_t *value)
{
	const char *text = json_string_value(value);
	if (!text || *text != '{' || !g_str_has_suffix(text, "}"))
		return NULL;
	g_autofree char *name = g_strndup(text + 1, strlen(text) - 2);
	const json_t *list = json_object_get(permissions->values, name);
	return json_is_array(list) ? list : NULL;
}

static json_t *fill(const Permissions *permissions, const json_t *value)
{
	const json_t *list = list_of(permissions, value);
	json_t *filled;
	if (list)
		return json_deep_copy(list);
	if (json_is_string(value)) {
		g_autofree char *text = fill_text(permissions, json_string_value(value));
		return json_string(text);
	}
	filled = json_is_array(value) ? json_array() : json_object();
	mod_foreach (member, value) {
		json_t *one = fill(permissions, member);
		if (json_is_array(one))
			json_array_extend(filled, one);
		else
			json_array_append(filled, one);
		json_decref(one);
	}
	mod_foreach_member (name, member, value)
		json_object_set_new(filled, name, fill(permissions, member));
	return filled;
}

static rgp_status permissions_refuse(const AwsCall *call, const char *hint, char *summary)
{
	mod_report_text(&call->talk, RGP_CLASS_INVALID, summary, NULL, hint);
	g_free(summary);
	return RGP_FAIL;
}

static rgp_status check_with(const Permissions *permissions)
{
	static const char *const known[] = {"import", "kms_key", "role", NULL};
	mod_foreach_member (name, value, permissions->with)
		if (!g_strv_contains(known, name))
			return permissions_refuse(permissions->call,
				"known: import, kms_key=ARN, role=NAME",
				g_strdup_printf("unknown --with \"%s\"", name));
	return RGP_OK;
}

static bool has(const json_t *list, const json_t *value)
{
	mod_foreach (member, list)
		if (json_equal(mod_unconst(member), mod_unconst(value)))
			return true;
	return false;
}

/* One statement for two places: texts that differ become a list of both. */
static json_t *unite(const json_t *one, const json_t *two)
{
	if (json_equal(mod_unconst(one), mod_unconst(two)))
		return json_incref(mod_unconst(one));
	if (json_is_object(one) && json_is_object(two)) {
		json_t *both = json_copy(mod_unconst(one));
		mod_foreach_member (name, member, two) {
			const json_t *mine = json_object_get(one, name);
			json_object_set_new(
				both, name, mine ? unite(mine, member) : json_incref(member));
		}
		return both;
	}
	json_t *both = json_is_array(one) ? json_copy(mod_unconst(one))
					  : json_pack("[O]", mod_unconst(one));
	json_auto_t *more = json_is_array(two) ? json_incref(mod_unconst(two))
					       : json_pack("[O]", mod_unconst(two));
	mod_foreach (member, more)
		if (!has(both, member))
			json_array_append(both, member);
	return both;
}

/* {template's number: statement} of one place, united with those of the places before. */
static void add_place(
	Permissions *permissions, const json_t *entries, const char *task, json_t *all)
{
	size_t i;
	const json_t *entry;
	permissions->values = json_object();
	set_values(permissions);
	json_array_foreach (entries, i, entry) {
		if (!mod_has_text(json_object_get(entry, "for"), task) ||
			!is_needed(permissions, mod_str(entry, "when")))
			continue;
		g_autofree char *key = g_strdup_printf("%zu", i);
		json_auto_t *one = fill(permissions, json_object_get(entry, "statement"));
		const json_t *before = json_object_get(all, key);
		json_object_set_new(all, key, before ? unite(before, one) : json_incref(one));
	}
	g_clear_pointer(&permissions->values, json_decref);
}

/* Of the regions that a cluster may be in; one without `places`. */
static void add_places(Permissions *permissions, const json_t *entries, json_t *statements)
{
	const json_t *places = json_object_get(permissions->input, "places");
	const char *task = mod_str(permissions->input, "for");
	json_auto_t *all = json_object();
	if (!json_array_size(places))
		add_place(permissions, entries, task, all);
	mod_foreach (place, places) {
		permissions->region = mod_str(place, "region");
		permissions->config = json_object_get(place, "config");
		add_place(permissions, entries, task, all);
	}
	for (size_t i = 0; i < json_array_size(entries); i++) {
		g_autofree char *key = g_strdup_printf("%zu", i);
		json_t *statement = json_object_get(all, key);
		if (statement)
			json_array_append(statements, statement);
	}
}

rgp_status aws_permissions(const AwsCall *call, const json_t *input)
{
	const struct rg_embedded *file = aws_data_find("permissions.json");
	json_auto_t *entries = json_loadb(file->data, file->len, 0, NULL);
	json_auto_t *statements = json_array();
	Permissions permissions = {.call = call,
		.input = input,
		.spec = json_object_get(input, "spec"),
		.with = json_object_get(input, "with"),
		.region = call->inst->region,
		.config = json_object_get(input, "config")};
	if (check_with(&permissions) != RGP_OK)
		return RGP_FAIL;
	add_places(&permissions, entries, statements);
	if (!json_array_size(statements))
		return permissions_refuse(call,
			"known: plan, apply, import, rebuild, offers, connect, state, state-read",
			g_strdup_printf("unknown --for \"%s\"", mod_str(input, "for")));
	return mod_give(&call->talk, "document",
		json_pack("{s:s, s:O}", "Version", "2012-10-17", "Statement", statements));
}
