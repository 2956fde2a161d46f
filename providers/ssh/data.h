/* The module's own embedded files. */
#pragma once
#include "common/data.h"

MOD_DATA(ssh)
