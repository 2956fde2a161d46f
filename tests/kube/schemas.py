"""The published schemas of Kubernetes' kinds.

    crd('RayCluster')        a CustomResourceDefinition that a server takes
    core_root(name)          the schema of a built-in kind

`crd-schemas.json`: the CRDs of KubeRay 1.7.0, Kueue 0.19.2, Cluster Autoscaler's ProvisioningRequest and the GPU Operator
26.7.0 (Apache-2.0), without descriptions. `core-smd.json`: the fields of the built-in kinds, from client-go of July 2026
(applyconfigurations/internal/internal.go, Apache-2.0); README.md names the commits."""
import copy
import functools
import json
import os

HERE = os.path.dirname(os.path.abspath(__file__))
META = 'io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta'
ANYTHING = {'x-kubernetes-preserve-unknown-fields': True}
INT_OR_STRING = {'x-kubernetes-int-or-string': True}
SCALARS = {'string': {'type': 'string'}, 'numeric': {'type': 'number'}, 'boolean': {'type': 'boolean'}, 'untyped': ANYTHING}
# types that core-smd.json calls untyped, and what JSON has in their place
NAMED = {
    'io.k8s.apimachinery.pkg.api.resource.Quantity': INT_OR_STRING,
    'io.k8s.apimachinery.pkg.util.intstr.IntOrString': INT_OR_STRING,
    'io.k8s.apimachinery.pkg.apis.meta.v1.Time': {'type': 'string', 'nullable': True},
    'io.k8s.apimachinery.pkg.apis.meta.v1.MicroTime': {'type': 'string', 'nullable': True},
}


def read(name):
    with open(os.path.join(HERE, name), encoding='utf-8') as file:
        return json.load(file)


@functools.cache
def published():
    """The CRDs' served versions, as they are in the file."""
    return read('crd-schemas.json')


@functools.cache
def core_types():
    return {one['name']: one for one in read('core-smd.json')['types']}


@functools.cache
def core_kinds():
    """{(apiVersion, kind): name of the type}: io.k8s.api.core.v1.Secret is v1 Secret, io.k8s.api.batch.v1.Job batch/v1 Job."""
    groups = {'rbac': 'rbac.authorization.k8s.io', 'scheduling': 'scheduling.k8s.io', 'networking': 'networking.k8s.io',
              'storage': 'storage.k8s.io', 'coordination': 'coordination.k8s.io', 'resource': 'resource.k8s.io'}
    found = {}
    for name in read('core-smd.json')['roots']:
        group, version, kind = name.split('.')[-3:]
        api = version if group == 'core' else f'{groups.get(group, group)}/{version}'
        found[api, kind] = name
    return found


# ---- core kinds: from the merge schema to a CRD's

def merge_form(kind, part):
    """How server-side apply merges a list or a map, in a CRD's words."""
    relation = part.get('elementRelationship')
    if kind == 'map':
        return {'x-kubernetes-map-type': 'atomic'} if relation == 'atomic' else {}
    if relation != 'associative':
        return {'x-kubernetes-list-type': 'atomic'}
    keys = part.get('keys')
    return {'x-kubernetes-list-type': 'map', 'x-kubernetes-list-map-keys': keys} if keys else {'x-kubernetes-list-type': 'set'}


def core_schema(element):
    """The structural schema of one element; a named type is written out where it is used, as CRDs have no references."""
    if 'namedType' in element:
        name = element['namedType']
        if name.startswith('__untyped'):
            return dict(ANYTHING)
        return copy.deepcopy(NAMED[name]) if name in NAMED else core_schema(core_types()[name])
    if 'scalar' in element:
        return dict(SCALARS[element['scalar']])
    if 'list' in element:
        part = element['list']
        items = core_schema(part['elementType'])
        for key in part.get('keys', []):  # a key must be there: required, unless it has a default
            if 'default' not in items['properties'][key]:
                items['required'] = sorted({*items.get('required', []), key})
        return {'type': 'array', 'items': items, **merge_form('list', part)}
    part = element['map']
    schema = {'type': 'object', **merge_form('map', part)}
    if 'fields' in part:
        schema['properties'] = {field['name']: core_field(field) for field in part['fields']}
    elif part['elementType'].get('namedType', '').startswith('__untyped'):
        schema.update(ANYTHING)
    else:
        schema['additionalProperties'] = core_schema(part['elementType'])
    return schema


def core_field(field):
    schema = core_schema(field['type'])
    default = field.get('default')
    if isinstance(default, str) and default:  # 0 and {} say only that the field is not a pointer
        schema['default'] = default
    return schema


@functools.cache
def core_root(name):
    schema = core_schema({'namedType': name})
    schema['properties']['metadata'] = {'type': 'object'}
    return schema


# ---- CRDs

def expand(node):
    """Without references."""
    if isinstance(node, list):
        return [expand(one) for one in node]
    if not isinstance(node, dict):
        return node
    if '$ref' in node:
        return expand(published()['definitions'][node['$ref'].rsplit('/', 1)[1]])
    return {key: expand(value) for key, value in node.items()}


@functools.cache
def kinds():
    """The kinds of crd-schemas.json."""
    return sorted({one['kind'] for one in published()['crds']})


def crd(kind, versions=None):
    """The CustomResourceDefinition of a kind; `versions`: only these, the last one stored."""
    found = [one for one in published()['crds'] if one['kind'] == kind and (not versions or one['version'] in versions)]
    first = found[0]
    stored = [one['version'] for one in found if one['storage']] or [found[-1]['version']]
    return {
        'apiVersion': 'apiextensions.k8s.io/v1', 'kind': 'CustomResourceDefinition',
        'metadata': {'name': f"{first['plural']}.{first['group']}",
                     # asked for by the server for groups of kubernetes' own domains
                     'annotations': {'api-approved.kubernetes.io': 'https://github.com/kubernetes/kubernetes'}},
        'spec': {'group': first['group'], 'scope': first['scope'],
                 'names': {'plural': first['plural'], 'singular': kind.lower(), 'kind': kind, 'listKind': f'{kind}List',
                           'shortNames': first.get('shortNames') or []},
                 'versions': [{'name': one['version'], 'served': True, 'storage': one['version'] == stored[0],
                               'subresources': one.get('subresources') or {},
                               'schema': {'openAPIV3Schema': expand(one['schema'])}} for one in found]}}
