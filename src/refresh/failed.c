/* No kind could be read, all for one reason: the cloud refuses the caller, or there is no
 * connection. Then there is nothing to compare, and the reason is reported once. */
#include "refresh/internal.h"
#include <string.h>

static const RgDiag *first_error(const RgReader *reader)
{
	rg_diags_foreach (diag, reader->diags) {
		if (diag->severity == RG_SEVERITY_ERROR)
			return diag;
	}
	return NULL;
}

/* Its text names the URL, which may be another one for each kind. */
static bool is_no_connection(const RgDiag *error)
{
	return g_str_equal(error->code, "http.connect") || g_str_equal(error->code, "http.tls");
}

/* By the cloud's own code, because its text names the call; without a code, by the text. */
static bool is_alike(const RgDiag *a, const RgDiag *b)
{
	return g_str_equal(a->code, b->code) && g_strcmp0(a->cloud_code, b->cloud_code) == 0 &&
	       (a->cloud_code || is_no_connection(a) || g_str_equal(a->summary, b->summary));
}

/* Any other failure may affect only some kinds. */
static bool concerns_all(const RgDiag *error)
{
	return g_str_equal(error->code, rg_class_code(RG_CLASS_DENIED)) ||
	       g_str_has_prefix(error->code, "http.");
}

bool rg_readers_all_failed(const GPtrArray *readers)
{
	const RgDiag *reason = NULL;
	rg_ptr_foreach (const RgReader, reader, readers) {
		const RgDiag *error = reader->ok ? NULL : first_error(reader);
		if (!error || !concerns_all(error) || (reason && !is_alike(reason, error)))
			return false;
		reason = error;
	}
	return reason != NULL;
}

void rg_refresh_report_failed(const GPtrArray *readers, RgDiags *diags)
{
	const RgReader *first = g_ptr_array_index(readers, 0);
	rg_diags_take_all(diags, first->diags);
}
