"""The schemas of raygpu's output, for an independent validator."""
import json
import os

import jsonschema
from program import ROOT

FOLDER = ROOT / 'schemas'
BASE = 'https://raygpu.dev/schemas/'


def validator(name):
    schemas = {}
    for file in os.listdir(FOLDER):
        if file.endswith('.json'):
            with open(os.path.join(FOLDER, file), encoding='utf-8') as f:
                schemas[file] = json.load(f)
    store = {BASE + file: schema for file, schema in schemas.items()}
    jsonschema.Draft202012Validator.check_schema(schemas[name])
    return jsonschema.Draft202012Validator(
        schemas[name], resolver=jsonschema.RefResolver(BASE + name, schemas[name], store=store))
