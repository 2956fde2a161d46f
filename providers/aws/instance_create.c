/* RunInstances: one call per batch, idempotent by ClientToken. */
#include "aws/efa.h"
#include "aws/form.h"
#include "aws/instance.h"
#include "common/open.h"
#include <string.h>

#define SURVIVORS_WAIT_S 10

/* New resources may not be known everywhere in EC2, and an interface is free only when the instance
 * that held it has terminated. */
static const Ec2Code passing_codes[] = {
	{"InvalidSubnetID.NotFound", NULL, 60},
	{"InvalidGroup.NotFound", NULL, 60},
	{"InvalidSecurityGroupID.NotFound", NULL, 60},
	{"InvalidNetworkInterfaceID.NotFound", NULL, 60},
	{"InvalidNetworkInterface.InUse", NULL, 300},
	{"InvalidParameterValue", "in use", 300},
	{"DependencyViolation", NULL, 300},
	{"InvalidPlacementGroup.Unknown", NULL, 60},
	/* a pool that moves to another zone: until its last old node has terminated */
	{"InvalidPlacementGroup.InUse", "another availability zone", 300},
	AWS_YOUNG_PROFILE_CODES,
	{0},
};
static const Ec2Code terminated_codes[] = {{"IdempotentInstanceTerminated"}, {0}};

/* A batch in progress: what EC2 returned, by launch index. */
typedef struct {
	const AwsCall *call;
	const json_t *items;
	bool *given;	      /* one per item: its result was returned */
	size_t seen;	      /* records, including terminated ones */
	GPtrArray *survivors; /* json_t *: kept until all members have been seen; or NULL */
	rgp_status status;
} Batch;

static void give_record(Batch *batch, const json_t *record)
{
	g_auto(AwsSeen) seen = {0};
	aws_instance_read(record, &seen);
	if (batch->status != RGP_OK || !*seen.id || seen.place >= json_array_size(batch->items) ||
		batch->given[seen.place])
		return;
	const char *address = mod_str(json_array_get(batch->items, seen.place), "address");
	batch->given[seen.place] = true;
	if (seen.gone) {
		ModFailure failure = {0};
		aws_instance_readiness(batch->call, record, &failure);
		failure.definite = true;
		rgp_status status = mod_give_failed(&batch->call->talk, address, NULL, &failure);
		mod_failure_clear(&failure);
		batch->status = status;
		return;
	}
	static const char *const computed[] = {"private_ip", "private_dns", "launch_time",
		"root_volume_id", "network_interface", "public_address", NULL};
	json_t *attributes = json_object();
	for (const char *const *name = computed; *name; name++)
		json_object_set(attributes, *name, json_object_get(seen.attributes, *name));
	batch->status = mod_give_item(&batch->call->talk, address, "done", seen.id, attributes);
}

static void on_instance(void *data, const json_t *record)
{
	Batch *batch = data;
	batch->seen++;
	g_ptr_array_add(batch->survivors, json_deep_copy(record));
}

static rgp_status give_all(Batch *batch, const ModFailure *rest)
{
	for (guint i = 0; i < batch->survivors->len; i++)
		give_record(batch, batch->survivors->pdata[i]);
	for (size_t i = 0; i < json_array_size(batch->items) && batch->status == RGP_OK; i++)
		if (!batch->given[i])
			batch->status = mod_give_failed(&batch->call->talk,
				mod_str(json_array_get(batch->items, i), "address"), NULL, rest);
	return batch->status;
}

static json_t *disk_mapping(const json_t *attributes)
{
	static const char *const wishes[][2] = {{"VolumeSize", "disk_size_gb"},
		{"VolumeType", "disk_type"}, {"Iops", "disk_iops"},
		{"Throughput", "disk_throughput"}};
	json_t *ebs = json_object();
	for (size_t i = 0; i < G_N_ELEMENTS(wishes); i++) {
		json_t *wish = json_object_get(attributes, wishes[i][1]);
		if (wish)
			json_object_set(ebs, wishes[i][0], wish);
	}
	json_object_set_new(ebs, "Encrypted", json_true());
	json_object_set_new(ebs, "DeleteOnTermination", json_true());
	return json_pack(
		"[{s:s, s:o}]", "DeviceName", mod_str(attributes, "root_device"), "Ebs", ebs);
}

