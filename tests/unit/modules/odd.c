/* Faulty modules for the loader's tests, after p11-kit's mock modules: one shared object per fault,
 * selected by -DODD_FAULT=n, named by -DODD_NAME. Fault 0 is valid. */
#include <locale.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "raygpu/provider.h"

enum {
	SOUND,
	NOSYM,
	OLDER,
	NEWER,
	NULLTAB,
	MAJOR,
	SHORT,
	NOREQUIRED,
	WRONGNAME,
	LONGNAME,
	NOVERSION,
	BADJSON,
	BADSHAPE,
	OTHER,
	STRANGEKIND,
	BADDEFAULT,
	BADCONFIG,
	NOSCHEMA,
	TWICE,
	IMPURE,
	OPENFAILS,
	MINOR,
	NONAME,
	BADNAME,
	EMPTY,
	UNDEFINED,
	FALLS,
	EXITS,
	CHDIR,
	UMASK,
	LOCALE,
	SETENV,
	SIGNAL,
	SIGMASK,
	FORKS,
	PRINTS,
	HANGS,
};

#define KIND_BODY                                                                                  \
	"{\"version\":1,\"batch\":{\"create\":1,\"update\":1,\"remove\":1},"                       \
	"\"attributes\":{\"size\":{\"type\":\"integer\",\"default\":"
#define HEAD(name) "{\"format\":1,\"provider\":\"" name "\","
#define LIMITS "\"boot\":{\"by\":\"nothing\"},\"limits\":{\"requests_per_s\":1,\"burst\":1},"
#define SCHEMA(name, kind, value)                                                                  \
	HEAD(name) LIMITS "\"kinds\":{\"" kind "\":" KIND_BODY value "}}}}}"

static const char *schema_text(void)
{
	switch (ODD_FAULT) {
	case BADJSON:
		return "{\"format\": 1,";
	case BADSHAPE:
		return HEAD(ODD_NAME) LIMITS "\"kind\":{}}";
	case OTHER:
		return SCHEMA("other", "other.thing", "1");
	case STRANGEKIND:
		return SCHEMA(ODD_NAME, "raygpu.secret", "1");
	case BADDEFAULT:
		return SCHEMA(ODD_NAME, ODD_NAME ".thing", "\"1\"");
	case BADCONFIG:
		return HEAD(ODD_NAME) LIMITS "\"config\":{\"knob\":1},\"kinds\":{}}";
	default:
		return SCHEMA(ODD_NAME, ODD_NAME ".thing", "1");
	}
}

static rgp_status odd_schema(const struct rgp_host *host, struct rgp_call *call)
{
	const char *text = schema_text();
	struct rgp_bytes bytes = {text, strlen(text)};
	if (ODD_FAULT == NOSCHEMA)
		return RGP_OK;
	if (ODD_FAULT == IMPURE)
		host->env(call, "HOME");
	if (ODD_FAULT == TWICE)
		host->result(call, "schema", bytes);
	return host->result(call, "schema", bytes);
}

/* What a module must not do to its process. */
static void misbehave(void)
{
	sigset_t usr1;
	switch (ODD_FAULT) {
	case CHDIR:
		(void)!chdir("/");
		break;
	case UMASK:
		umask(0123);
		break;
	case LOCALE:
		setlocale(LC_ALL, "C.UTF-8");
		break;
	case SETENV:
		setenv("ODD_MODULE", "was here", 1);
		break;
	case SIGNAL:
		signal(SIGUSR2, SIG_IGN);
		break;
	case SIGMASK:
		sigemptyset(&usr1);
		sigaddset(&usr1, SIGUSR1);
		pthread_sigmask(SIG_BLOCK, &usr1, NULL);
		break;
	case FORKS:
		if (fork() == 0)
			_exit(0);
		break;
	case PRINTS:
		(void)!write(STDOUT_FILENO, "hello\n", 6);
		break;
	case HANGS:
		for (;;)
			pause();
	default:
		break;
	}
}

static rgp_status odd_open(const struct rgp_host *host, struct rgp_call *call,
	const struct rgp_args *args, struct rgp_inst **inst)
{
	(void)args;
	*inst = NULL;
	misbehave();
	if (ODD_FAULT != OPENFAILS)
		return RGP_OK;
	struct rgp_diag diag = {.size = sizeof(diag),
		.class_ = RGP_CLASS_DENIED,
		.summary = "no credentials found",
		.hint = "set ODD_KEY"};
	host->diag(call, &diag);
	return RGP_FAIL;
}

static void odd_close(struct rgp_inst *inst)
{
	(void)inst;
}

#if ODD_FAULT == 25
void odd_function_that_nobody_has(void);
#endif

static rgp_status odd_call(struct rgp_inst *inst, const struct rgp_host *host,
	struct rgp_call *call, const struct rgp_args *args)
{
	(void)inst, (void)host, (void)call, (void)args;
#if ODD_FAULT == 25
	odd_function_that_nobody_has();
#elif ODD_FAULT == 26
	__builtin_trap();
#elif ODD_FAULT == 27
	_exit(7);
#endif
	return RGP_UNSUPPORTED;
}

/* A later minor version's table: ours, with something after it. */
static const struct {
	struct rgp_provider table;
	void *later;
} odd = {{
		 .size = ODD_FAULT == EMPTY   ? 0
			 : ODD_FAULT == SHORT ? 48
			 : ODD_FAULT == MINOR ? sizeof(odd)
					      : sizeof(odd.table),
		 .abi_major = ODD_FAULT == MAJOR ? 3 : RGP_ABI_MAJOR,
		 .abi_minor = ODD_FAULT == MINOR ? 9 : RGP_ABI_MINOR,
		 .name = ODD_FAULT == WRONGNAME ? "other"
			 : ODD_FAULT == NONAME	? NULL
			 : ODD_FAULT == BADNAME ? "../odd"
			 : ODD_FAULT == LONGNAME
				 ? "a_name_that_is_much_longer_than_any_provider_may_have"
				 : ODD_NAME,
		 .version = ODD_FAULT == NOVERSION ? NULL : "1.2.3",
		 .schema = odd_schema,
		 .open = odd_open,
		 .close = odd_close,
		 .resolve = odd_call,
		 .lower = odd_call,
		 .list = ODD_FAULT == NOREQUIRED ? NULL : odd_call,
		 .create = odd_call,
		 .remove = odd_call,
	 },
	NULL};

/* The entry under the name that the fault requires. */
#if ODD_FAULT == 1
#define ENTRY odd_hidden_entry
#elif ODD_FAULT == 2
#define ENTRY raygpu_provider_v0
#elif ODD_FAULT == 3
#define ENTRY raygpu_provider_v2
#else
#define ENTRY raygpu_provider_v1
#endif
__attribute__((visibility("default"))) const struct rgp_provider *ENTRY(void);
__attribute__((visibility("default"))) const struct rgp_provider *ENTRY(void)
{
	return ODD_FAULT == NULLTAB ? NULL : &odd.table;
}
