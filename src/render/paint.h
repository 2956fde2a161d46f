/* Colours and widths of the texts in this folder. */
#pragma once
#include "render/render.h"

#define RED "31"
#define GREEN "32"
#define YELLOW "33"
#define CYAN "36"
#define BOLD "1"
#define DIM "2"

/* Appends text between the escape codes, or plain. */
void paint(GString *to, const RgStyle *style, const char *code, const char *text);
void paintf(GString *to, const RgStyle *style, const char *code, const char *format, ...)
	G_GNUC_PRINTF(4, 5);
/* Appends words of `text` wrapped to the width, every line after `indent`. */
void wrap(GString *to, const RgStyle *style, const char *indent, const char *text);
unsigned style_width(const RgStyle *style);
/* One attribute value on one line: JSON, references as "address.attr", long texts by their size. */
char *value_text(json_t *value);
