#include "doctor/checkup.h"
#include "catalog/compat.h"

/* raygpu doctor: what would stop a plan or an apply, and what to do about it. Changes nothing. */

static const char *const of_clouds[] = {
	"credentials", "account", "clock", "endpoints", "permissions", "quotas", "plan", NULL};

/* Whether the versions that the spec names are in the compatibility table. */
static void report_ray(Doctor *doctor, const RgCluster *cluster)
{
	g_autoptr(RgDiags) found = rg_diags_new();
	g_autoptr(RgCompat) compat = rg_compat_open(found);
	if (!compat || doctor_has_findings(doctor, "versions"))
		return;
	doctor_ok(doctor, "versions", "Ray %s: checked against the compatibility table of %s",
		cluster->ray.version, rg_compat_ray_date(compat));
}

/* NULL: the spec has errors, which are in the report. */
static RgPass *check_spec(Doctor *doctor)
{
	Context *context = doctor->context;
	g_autoptr(RgDiags) found = rg_diags_new();
	g_autoptr(RgCluster) checked = rg_pipeline_validate(
		context->providers, doctor->spec, context->ref, context->trusted, found);
	/* with errors too: which module it needs */
	g_autoptr(RgDiags) unread = rg_diags_new();
	g_autoptr(RgProvenance) provenance = NULL;
	g_autoptr(RgCluster) any = rg_specs_load(doctor->spec, context->ref, &provenance, unread);
	if (!doctor_check_modules(doctor, any ? any->provider.name : NULL))
		rg_diags_drop(found, "provider.not-found"); /* the module says more */
	g_autoptr(RgPass) pass =
		checked ? rg_pipeline_load(doctor->spec, context->ref, context->trusted, found)
			: NULL;
	doctor->cluster =
		checked ? g_strdup(checked->name) : rg_specs_name(doctor->spec, context->ref);
	doctor_take_by_code(doctor, "spec", found);
	if (!pass)
		return NULL;
	if (!doctor_has_findings(doctor, "spec")) {
		const RgProviderRef *provider = &checked->provider;
		g_autofree char *place = rg_place_text(provider->name, provider->region);
		doctor_ok(doctor, "spec", "%s is valid: cluster %s in %s", doctor->spec,
			checked->name, place);
	}
	report_ray(doctor, checked);
	doctor_check_connect(doctor, checked);
	return g_steal_pointer(&pass);
}

void doctor_examine(Doctor *doctor)
{
	Context *context = doctor->context;
	context_open_providers(context);
	doctor_check_versions(doctor);
	/* a file that is not there is one error, of the spec */
	bool there =
		doctor->spec && (context->ref || g_file_test(doctor->spec, G_FILE_TEST_EXISTS));
	if (there)
		doctor_check_git(doctor);
	else if (doctor->spec)
		doctor_skip(doctor, "the spec cannot be read", (const char *const[]){"git", NULL});
	else
		doctor_skip(doctor, "there is no spec", (const char *const[]){"git", "spec", NULL});
	g_autoptr(RgPass) pass = doctor->spec ? check_spec(doctor) : NULL;
	if (!doctor->spec)
		doctor_check_modules(doctor, NULL);
	doctor_check_proxies(doctor);
	bool readable = doctor_check_state(doctor);
	if (!readable)
		doctor_skip(doctor, "the state cannot be read", of_clouds);
	else if (doctor->spec && !pass)
		doctor_skip(doctor, "the spec has errors", of_clouds);
	else
		doctor_check_clouds(doctor, pass);
}

static int doctor_run(Context *context, const char *spec)
{
	Doctor doctor;
	doctor_init(&doctor, context, spec);
	doctor_examine(&doctor);
	json_auto_t *document = doctor_document(&doctor);
	g_autofree char *text = rg_render_doctor(document, &context->out);
	int code = signals_came(NULL) ? EXIT_INTERRUPTED : doctor.exit_code;
	if (context->json)
		out_json(document);
	else
		out_text(text);
	doctor_clear(&doctor);
	return code;
}

int cmd_doctor(Context *context, int argc, char **argv)
{
	const GOptionEntry entries[] = {
		REF_ENTRY(context),
		{NULL, 0, 0, 0, NULL, NULL, NULL},
	};
	int code = EXIT_FINE;
	if (!options_parse(context, entries, &argc, &argv, 0, 1, &code))
		return code;
	if (g_strcmp0(argv[1], "-") == 0) {
		rg_diags_error(context->diags, "usage.bad-argument",
			"raygpu doctor cannot read the spec from standard input");
		return EXIT_USAGE;
	}
	signals_start();
	const char *here = g_file_test(DEFAULT_SPEC, G_FILE_TEST_EXISTS) ? DEFAULT_SPEC : NULL;
	return doctor_run(context, argv[1] ? argv[1] : here);
}
