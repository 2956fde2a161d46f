"""What Kubernetes' published schemas refuse in a manifest, found without a server:

    assert manifests.refused(document) == []

Strict, as with fieldValidation=Strict: an unknown field is refused. CEL rules (x-kubernetes-validations), admission and
defaults are the server's part: the tests with a server send the same manifests there."""
import copy
import functools
import re

import jsonschema
import schemas

QUANTITY = r'^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$'
DNS_NAME = re.compile(r'^[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?$')
LABEL_KEY = re.compile(r'^([a-z0-9]([-a-z0-9.]*[a-z0-9])?/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?$')
LABEL_VALUE = re.compile(r'^([A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?)?$')
LIMIT = 1 << 18  # of all annotations of an object, in bytes
KEEP = ('enum', 'pattern', 'required', 'minimum', 'maximum', 'minLength', 'maxLength', 'minItems', 'maxItems', 'maxProperties')


def strict(node):
    """A structural schema as a JSON Schema that refuses what is not declared."""
    if '$ref' in node:
        return {'$ref': node['$ref']}
    if node.get('x-kubernetes-int-or-string'):
        return {'anyOf': [{'type': 'integer'}, {'type': 'string', 'pattern': node.get('pattern', '')}]}
    schema = {key: node[key] for key in KEEP if key in node}
    if 'pattern' in node:    # Go takes flags in the middle
        schema['pattern'] = re.sub(r'^\^\(\?i\)', '(?i)^', node['pattern'])
    for key in ('anyOf', 'allOf', 'oneOf'):
        if key in node:
            schema[key] = [loose(one) for one in node[key]]
    if 'type' in node:
        schema['type'] = [node['type'], 'null'] if node.get('nullable') else node['type']
    if node.get('type') == 'array':
        schema['items'] = strict(node['items'])
        if node.get('x-kubernetes-list-type') == 'set':
            schema['uniqueItems'] = True
    if node.get('type') == 'object':
        schema['properties'] = {name: strict(one) for name, one in node.get('properties', {}).items()}
        more = node.get('additionalProperties', bool(node.get('x-kubernetes-preserve-unknown-fields')))
        schema['additionalProperties'] = more if isinstance(more, bool) else strict(more)
    return schema


def loose(node):
    """A condition inside anyOf and the like: it says something about fields that are declared outside."""
    schema = strict(node)
    if schema.get('additionalProperties') is False:
        del schema['additionalProperties']
    return schema


@functools.cache
def metadata():
    schema = schemas.core_root(schemas.META)
    schema = strict({**schema, 'properties': {**schema['properties'], 'managedFields': schemas.ANYTHING}})
    schema['anyOf'] = [{'required': ['name']}, {'required': ['generateName']}]
    return schema


@functools.cache
def definitions():
    return {name: strict(one) for name, one in schemas.published()['definitions'].items()}


@functools.cache
def validator(api, kind):
    """The checker of one kind, or None."""
    for one in schemas.published()['crds']:
        if (f"{one['group']}/{one['version']}", one['kind']) == (api, kind):
            root = strict(one['schema'])
            break
    else:
        if (api, kind) not in schemas.core_kinds():
            return None
        root = strict(schemas.core_root(schemas.core_kinds()[api, kind]))
    root = copy.deepcopy(root)
    root['properties'].update(apiVersion={'const': api}, kind={'const': kind}, metadata=metadata())
    root['required'] = sorted({*root.get('required', []), 'metadata'})
    root['definitions'] = definitions()
    return jsonschema.Draft7Validator(root)


def place(path):
    text = ''.join(f'[{one}]' if isinstance(one, int) else f'.{one}' for one in path)
    return text.lstrip('.') or 'the document'


def leaves(error):
    """The errors that say something: those inside an anyOf of which one alternative came close."""
    return [error] if not error.context else [min(error.context, key=lambda one: (-len(one.path), str(one.schema_path)))]


def said(error):
    if error.validator == 'additionalProperties':
        names = sorted(set(error.instance) - set(error.schema.get('properties', {})))
        return [f'{place([*error.absolute_path, name])}: unknown field' for name in names]
    return [f'{place(error.absolute_path)}: {error.message}']


def marks_refused(where, meta):
    """Names, labels and annotations: their grammar is code in the server, not schema."""
    found = []
    name = meta.get('name')
    if isinstance(name, str) and not DNS_NAME.match(name):
        found.append(f'{where}.name: {name!r} is not a DNS name')
    for part in ('labels', 'annotations'):
        for key, value in (meta.get(part) or {}).items():
            if not LABEL_KEY.match(key):
                found.append(f'{where}.{part}: {key!r} is not a qualified name')
            if part == 'labels' and isinstance(value, str) and not LABEL_VALUE.match(value):
                found.append(f'{where}.labels.{key}: {value!r} is not a label value')
    size = sum(len(key) + len(str(value)) for key, value in (meta.get('annotations') or {}).items())
    if size > LIMIT:
        found.append(f'{where}.annotations: {size} bytes, more than {LIMIT}')
    return found


def all_marks(node, path=()):
    """The metadata of the object and of all templates in it."""
    if isinstance(node, dict):
        if isinstance(node.get('metadata'), dict):
            yield from marks_refused(place([*path, 'metadata']), node['metadata'])
        for key, value in node.items():
            if key != 'metadata':
                yield from all_marks(value, (*path, key))
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from all_marks(value, (*path, index))


def quantities(node, path=()):
    """Requests, limits, quotas and capacities: the schema takes any text where it has no pattern."""
    if isinstance(node, dict):
        for key, value in node.items():
            if key in ('requests', 'limits', 'hard', 'allocatable', 'capacity') and isinstance(value, dict):
                for name, amount in value.items():
                    if not re.match(QUANTITY, str(amount)):
                        yield f'{place([*path, key, name])}: {amount!r} is not a quantity'
            else:
                yield from quantities(value, (*path, key))
    elif isinstance(node, list):
        for index, value in enumerate(node):
            yield from quantities(value, (*path, index))


def refused(document):
    """What is wrong with a manifest, one text each; nothing: []."""
    api, kind = document.get('apiVersion'), document.get('kind')
    if not (check := validator(api, kind)):
        return [f'{api} {kind}: no published schema of this kind']
    found = [text for error in check.iter_errors(document) for leaf in leaves(error) for text in said(leaf)]
    return sorted({*found, *all_marks(document), *quantities(document)})