/* The head uses its own interface; workers get one that exists as long as they do. */
static json_t *interface_spec(const json_t *attributes)
{
	const char *interface = mod_str(attributes, "network_interface");
	if (*interface)
		return json_pack("[{s:i, s:s}]", "DeviceIndex", 0, "NetworkInterfaceId", interface);
	if (mod_int(attributes, "efa_interfaces") > 0)
		return aws_efa_interfaces(attributes);
	return json_pack("[{s:i, s:s, s:O?, s:b, s:b}]", "DeviceIndex", 0, "SubnetId",
		mod_str(attributes, "subnet_id"), "SecurityGroupId",
		json_object_get(attributes, "security_groups"), "AssociatePublicIpAddress",
		json_is_true(json_object_get(attributes, "public_ip")), "DeleteOnTermination",
		true);
}

static void set_user_data(const AwsCall *call, const json_t *attributes, json_t *params)
{
	const char *plain = mod_str(attributes, "user_data");
	const char *encoded = mod_str(attributes, "user_data_base64");
	g_autofree char *text = *encoded ? g_strdup(encoded)
					 : g_base64_encode((const guchar *)plain, strlen(plain));
	if (!*text)
		return;
	/* it contains the Ray token in a form that a search for the token would not find */
	call->talk.host->secret(call->talk.call, mod_bytes(text));
	json_object_set_new(params, "UserData", json_string(text));
}

/* One-time, and terminated when reclaimed: EC2 neither restarts an instance outside the plan nor
 * keeps a stopped one that nobody counts. NULL: on demand. */
static json_t *market_options(const json_t *attributes)
{
	const char *max = mod_str(attributes, "spot_max_price");
	const char *market = mod_str(attributes, "market");
	if (g_str_equal(market, AWS_BLOCK))
		return json_pack("{s:s}", "MarketType", AWS_BLOCK);
	if (!g_str_equal(market, "spot"))
		return NULL;
	json_t *options = json_pack("{s:s, s:s}", "SpotInstanceType", "one-time",
		"InstanceInterruptionBehavior", "terminate");
	if (*max)
		json_object_set_new(options, "MaxPrice", json_string(max));
	return json_pack("{s:s, s:o}", "MarketType", "spot", "SpotOptions", options);
}

json_t *aws_instance_params(const AwsCall *call, const json_t *input)
{
	const json_t *attributes = json_object_get(input, "attributes");
	json_int_t count = (json_int_t)json_array_size(json_object_get(input, "items"));
	json_int_t least = CLAMP(mod_int(input, "min_count"), 1, count);
	json_t *params =
		json_pack("{s:s, s:s, s:I, s:I, s:s}", "ImageId", mod_str(attributes, "image_id"),
			"InstanceType", mod_str(attributes, "instance_type"), "MinCount", least,
			"MaxCount", count, "ClientToken", mod_str(input, "token"));
	set_user_data(call, attributes, params);
	if (*mod_str(attributes, "key_name"))
		json_object_set(params, "KeyName", json_object_get(attributes, "key_name"));
	json_object_set_new(params, "BlockDeviceMapping", disk_mapping(attributes));
	/* hop limit 1: Ray's container has the host's network, and containers with one of their own
	 * do not reach the metadata service */
	json_t *options =
		json_pack("{s:s, s:i, s:s}", "HttpTokens", mod_str(attributes, "http_tokens"),
			"HttpPutResponseHopLimit", 1, "HttpEndpoint", "enabled");
	aws_lease_launch(attributes, options);
	json_object_set_new(params, "MetadataOptions", options);
	json_object_set_new(params, "NetworkInterface", interface_spec(attributes));
	if (mod_int(attributes, "threads_per_core"))
		json_object_set_new(params, "CpuOptions",
			json_pack("{s:O, s:O}", "CoreCount",
				json_object_get(attributes, "core_count"), "ThreadsPerCore",
				json_object_get(attributes, "threads_per_core")));
	json_t *profile = aws_instance_profile_spec(attributes);
	if (profile)
		json_object_set_new(params, "IamInstanceProfile", profile);
	if (*mod_str(attributes, "placement_group"))
		json_object_set_new(params, "Placement",
			json_pack("{s:s}", "GroupName", mod_str(attributes, "placement_group")));
	json_t *market = market_options(attributes);
	if (market)
		json_object_set_new(params, "InstanceMarketOptions", market);
	if (*mod_str(attributes, "capacity_reservation"))
		json_object_set_new(params, "CapacityReservationSpecification",
			json_pack("{s:{s:s}}", "CapacityReservationTarget", "CapacityReservationId",
				mod_str(attributes, "capacity_reservation")));
	json_object_set_new(params, "InstanceInitiatedShutdownBehavior", json_string("terminate"));
	json_auto_t *tags = aws_marks_tags(input), *own = json_copy(tags);
	aws_lease_add_tag(attributes, own);
	json_t *specs = json_pack(
		"[o, o]", aws_marks_spec("instance", own), aws_marks_spec("volume", tags));
	if (!*mod_str(json_object_get(input, "attributes"), "network_interface"))
		json_array_append_new(specs, aws_marks_spec("network-interface", tags));
	/* accounts that require tags require them of the request too; EC2 rejects the type
	 * otherwise */
	if (g_str_equal(mod_str(attributes, "market"), "spot"))
		json_array_append_new(specs, aws_marks_spec("spot-instances-request", tags));
	json_object_set_new(params, "TagSpecification", specs);
	return params;
}

