/* The interface of a fuzz target: one function that accepts any bytes. Linked with libFuzzer
 * (-Dfuzz=true, clang) it searches for faults; linked with walk.c it runs its corpus in every
 * `meson test`, so that fixed faults stay fixed. A target aborts (g_assert) on a broken promise;
 * the sanitizers detect crashes, leaks and undefined behaviour. README.md explains how to run
 * it. */
#pragma once
#include <glib.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
