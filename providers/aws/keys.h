/* The sources of AWS keys, one file per kind: environment and profiles (keys_profile.c), roles
 * through STS (keys_sts.c), the machine that we run on (keys_machine.c). credentials.c tries them
 * in order and keeps the result. Every secret is registered for redaction as soon as it is
 * known. */
#pragma once
#include "aws/aws.h"

typedef struct AwsKeys {
	char *access_key, *secret_key, *session_token; /* session_token may be NULL */
	int64_t expires_s;			       /* Unix seconds; 0 = never */
	char *from; /* where they were found, in words; may be NULL: the chain knows */
} AwsKeys;

/* The JSON for rgp_http_req.auth; g_free, NULL if a key is not UTF-8. */
char *aws_auth_format(const AwsCall *call, const char *service, const AwsKeys *keys);

void aws_keys_clear(AwsKeys *keys);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AwsKeys, aws_keys_clear)

typedef enum {
	AWS_KEYS_FOUND,
	AWS_KEYS_NOT_HERE,
	AWS_KEYS_BROKEN, /* configured but not available: a diagnostic was reported */
	AWS_KEYS_CANCELED,
} AwsSearch;

/* State of a search: places without keys, for the final message. */
typedef struct {
	const AwsCall *call;
	const char *profile; /* its name, "default" if nobody names one */
	bool named;	     /* by the spec or AWS_PROFILE: it must exist */
	GString *looked;
	GKeyFile *credentials_file, *config_file; /* empty if there is no such file */
	const char *credentials_path, *config_path;
} AwsChain;

const char *aws_keys_env(const AwsCall *call, const char *name); /* NULL if unset or empty */
AwsSearch aws_keys_broken(const AwsCall *call, const char *hint, const char *format, ...)
	G_GNUC_PRINTF(3, 4);
void aws_keys_looked(AwsChain *chain, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* From a JSON document of AWS's (container, metadata, credential_process); `token` names its member
 * with the session token, `source` is the place for diagnostics. */
AwsSearch aws_keys_from_json(const AwsCall *call, const char *source, struct rgp_bytes text,
	const char *token, AwsKeys *keys);
/* Unix seconds of an ISO 8601 time; 0 if it is invalid. */
int64_t aws_keys_time(const char *text);
void aws_keys_hide(const AwsCall *call, const char *secret);

/* chain.c */
/* Sets the profile's name, the files and the places searched. */
AwsChain aws_chain_open(const AwsCall *call);
void aws_chain_clear(AwsChain *chain);
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(AwsChain, aws_chain_clear)
/* The config file's section of a profile; g_free. */
char *aws_chain_section(const char *profile);
/* A profile's setting, from the credentials file before the config file; or one of a section of the
 * config file, nested ones as "ec2.endpoint_url". g_free, NULL if not set. */
char *aws_chain_value(const AwsChain *chain, const char *profile, const char *key);
char *aws_chain_section_value(const AwsChain *chain, const char *section, const char *key);

/* keys_profile.c */
AwsSearch aws_keys_from_env(const AwsCall *call, AwsKeys *keys);
/* The profile's role with source_profile or credential_source. */
AwsSearch aws_keys_from_profile_role(AwsChain *chain, AwsKeys *keys);
/* The profile's other sources: web identity, SSO, keys, credential_process. */
AwsSearch aws_keys_from_profile(AwsChain *chain, AwsKeys *keys);

/* keys_sts.c */
typedef struct {
	const char *arn, *session, *external_id, *duration; /* all but arn may be NULL */
	const char *token_file;				    /* set: web identity, unsigned */
	const char *asked_by; /* "section [profile ci] of ~/.aws/config" */
} AwsRole;

/* `source`: keys that sign; not used with a token_file. */
AwsSearch aws_keys_assume(
	const AwsCall *call, const AwsRole *role, const AwsKeys *source, AwsKeys *keys);
AwsSearch aws_keys_from_web_identity_env(const AwsCall *call, AwsKeys *keys);

/* keys_sso.c */
AwsSearch aws_keys_from_sso(const AwsChain *chain, const char *profile, AwsKeys *keys);

/* keys_machine.c */
AwsSearch aws_keys_from_container(AwsChain *chain, AwsKeys *keys);
AwsSearch aws_keys_from_metadata(AwsChain *chain, AwsKeys *keys);
