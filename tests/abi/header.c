/* The installed header compiled alone, as C11 and as C++17, under strict flags. */
#include "raygpu/provider.h"

static struct rgp_provider empty;

int main(void)
{
	return RGP_HAS(&empty, preflight) ? 1 : 0;
}
