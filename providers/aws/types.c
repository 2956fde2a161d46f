/* DescribeInstanceTypes -> descriptions of types that no table has (EC2 API 2016-11-15, shape
 * InstanceTypeInfo). */
#include <string.h>
#include "aws/form.h"
#include "aws/resolve.h"

#define NVIDIA "NVIDIA"

static const AwsShape text_set[] = {{"item"}, {0}};
static const AwsShape vcpu_members[] = {{"defaultVCpus"}, {0}};
static const AwsShape size_members[] = {{"sizeInMiB"}, {0}};
static const AwsShape processor_members[] = {{"supportedArchitectures", text_set}, {0}};
static const AwsShape device_members[] = {{"name"}, {"manufacturer"}, {"count"},
	{"logicalGpuCount"}, {"gpuPartitionSize"}, {"memoryInfo", size_members}, {0}};
static const AwsShape device_set[] = {{"item", device_members}, {0}};
static const AwsShape gpu_members[] = {{"gpus", device_set}, {0}};
static const AwsShape neuron_members[] = {{"neuronDevices", device_set}, {0}};
/* The API's model names the elements of this list nowhere: "member" is its default, "item" what all
 * others have. One of them is enough to know that the type has such a device. */
static const AwsShape inference_set[] = {{"item", device_members}, {"member", device_members}, {0}};
static const AwsShape inference_members[] = {{"accelerators", inference_set}, {0}};
static const AwsShape fpga_members[] = {{"fpgas", device_set}, {0}};
static const AwsShape media_members[] = {{"accelerators", device_set}, {0}};
static const AwsShape card_members[] = {{"baselineBandwidthInGbps"}, {"peakBandwidthInGbps"}, {0}};
static const AwsShape card_set[] = {{"item", card_members}, {0}};
static const AwsShape efa_members[] = {{"maximumEfaInterfaces"}, {0}};
static const AwsShape network_members[] = {
	{"networkCards", card_set}, {"efaSupported"}, {"efaInfo", efa_members}, {0}};
static const AwsShape placement_members[] = {{"supportedStrategies", text_set}, {0}};
static const AwsShape type_members[] = {{"instanceType"}, {"supportedUsageClasses", text_set},
	{"vCpuInfo", vcpu_members}, {"memoryInfo", size_members},
	{"processorInfo", processor_members}, {"gpuInfo", gpu_members},
	{"neuronInfo", neuron_members}, {"inferenceAcceleratorInfo", inference_members},
	{"fpgaInfo", fpga_members}, {"mediaAcceleratorInfo", media_members},
	{"networkInfo", network_members}, {"placementGroupInfo", placement_members}, {0}};
static const AwsShape type_set[] = {{"item", type_members, AWS_RECORD}, {0}};
static const AwsShape types_members[] = {
	{"instanceTypeSet", type_set, AWS_DROP}, {"nextToken"}, {0}};
static const AwsShape describe_types = {"DescribeInstanceTypesResponse", types_members};

static double amount(const json_t *object, const char *key)
{
	return g_ascii_strtod(mod_str(object, key), NULL);
}

/* Names that differ from those of other clouds: raygpu's and NVIDIA's order of the words. */
static const char *name_of(const json_t *device)
{
	const char *name = mod_str(device, "name");
	return g_str_equal(name, "RTX PRO Server 6000") ? "RTX-PRO-6000" : name;
}

/* A part of a GPU has a count of 0; logicalGpuCount counts the parts. */
static void add_device(json_t *gpus, const json_t *device, const char *vendor)
{
	double fraction = amount(device, "gpuPartitionSize");
	bool part = fraction > 0 && fraction < 1;
	json_int_t mib = aws_xml_number(json_object_get(device, "memoryInfo"), "sizeInMiB");
	json_int_t count = aws_xml_number(device, part ? "logicalGpuCount" : "count");
	const char *maker = mod_str(device, "manufacturer");
	json_t *gpu = json_pack("{s:s, s:s, s:I}", "vendor", *maker ? maker : vendor, "name",
		name_of(device), "count", MAX(count, 1));
	if (mib > 0)
		json_object_set_new(gpu, "memory_mib", json_integer(mib));
	if (part)
		json_object_set_new(gpu, "fraction", json_real(fraction));
	json_array_append_new(gpus, gpu);
}

