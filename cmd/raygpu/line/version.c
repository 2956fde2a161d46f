#include "command.h"
#include "config.h"
#include "raygpu/provider.h"

int cmd_version(Context *context, int argc, char **argv)
{
	int code = EXIT_FINE;
	if (!options_parse(context, NULL, &argc, &argv, 0, 0, &code))
		return code;
	if (!context->json) {
		out_text("raygpu " RG_VERSION "\n");
		return EXIT_FINE;
	}
	json_auto_t *version = json_object();
	rg_json_set_str(version, "version", RG_VERSION);
	json_object_set_new(version, "provider_abi", json_integer(RGP_ABI_MAJOR));
	out_json(version);
	return EXIT_FINE;
}
