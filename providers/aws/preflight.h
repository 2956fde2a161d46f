/* preflight: what AWS reports in advance about the nodes that a plan creates. All questions are
 * sent concurrently (preflight.c), then each check reads the answers that it needs and reports what
 * it finds; what could not be asked is one note, never an error. */
#pragma once
#include "aws/ec2.h"
#include "common/preflight.h"

/* One question; all of its pages. */
typedef struct {
	Ec2Request request;
	json_t *params, *records;
	Ec2Reply reply;	   /* of the last page, or the failure */
	const char *what;  /* that stays unchecked without an answer; NULL: the caller says it */
	const void *about; /* what the caller asked for */
	bool done;
} AwsProbe;

typedef struct {
	const AwsCall *call;
	ModFindings findings;
	bool applies; /* these credentials are about to create it */
	const char *cluster;
	const char *image;     /* that the nodes pull with their role; "": none */
	const json_t *creates; /* of the ABI's input */
	GPtrArray *nodes;      /* const json_t *: those of aws.instance */
	GPtrArray *probes;     /* AwsProbe *: owned */
	GPtrArray *quotas;     /* those that the nodes come under (preflight_quota.c) */
	AwsApi quotas_api, iam_api;
	AwsProbe *types, *offerings, *images, *subnets, *main_tables, *tables, *running, *profile;
	AwsProbe *endpoints, *logs_in, *pulls;
	GPtrArray *dry_runs; /* AwsProbe *: borrowed */
	bool told_certain;   /* a setting that every launch fails for is one of them */
} AwsPreflight;

/* probe.c */
/* Adds a question; steals params. `what` NULL: no note is made of its failure. */
AwsProbe *aws_probe(AwsPreflight *preflight, const char *action, const AwsShape *shape,
	json_t *params, const char *what);
/* Was it asked and answered? Its records are complete then. */
bool aws_probe_ok(const AwsProbe *probe);
const json_t *aws_probe_record(const AwsProbe *probe, const char *key, const char *value);
/* All open ones, concurrently. */
rgp_status aws_probes_send(const AwsPreflight *preflight);
void aws_probe_free(gpointer probe);

const char *aws_attribute_of(const json_t *create, const char *name);

/* The checks: ask adds questions, check reports. */
void aws_ask_quotas(AwsPreflight *preflight);
void aws_check_quotas(AwsPreflight *preflight);
void aws_ask_places(AwsPreflight *preflight); /* types, zones, images */
void aws_check_places(AwsPreflight *preflight);
void aws_ask_ways(AwsPreflight *preflight); /* subnets, routes */
void aws_check_ways(AwsPreflight *preflight);
void aws_ask_rights(AwsPreflight *preflight); /* dry runs, instance profiles */
void aws_check_rights(AwsPreflight *preflight);
void aws_ask_pull(AwsPreflight *preflight); /* after the answers about the profile */
void aws_check_pull(AwsPreflight *preflight);
/* Whether the image is in Amazon ECR; in that region, unless it is NULL. */
bool aws_pulls_from_ecr(const AwsPreflight *preflight, const char *region);
