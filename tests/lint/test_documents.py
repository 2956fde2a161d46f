"""Lists that are in two places agree (documents.py), each rule with a self-test that it can fail."""
import subprocess

import documents
import pytest
import rules

FILES = rules.tracked('.c', '.h')
LISTED = documents.listed_codes(documents.read('src/base/diag_codes.h'))
README = documents.read('providers/aws/README.md')
PERMISSIONS = documents.read('providers/aws/permissions.json')
SCHEMA = documents.read('providers/aws/schema.json')
FIT = documents.read('src/fit/fit.c') + documents.read('src/fit/node.c')
FITTED = documents.read('schemas/fitted.schema.json')
PAGES = subprocess.run(['git', 'ls-files', '*.md'], cwd=rules.ROOT, check=True, capture_output=True,
                       text=True).stdout.split()


def none(complaints):
    complaints = list(complaints)
    assert not complaints, '\n'.join(complaints)


def test_raised_codes_are_listed():
    none(documents.unlisted_codes(FILES, LISTED))


def test_the_policy_allows_what_the_module_calls():
    assert len(documents.aws_calls(FILES)) > 25
    none(documents.permissions(FILES, PERMISSIONS))


def test_each_attribute_has_its_row():
    none(documents.attribute_rows(SCHEMA, README))


def test_the_schema_has_what_fit_sets():
    none(documents.fitted_members(FIT, FITTED))


def test_comments_cite_pages_of_the_tree():
    none(documents.cited_pages(rules.tracked('.c', '.h', '.py', '.sh', 'meson.build', '.ci/run'), PAGES))


def raised(text):
    return documents.unlisted_codes({'src/plan/x.c': text}, LISTED)


BAD = {
    'a raised code': lambda: raised('rg_diags_error(diags, "spec.no-such-code", "x");'),
    'an area': lambda: raised('rg_diags_error(diags, "news.code", "x");'),
    'a choice': lambda: raised('rg_diags_error(diags, a ? "news.code" : "spec.conflict", "x");'),
    'a helper': lambda: raised('static void refuse(RgDiags *d, const char *code)\n{\n}\nrefuse(d, "news.code");'),
    'a variable': lambda: raised('const char *code = "spec.no-such-code";'),
    'a printed code': lambda: raised('g_strdup_printf("spec.%s", word);'),
    'a joined code': lambda: raised('g_strconcat("spec.", word, NULL);'),
    'a call': lambda: documents.permissions({**FILES, 'providers/aws/x.c': '"DescribeVolumes"'}, PERMISSIONS),
    'a permission': lambda: documents.permissions(FILES, PERMISSIONS.replace('"ec2:DescribeVpcs"', '"ec2:DescribeVpns"')),
    'an attribute': lambda: documents.attribute_rows(SCHEMA, README.replace('| `http_tokens` |', '| `http_token` |')),
    'a table': lambda: documents.attribute_rows(SCHEMA, README.replace('**`aws.instance`**', 'aws.instance')),
    'a member': lambda: documents.fitted_members(FIT, FITTED.replace('"price_quality"', '"quality"')),
    'a packed member': lambda: documents.fitted_members(FIT, FITTED.replace('"size_gb"', '"gb"')),
    'a page': lambda: documents.cited_pages({'src/x.c': '/* see\n * plans.md */'}, PAGES),
    'a path': lambda: documents.cited_pages({'src/x.c': '/* src/fit/decide.md */'}, PAGES),
}


@pytest.mark.parametrize('name', BAD)
def test_the_linter_finds_what_is_missing(name):
    assert list(BAD[name]())
