/* Which NVIDIA driver a machine image contains, according to its name. */
#pragma once
#include <jansson.h>

/* The member "driver" of an image's facts (raygpu-provider(7)); a new reference, NULL: the name
 * does not say. */
json_t *aws_image_driver(const char *name);
