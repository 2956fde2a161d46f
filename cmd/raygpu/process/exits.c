/* A module, or a library below it, that calls exit would end an apply in the middle with its own
 * status, 0 for example, and without a word. These definitions take precedence over the C library's
 * also in modules. main ends by returning into the C library, which does not use them; out of
 * memory by exits_end_now. The state is as after a kill: the next apply continues. */
#include "command.h"
#include "provider/provider.h"
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#define OF_ALL __attribute__((visibility("default"))) /* also for modules and libraries */

typedef void (*ExitFn)(int status);

static pid_t program; /* a child process may end as it likes */
static ExitFn libc_exit, libc_quick_exit;

static ExitFn of_libc(const char *name)
{
	void *address = dlsym(RTLD_NEXT, name);
	ExitFn function; /* dlsym's documented idiom: C has no cast from object to function */
	memcpy(&function, &address, sizeof function);
	return function;
}

void exits_start(void)
{
	libc_exit = of_libc("exit");
	libc_quick_exit = of_libc("quick_exit");
	program = getpid();
}

void exits_end_now(int status)
{
	for (;;)
		syscall(SYS_exit_group, status);
}

static void put(const char *text)
{
	if (write(STDERR_FILENO, text, strlen(text)) < 0)
		return;
}

/* The thread may hold any lock, also that of malloc or of a stream: takes none. */
static void explain(void)
{
	const char *call = NULL, *module = rg_provider_running(&call);
	put("\nError: ");
	if (module) {
		put("module ");
		put(module);
		put(" ended the process ");
		put(call ? "in " : "while it was being loaded");
		put(call ? call : "");
		put("\n  hint: this is a bug in the module: report it to the module's author;");
	} else {
		put("a library ended the process\n  hint: this is a bug in it;");
	}
	put(" your state is safe: run the command again\n");
}

/* `flush`: as exit does; but a thread that waits in a write, maybe for ever, holds the lock of
 * stdout. `forward`: what a child process calls. */
static G_GNUC_NORETURN void end(int status, bool flush, ExitFn forward)
{
	if (!program || getpid() != program) {
		if (forward)
			forward(status);
		exits_end_now(status);
	}
	explain();
	if (flush && ftrylockfile(stdout) == 0)
		fflush_unlocked(stdout);
	exits_end_now(EXIT_ERROR);
}

OF_ALL G_GNUC_NORETURN void exit(int status)
{
	end(status, true, libc_exit);
}

OF_ALL G_GNUC_NORETURN void quick_exit(int status)
{
	end(status, false, libc_quick_exit);
}

OF_ALL G_GNUC_NORETURN void _exit(int status)
{
	end(status, false, NULL);
}

OF_ALL G_GNUC_NORETURN void _Exit(int status)
{
	end(status, false, NULL);
}
