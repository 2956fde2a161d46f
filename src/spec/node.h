/* A YAML file as a tree of nodes with places: libyaml's events, before any decision about types.
 * Between the text and document.h's JSON; used by src/spec only. The tree owns its nodes, whose
 * aliases point across it, never back up: a node cannot contain itself. */
#pragma once
#include "base/diag.h"

typedef enum { RG_NODE_SCALAR, RG_NODE_LIST, RG_NODE_MAP, RG_NODE_ALIAS } RgNodeKind;

typedef struct RgNode RgNode;
struct RgNode {
	RgNodeKind kind;
	bool plain;    /* a scalar without quotes: its text determines its type */
	bool is_open;  /* only while parsing: its end has not been reached */
	bool reported; /* it already has a finding */
	RgSource source;
	char *text;	      /* of a scalar, UTF-8 without NUL */
	GPtrArray *items;     /* RgNode*: of a list; alternating keys and values of a map */
	const RgNode *target; /* of an alias */
};

typedef struct {
	GPtrArray *nodes; /* owns every RgNode */
	RgNode *root;
	RgDiags *findings; /* of rg_tree_parse_each; otherwise NULL */
} RgTree;

/* NULL if the text is not one YAML document, or exceeds the limits. `file` is interned. Smaller
 * findings (a tag, an unknown anchor) are added to `diags` and a tree is still returned. */
RgTree *rg_tree_parse(const char *file, const char *text, size_t len, RgDiags *diags);
/* The documents of a file that may have several, RgTree*, each with its own findings; empty ones
 * are left out. NULL and diagnostics if the text cannot be read as a whole, or is empty. */
GPtrArray *rg_tree_parse_each(const char *file, const char *text, size_t len, RgDiags *diags);
void rg_tree_free(RgTree *tree);
G_DEFINE_AUTOPTR_CLEANUP_FUNC(RgTree, rg_tree_free)

/* Moves a place past one byte of UTF-8 text. */
void rg_source_pass(RgSource *source, char byte);
