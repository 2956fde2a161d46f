/* cmd/raygpu/process/exits.c: each test forks the program, so that exit ends only the child. */
#include "command.h"
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

typedef struct {
	int status; /* as waitpid has it */
	char *out, *err;
} Ended;

static void ended_clear(Ended *ended)
{
	g_free(ended->out);
	g_free(ended->err);
}
G_DEFINE_AUTO_CLEANUP_CLEAR_FUNC(Ended, ended_clear)

static char *all_of(int fd)
{
	char text[4096];
	size_t len = 0;
	ssize_t n;
	while ((n = read(fd, text + len, sizeof text - len)) > 0)
		len += (size_t)n;
	close(fd);
	return g_strndup(text, len);
}

static Ended run(void (*program)(void))
{
	int out[2], err[2];
	g_assert_true(pipe(out) == 0 && pipe(err) == 0);
	fflush(stdout);
	pid_t child = fork();
	if (child == 0) {
		dup2(out[1], STDOUT_FILENO);
		dup2(err[1], STDERR_FILENO);
		for (int i = 0; i < 2; i++) {
			close(out[i]);
			close(err[i]);
		}
		alarm(60); /* instead of a hang */
		exits_start();
		program();
		abort();
	}
	close(out[1]);
	close(err[1]);
	Ended ended = {.out = all_of(out[0]), .err = all_of(err[0])};
	g_assert_cmpint(waitpid(child, &ended.status, 0), ==, child);
	return ended;
}

static void is_explained(const Ended *ended)
{
	g_assert_true(WIFEXITED(ended->status));
	g_assert_cmpint(WEXITSTATUS(ended->status), ==, EXIT_ERROR);
	g_assert_true(g_str_has_prefix(ended->err, "\nError: a library ended the process\n"));
}

static void handler(void)
{
	static const char text[] = "handler\n";
	g_assert_cmpint(write(STDOUT_FILENO, text, strlen(text)), >, 0);
}

static void exits(void)
{
	atexit(handler);
	fputs("buffered\n", stdout);
	exit(0);
}

static void a_library_that_exits_gets_an_error(void)
{
	g_auto(Ended) ended = run(exits);
	is_explained(&ended);
	g_assert_cmpstr(ended.out, ==, "buffered\n");
}

static void exits_at_once(void)
{
	fputs("buffered\n", stdout);
	_exit(0);
}

static void exits_quickly(void)
{
	fputs("buffered\n", stdout);
	quick_exit(0);
}

static void only_exit_flushes(void)
{
	void (*const programs[])(void) = {exits_at_once, exits_quickly};
	for (size_t i = 0; i < G_N_ELEMENTS(programs); i++) {
		g_auto(Ended) ended = run(programs[i]);
		is_explained(&ended);
		g_assert_cmpstr(ended.out, ==, "");
	}
}

static void *exits_in_thread(void *unused)
{
	exit(0);
}

static void main_holds_stdout(void)
{
	flockfile(stdout); /* as in a write to a pipe that nobody reads */
	pthread_t thread;
	pthread_create(&thread, NULL, exits_in_thread, NULL);
	pthread_join(thread, NULL);
}

static void waits_for_no_lock(void)
{
	g_auto(Ended) ended = run(main_holds_stdout);
	is_explained(&ended);
}

static void has_a_child(void)
{
	pid_t child = fork();
	if (child == 0) {
		atexit(handler);
		fputs("buffered\n", stdout);
		exit(7);
	}
	int status = 0;
	waitpid(child, &status, 0);
	exits_end_now(WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_ERROR);
}

static void has_a_quick_child(void)
{
	pid_t child = fork();
	if (child == 0) {
		g_assert_cmpint(at_quick_exit(handler), ==, 0);
		quick_exit(7);
	}
	int status = 0;
	waitpid(child, &status, 0);
	exits_end_now(WIFEXITED(status) ? WEXITSTATUS(status) : EXIT_ERROR);
}

static void a_child_process_ends_as_it_likes(void)
{
	g_auto(Ended) ended = run(has_a_child);
	g_assert_cmpint(WEXITSTATUS(ended.status), ==, 7);
	g_assert_cmpstr(ended.out, ==, "handler\nbuffered\n");
	g_assert_cmpstr(ended.err, ==, "");
	g_auto(Ended) quick = run(has_a_quick_child);
	g_assert_cmpint(WEXITSTATUS(quick.status), ==, 7);
	g_assert_cmpstr(quick.out, ==, "handler\n");
	g_assert_cmpstr(quick.err, ==, "");
}

int main(int argc, char **argv)
{
	g_test_init(&argc, &argv, NULL);
	g_test_add_func("/exits/library", a_library_that_exits_gets_an_error);
	g_test_add_func("/exits/flush", only_exit_flushes);
	g_test_add_func("/exits/lock", waits_for_no_lock);
	g_test_add_func("/exits/child", a_child_process_ends_as_it_likes);
	return g_test_run();
}