static json_t *accelerators_of(const json_t *record)
{
	static const struct {
		const char *info, *list, *vendor;
	} kinds[] = {{"gpuInfo", "gpus", NVIDIA}, {"neuronInfo", "neuronDevices", "AWS"},
		{"fpgaInfo", "fpgas", "AMD"}, {"mediaAcceleratorInfo", "accelerators", "AMD"}};
	json_t *found = json_array();
	for (size_t i = 0; i < G_N_ELEMENTS(kinds); i++)
		mod_foreach (
			one, json_object_get(json_object_get(record, kinds[i].info), kinds[i].list))
			add_device(found, one, kinds[i].vendor);
	json_t *inference = json_object_get(record, "inferenceAcceleratorInfo");
	mod_foreach_member (name, device, json_object_get(inference, "accelerators"))
		add_device(found, device, "AWS");
	return found;
}

/* Some types list i386 first. */
static const char *arch_of(const json_t *record)
{
	const json_t *list =
		json_object_get(json_object_get(record, "processorInfo"), "supportedArchitectures");
	const char *first = json_string_value(json_array_get(list, 0));
	return mod_has_text(list, "x86_64") ? "x86_64" : first ? first : "unknown";
}

static void add_network(json_t *row, const json_t *network)
{
	double sustained = 0, peak = 0;
	mod_foreach (card, json_object_get(network, "networkCards")) {
		sustained += amount(card, "baselineBandwidthInGbps");
		peak += amount(card, "peakBandwidthInGbps");
	}
	if (sustained > 0)
		json_object_set_new(row, "network_gbps", json_real(sustained));
	if (peak > 0)
		json_object_set_new(row, "network_peak_gbps", json_real(peak));
	if (g_str_equal(mod_str(network, "efaSupported"), "true"))
		json_object_set_new(row, "rdma_adapters",
			json_integer(aws_xml_number(
				json_object_get(network, "efaInfo"), "maximumEfaInterfaces")));
}

static json_t *markets_of(const json_t *classes)
{
	static const char *const words[][2] = {
		{"on-demand", "on_demand"}, {"spot", "spot"}, {"capacity-block", "reserved"}};
	json_t *markets = json_array();
	for (size_t i = 0; i < G_N_ELEMENTS(words); i++)
		if (mod_has_text(classes, words[i][0]))
			json_array_append_new(markets, json_string(words[i][1]));
	return markets;
}

static json_t *row_of(const json_t *record)
{
	json_t *row = json_pack("{s:I, s:I, s:s}", "vcpus",
		aws_xml_number(json_object_get(record, "vCpuInfo"), "defaultVCpus"), "memory_mib",
		aws_xml_number(json_object_get(record, "memoryInfo"), "sizeInMiB"), "arch",
		arch_of(record));
	const json_t *placement = json_object_get(
		json_object_get(record, "placementGroupInfo"), "supportedStrategies");
	json_object_set_new(row, "gpus", accelerators_of(record));
	add_network(row, json_object_get(record, "networkInfo"));
	if (json_array_size(placement))
		json_object_set_new(
			row, "placement", json_boolean(mod_has_text(placement, "cluster")));
	json_object_set_new(
		row, "markets", markets_of(json_object_get(record, "supportedUsageClasses")));
	return row;
}

/* By filter, not by name: then EC2 answers with those that the region has. A filter takes 200
 * values; a spec does not name as many types that no table has. */
AwsQuestion *aws_types_ask(GPtrArray *questions, const json_t *wanted)
{
	g_autoptr(GPtrArray) names = g_ptr_array_new();
	mod_foreach (one, wanted)
		g_ptr_array_add(names, (char *)(uintptr_t)mod_str(one, "name"));
	if (!names->len)
		return NULL;
	json_t *params = json_object();
	aws_form_filter(params, "instance-type", (const char *const *)names->pdata, names->len);
	return aws_ask(questions, "DescribeInstanceTypes", &describe_types, params, NULL);
}

void aws_types_take(const AwsQuestion *question, const json_t *wanted, json_t *facts)
{
	json_t *types = json_object();
	json_object_set_new(facts, "types", types);
	mod_foreach (one, wanted)
		json_object_set_new(types, mod_str(one, "name"), json_null());
	mod_foreach (one, question->records)
		if (json_object_get(types, mod_str(one, "instanceType")))
			json_object_set_new(types, mod_str(one, "instanceType"), row_of(one));
}