/* An instance of this token was terminated. The token shows whether others of the batch exist;
 * because the list may lag, look until all members were seen or the time is over. */
static rgp_status find_survivors(Batch *batch, const char *token)
{
	const AwsCall *call = batch->call;
	ModBackoff backoff = mod_backoff_start(
		&call->talk, mod_open_wait_s(&call->talk, call->inst->endpoint, SURVIVORS_WAIT_S));
	rgp_status status;
	do {
		json_auto_t *params = json_object();
		aws_form_filter(params, "client-token", &token, 1);
		g_ptr_array_set_size(batch->survivors, 0);
		batch->seen = 0;
		status = aws_kind_describe(
			batch->call, &aws_instance_kind, params, on_instance, NULL, batch);
		if (status != RGP_OK || batch->seen >= json_array_size(batch->items))
			return status;
		status = mod_backoff_wait(&batch->call->talk, &backoff);
	} while (status == RGP_OK);
	return status == RGP_CANCELED ? status : RGP_OK;
}

static rgp_status settle_failure(Batch *batch, const json_t *input, ModFailure *failure)
{
	if (ec2_match(failure, terminated_codes)) {
		rgp_status status = find_survivors(batch, mod_str(input, "token"));
		if (status != RGP_OK)
			return status;
		failure->definite = true;
		return give_all(batch, failure);
	}
	/* if a create names something that EC2 cannot find, the value is wrong; the resource is not
	 * gone */
	if (failure->class_ == RGP_CLASS_GONE)
		failure->class_ = RGP_CLASS_INVALID;
	return mod_fail_items(batch->call, batch->items, failure);
}

static rgp_status settle_success(Batch *batch, Ec2Reply *reply)
{
	const char *request_id = mod_str(reply->reply, "requestId");
	mod_failure_set(&reply->failure, RGP_CLASS_CAPACITY, "InsufficientInstanceCapacity",
		"EC2 created %zu of the %zu requested instances", batch->seen,
		json_array_size(batch->items));
	const ModErrorRow *row =
		mod_errors_find(batch->call->inst->errors, "InsufficientInstanceCapacity");
	reply->failure.definite = true;
	reply->failure.hint = row ? row->hint : NULL;
	reply->failure.attribute = row ? row->attribute : NULL;
	reply->failure.request_id = *request_id ? g_strdup(request_id) : NULL;
	return give_all(batch, &reply->failure);
}

rgp_status aws_instance_create(const AwsCall *call, const json_t *input)
{
	const json_t *items = json_object_get(input, "items");
	json_auto_t *params = aws_instance_params(call, input);
	g_autofree bool *given = g_new0(bool, json_array_size(items) + 1);
	g_autoptr(GPtrArray) survivors =
		g_ptr_array_new_with_free_func((GDestroyNotify)json_decref);
	Batch batch = {.call = call, .items = items, .given = given, .survivors = survivors};
	const Ec2Request request = {
		.action = "RunInstances",
		.params = params,
		.shape = &aws_run_instances,
		.record = on_instance,
		.data = &batch,
	};
	g_auto(Ec2Reply) reply = {0};
	rgp_status status = ec2_send_waiting(call, &request, passing_codes, &reply);
	if (status != RGP_OK)
		return status;
	/* A successful answer without instances proves nothing about the batch. */
	if (reply.failure.class_ == RGP_CLASS_OK && !batch.seen)
		mod_failure_set(&reply.failure, RGP_CLASS_UNKNOWN, NULL,
			"RunInstances answered without an instance");
	if (reply.failure.class_ != RGP_CLASS_OK)
		return settle_failure(&batch, input, &reply.failure);
	return settle_success(&batch, &reply);
}
