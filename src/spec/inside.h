/* Private to src/spec. A checkout may hold symbolic links that somebody else made: one that leads
 * out of the work tree would have raygpu read, and show in its messages, what lies beside it. */
#pragma once
#include <stdbool.h>

/* false: the path lies in a git work tree, and the file that it leads to doesn't. Every work tree
 * around the path counts, and links of folders as those of files. */
bool spec_is_inside(const char *path);
