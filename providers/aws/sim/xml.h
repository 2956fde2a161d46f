/* The one XML writer: documents are JSON in wire spelling, so writing one is a walk over it. */
#pragma once
#include <glib.h>
#include <jansson.h>

/* <name>...</name> for any value: members in order, a list's entries as <item>, members whose name
 * begins with "_" left out (they are the simulator's own). Empty values become <name/>. */
void rg_sim_xml_value(GString *out, const char *name, const json_t *value);
void rg_sim_xml_text(GString *out, const char *name, const char *text);
void rg_sim_xml_open(GString *out, const char *name);
void rg_sim_xml_close(GString *out, const char *name);
