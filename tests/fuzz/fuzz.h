/* What every fuzz target is: one function that eats any bytes. Linked with libFuzzer
 * (-Dfuzz=true, clang) it hunts; linked with walk.c it eats its corpus in every `meson test`, so
 * that what was found once stays mended. A target aborts (g_assert) on a broken promise; crashes,
 * leaks and undefined behaviour are the sanitizers' to see. README.md tells how to run. */
#pragma once
#include <glib.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
