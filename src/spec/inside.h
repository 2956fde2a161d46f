/* Private to src/spec. A checkout may contain symbolic links from someone else: one that leads out
 * of the work tree would make raygpu read files outside it and show them in its messages. */
#pragma once
#include <stdbool.h>

/* false: the path is in a git work tree, and the file that it leads to is not. Every work tree
 * around the path counts, and links of folders as well as of files. */
bool spec_is_inside(const char *path);
/* Whether it leads into a folder ".git": git's own files, which may contain credentials. */
bool spec_is_gits(const char *path);
/* false: `file` is in a git work tree, and `other` is outside of the nearest one. */
bool spec_is_beside(const char *file, const char *other);
