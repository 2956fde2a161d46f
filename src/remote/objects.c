#include "remote/objects.h"

void rg_object_clear(RgObject *object)
{
	g_clear_pointer(&object->content, g_bytes_unref);
	g_clear_pointer(&object->version, g_free);
	object->age_s = -1;
}
