/* Out of memory is an error with a clear text, not a crash: hardly any library checks all of its
 * allocations, and GLib 2.74 recurses without end if it cannot allocate its own message. So the
 * program's malloc never returns NULL, nor what GLib's slices come from, posix_memalign. Not in
 * builds with sanitizers, which have their own malloc (meson.build). */
#include "command.h"
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* glibc's own, "Replacing malloc" in its manual */
void *__libc_malloc(size_t size);
void *__libc_calloc(size_t n, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

#define OF_ALL __attribute__((visibility("default"))) /* also for the libraries */

/* Nothing here may allocate. Any thread. */
static G_GNUC_NORETURN void end_out_of_memory(void)
{
	static const char text[] = "\nError: out of memory\n  hint: give raygpu more memory and "
				   "run the command again; your state is safe\n";
	if (write(STDERR_FILENO, text, strlen(text)) < 0)
		exits_end_now(EXIT_ERROR);
	exits_end_now(EXIT_ERROR);
}

OF_ALL void *malloc(size_t size)
{
	void *memory = __libc_malloc(size);
	if (!memory)
		end_out_of_memory();
	return memory;
}

OF_ALL void *calloc(size_t n, size_t size)
{
	void *memory = __libc_calloc(n, size);
	if (!memory)
		end_out_of_memory();
	return memory;
}

OF_ALL void *realloc(void *memory, size_t size)
{
	void *moved = __libc_realloc(memory, size);
	if (!moved && size)
		end_out_of_memory();
	return moved;
}

OF_ALL int posix_memalign(void **memory, size_t alignment, size_t size)
{
	bool valid =
		alignment && alignment % sizeof(void *) == 0 && (alignment & (alignment - 1)) == 0;
	if (!valid)
		return EINVAL;
	*memory = __libc_memalign(alignment, size);
	if (!*memory)
		end_out_of_memory();
	return 0;
}
