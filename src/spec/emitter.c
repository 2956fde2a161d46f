#include "spec/emitter.h"

static int append(void *data, unsigned char *bytes, size_t len)
{
	g_string_append_len(data, (const char *)bytes, (gssize)len);
	return 1;
}

void rg_emitter_emit(yaml_emitter_t *yaml, yaml_event_t *event)
{
	g_assert_true(yaml_emitter_emit(yaml, event));
}

void rg_emitter_begin(yaml_emitter_t *yaml, GString *out, int width)
{
	yaml_event_t event;
	g_assert_true(yaml_emitter_initialize(yaml));
	yaml_emitter_set_output(yaml, append, out);
	yaml_emitter_set_unicode(yaml, 1);
	yaml_emitter_set_width(yaml, width);
	yaml_stream_start_event_initialize(&event, YAML_UTF8_ENCODING);
	rg_emitter_emit(yaml, &event);
	yaml_document_start_event_initialize(&event, NULL, NULL, NULL, 1);
	rg_emitter_emit(yaml, &event);
}

void rg_emitter_end(yaml_emitter_t *yaml)
{
	yaml_event_t event;
	yaml_document_end_event_initialize(&event, 1);
	rg_emitter_emit(yaml, &event);
	yaml_stream_end_event_initialize(&event);
	rg_emitter_emit(yaml, &event);
	yaml_emitter_delete(yaml);
}
