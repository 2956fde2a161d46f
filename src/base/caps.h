/* The maximum size of everything that comes from outside, checked before memory is allocated. All
 * limits are here. */
#pragma once

#define RG_CAP_SPEC_BYTES (1024 * 1024)
#define RG_CAP_YAML_NODES 200000
#define RG_CAP_YAML_DEPTH 64
#define RG_CAP_YAML_ALIAS_NODES 100000	      /* nodes that aliases produce */
#define RG_CAP_YAML_ALIAS_BYTES (1024 * 1024) /* text that aliases produce */
#define RG_CAP_YAML_KEY_BYTES 1024
#define RG_CAP_YAML_POINTER_BYTES (32 * 1024 * 1024) /* of the JSON pointers of all values */
#define RG_CAP_SPEC_EXTENDS 8	 /* files that a spec extends, one after the other */
#define RG_CAP_SPEC_FINDINGS 100 /* errors of one file that are shown */
#define RG_CAP_JSON_DEPTH 256
#define RG_CAP_POOLS 200
#define RG_CAP_NODES 100000 /* nodes of one cluster */
#define RG_CAP_PLAN_BYTES (512 * 1024 * 1024)
#define RG_CAP_STATE_BYTES (512 * 1024 * 1024) /* of a pulled state */
#define RG_CAP_STATE_VALUES 20000000
#define RG_CAP_HTTP_BODY (64 * 1024 * 1024)
#define RG_CAP_HTTP_HEADERS (256 * 1024)
#define RG_CAP_PROVIDER_RESULT (64 * 1024 * 1024)
#define RG_CAP_CONSOLE (256 * 1024)	     /* of one machine */
#define RG_CAP_FILE_BYTES (16 * 1024 * 1024) /* credentials and config files */
#define RG_CAP_LABELS 40
