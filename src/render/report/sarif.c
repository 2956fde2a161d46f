#include "render/report/findings.h"
#include <string.h>

/* SARIF 2.1.0 (OASIS, sections 3.13 to 3.30): the required members and those that GitHub code
 * scanning reads. GitHub shows 5,000 results per run. */

#define RESULTS 5000

static json_t *place_of(const char *file, const RgSource *at)
{
	unsigned line = MAX(at->line, 1), column = MAX(at->column, 1);
	g_autofree char *uri = g_uri_escape_string(file, "/", FALSE);
	json_t *region = json_object();
	json_object_set_new(region, "startLine", json_integer(line));
	json_object_set_new(region, "startColumn", json_integer(column));
	if (at->end_column > column)
		json_object_set_new(region, "endColumn", json_integer(at->end_column));
	return json_pack("{s:{s:s}, s:o}", "artifactLocation", "uri", uri, "region", region);
}

/* The line of the spec that requests it; a finding without a line gets the first line of the spec,
 * because GitHub drops a result without a place. */
static json_t *location_of(const Finding *finding)
{
	const char *file = finding->source.line ? finding->source.file : finding->file;
	return file ? json_pack("[{s:o}]", "physicalLocation", place_of(file, &finding->source))
		    : NULL;
}

/* The place that it conflicts with: a policy's line. */
static json_t *related_of(const Finding *finding)
{
	if (!finding->related_text || !finding->related.file)
		return NULL;
	return json_pack("[{s:i, s:{s:s}, s:o}]", "id", 0, "message", "text", finding->related_text,
		"physicalLocation", place_of(finding->related.file, &finding->related));
}

/* The same finding in the next run has the same fingerprint, wherever its line has moved. */
static json_t *print_of(const Finding *finding)
{
	g_autofree char *key = g_strdup_printf("%s\n%s\n%s", finding->cluster, finding->rule,
		finding->subject ? finding->subject : finding->message);
	g_autofree char *digest = g_compute_checksum_for_string(G_CHECKSUM_SHA256, key, -1);
	return json_pack("{s:s}", "raygpuFinding/v1", digest);
}

static json_t *result_of(const Finding *finding)
{
	json_t *result = json_pack("{s:s, s:s, s:{s:s}, s:o}", "ruleId", finding->rule, "level",
		finding->severity == RG_SEVERITY_ERROR	   ? "error"
		: finding->severity == RG_SEVERITY_WARNING ? "warning"
							   : "note",
		"message", "text", finding->message, "partialFingerprints", print_of(finding));
	json_t *locations = location_of(finding), *related = related_of(finding);
	if (locations)
		json_object_set_new(result, "locations", locations);
	if (related)
		json_object_set_new(result, "relatedLocations", related);
	return result;
}

json_t *rg_report_sarif(const RgReports *reports)
{
	g_autoptr(GPtrArray) findings = findings_of(reports);
	json_t *results = json_array(), *run;
	for (guint i = 0; i < findings->len && i < RESULTS; i++)
		json_array_append_new(results, result_of(findings->pdata[i]));
	json_t *rules = json_array();
	g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
	rg_ptr_foreach (const Finding, finding, findings) {
		if (!g_hash_table_add(seen, finding->rule))
			continue;
		json_array_append_new(rules, json_pack("{s:s, s:{s:s}}", "id", finding->rule,
						     "shortDescription", "text", finding->rule));
	}
	run = json_pack("{s:{s:{s:s, s:s, s:o}}, s:o, s:s}", "tool", "driver", "name", "raygpu",
		"version", reports->version, "rules", rules, "results", results, "columnKind",
		"unicodeCodePoints");
	if (findings->len > RESULTS) {
		g_autofree char *text =
			g_strdup_printf("%u more results are not listed", findings->len - RESULTS);
		json_object_set_new(run, "properties", json_pack("{s:s}", "leftOut", text));
	}
	return json_pack("{s:s, s:s, s:[o]}", "$schema",
		"https://json.schemastore.org/sarif-2.1.0.json", "version", "2.1.0", "runs", run);
}
