#include "aws/sim/ssm.h"

/* Knobs have no time of their own: all parameters of theirs were set at this instant. */
#define OWN_SET_S 1.7e9

/* The newest image that a public parameter stands for; *versions counts its predecessors too. */
static const json_t *newest_image(const RgSimCall *call, const json_t *entry, json_int_t *versions)
{
	const json_t *newest = NULL;
	g_autoptr(GPtrArray) all = rg_sim_world_all(call->region, RG_SIM_IMAGE);
	*versions = 0;
	for (unsigned i = 0; i < all->len; i++) {
		const json_t *image = g_ptr_array_index(all, i);
		if (!g_str_equal(rg_sim_doc_str(image, "imageOwnerId"),
			    rg_sim_doc_str(entry, "owner")) ||
			!g_pattern_match_simple(
				rg_sim_doc_str(entry, "image"), rg_sim_doc_str(image, "name")))
			continue;
		++*versions;
		if (!newest || g_strcmp0(rg_sim_doc_str(image, "creationDate"),
				       rg_sim_doc_str(newest, "creationDate")) > 0)
			newest = image;
	}
	return newest;
}

static json_t *parameter_new(const RgSimCall *call, const char *name, const char *value,
	const char *account, json_int_t version, double modified_s)
{
	g_autofree char *arn = g_strdup_printf("arn:aws:ssm:%s:%s:parameter%s%s",
		call->region->name, account, *name == '/' ? "" : "/", name);
	return json_pack("{s:s, s:s, s:s, s:I, s:f, s:s, s:s}", "Name", name, "Type", "String",
		"Value", value, "Version", version, "LastModifiedDate", modified_s, "ARN", arn,
		"DataType", "text");
}

static json_t *public_parameter(const RgSimCall *call, const char *name)
{
	const json_t *entry = json_object_get(call->world->data->parameters, name);
	json_int_t versions = 0;
	const json_t *image = entry ? newest_image(call, entry, &versions) : NULL;
	if (!image)
		return NULL;
	g_autoptr(GTimeZone) utc = g_time_zone_new_utc();
	g_autoptr(GDateTime) made =
		g_date_time_new_from_iso8601(rg_sim_doc_str(image, "creationDate"), utc);
	return parameter_new(call, name, rg_sim_doc_str(image, "imageId"), "", versions,
		made ? (double)g_date_time_to_unix(made) : 0);
}

/* NULL when there is none. The caller owns it. */
static json_t *find(const RgSimCall *call, const char *name)
{
	const char *own = json_string_value(json_object_get(call->knobs->parameters, name));
	return own ? parameter_new(call, name, own, RG_SIM_ACCOUNT, 1, OWN_SET_S)
		   : public_parameter(call, name);
}

static bool answer(RgSimCall *call, json_t *reply)
{
	g_autofree char *text = json_dumps(reply, JSON_COMPACT);
	g_string_append(call->body, text);
	json_decref(reply);
	return true;
}

bool rg_sim_get_parameter(RgSimCall *call)
{
	const char *name = rg_sim_param_str(call->params, "Name");
	json_t *parameter = find(call, name);
	if (!parameter)
		return rg_sim_fail(call, 400, "ParameterNotFound", "Parameter %s not found.", name);
	return answer(call, json_pack("{s:o}", "Parameter", parameter));
}

bool rg_sim_get_parameters(RgSimCall *call)
{
	g_autoptr(GPtrArray) names = rg_sim_param_texts(call->params, "Names");
	json_t *found = json_array();
	json_t *invalid = json_array();
	for (unsigned i = 0; i < names->len; i++) {
		const char *name = g_ptr_array_index(names, i);
		json_t *parameter = find(call, name);
		if (parameter)
			json_array_append_new(found, parameter);
		else
			json_array_append_new(invalid, json_string(name));
	}
	return answer(
		call, json_pack("{s:o, s:o}", "Parameters", found, "InvalidParameters", invalid));
}
