/* libyaml's emitter of one document into a text. Allocation is the only way in which it can fail
 * here; GLib ends the program for that too. */
#pragma once
#include <glib.h>
#include <yaml.h>

/* `width`: of a line; -1: no limit */
void rg_emitter_begin(yaml_emitter_t *yaml, GString *out, int width);
void rg_emitter_emit(yaml_emitter_t *yaml, yaml_event_t *event);
void rg_emitter_end(yaml_emitter_t *yaml);
