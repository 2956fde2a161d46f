/* GLPK ends the process where it finds itself in a wrong state, which rounding can bring about. Its
 * error hook may leave by longjmp instead; after that, glp_free_env is all that may be called. */
#include <glpk.h>
#include <setjmp.h>
#include "pack/internal.h"

static void leave(void *info)
{
	longjmp(*(jmp_buf *)info, 1);
}

/* What it writes about the error goes nowhere. */
static int discard(void *info, const char *text)
{
	return 1;
}

bool rg_glpk_try(void (*work)(gpointer data), gpointer data)
{
	jmp_buf back;
	glp_term_hook(discard, NULL);
	glp_error_hook(leave, &back);
	if (setjmp(back) != 0)
		return false;
	work(data);
	glp_error_hook(NULL, NULL);
	return true;
}
