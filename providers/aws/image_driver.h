/* Which NVIDIA driver a machine image contains, as far as its name says. */
#pragma once
#include <jansson.h>

/* The member "driver" of an image's facts (raygpu-provider(7)); a new reference, NULL: the name
 * says nothing. */
json_t *aws_image_driver(const char *name);
