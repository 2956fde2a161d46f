/* One run of fit over a spec with the shipped catalog of EC2. Fixture of tests. */
#pragma once
#include "fit/fit.h"

#define HEAD                                                                                       \
	"cluster: c1\n"                                                                            \
	"provider: {name: aws, region: us-east-1}\n"                                               \
	"ray: {version: 2.52.0, python: \"3.11\"}\n"
#define CPU_HEAD HEAD "head: {instance_type: m5.2xlarge}\n"

/* Of the cloud. */
#define FACTS                                                                                      \
	"{'images': {'default/x86_64': {'id': 'ami-1', 'name': 'dl', 'arch': 'x86_64',"            \
	"   'root_device': '/dev/sda1', 'min_disk_gb': 75},"                                       \
	"  'default/x86_64/proprietary': {'id': 'ami-0old', 'name': 'dlp', 'arch': 'x86_64',"      \
	"   'root_device': '/dev/xvda', 'min_disk_gb': 65}},"                                      \
	" 'zones': ['us-east-1a', 'us-east-1b', 'us-east-1c'], 'module': {'vpc_id': 'vpc-1'},"     \
	" 'offerings': {'p4d.24xlarge': ['us-east-1b', 'us-east-1d'], 'p5.48xlarge': [],"          \
	"   'm5.2xlarge': ['us-east-1a', 'us-east-1b', 'us-east-1c'],"                             \
	"   'g4dn.xlarge': ['us-east-1a', 'us-east-1b', 'us-east-1c']}}"

/* A pin of a node, and the pins of a state that has these facts. */
#define PIN(type, zone, image, price)                                                              \
	"{'instance_type': '" type "', 'zone': '" zone "', 'image_key': 'default/x86_64',"         \
	" 'image_id': '" image "', 'price_microusd_hour': " price ","                              \
	" 'price_date': '2025-01-01', 'price_quality': 'list'}"
#define PINS(nodes) "{'facts': " FACTS ", 'nodes': {" nodes "}}"

/* The catalog of the whole run; fit_run_tests frees it. */
const RgCatalog *fit_run_catalog(void);
/* Runs the tests that were added; what main returns. */
int fit_run_tests(void);

/* JSON with ' for ", so that it is readable in C; NULL for NULL. */
json_t *json_of(const char *text);

/* One run of both steps; fit_run_clear frees all of it. */
typedef struct {
	RgDiags *diags;
	RgCluster *cluster;
	RgShapes *shapes;
	json_t *pins, *facts, *fitted, *lacking;
	const json_t *request;
} FitRun;

void fit_run_clear(FitRun *o);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(FitRun, fit_run_clear)

/* `facts`, `pins`: JSON with '; NULL: none. The spec must be valid. */
FitRun fit_run(const char *spec, const char *facts, const char *pins);

/* Of the fitted document's nodes; NULL: there are fewer. */
const json_t *node_at(const FitRun *o, size_t i);
const json_t *offer_at(const FitRun *o, size_t i);
void assert_node(const FitRun *o, size_t i, const char *pool, const char *type, const char *zone,
	const char *indexes);
/* The first finding, and that `said` is in it. */
void assert_error(const FitRun *o, const char *code, unsigned line, const char *said);
