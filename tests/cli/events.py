"""The stream of `plan`, `apply`, `destroy` and `drift` with --json, each message of it valid by its schema."""
import functools
import json


@functools.cache
def schema():
    from report_schemas import validator  # program.py, which it needs, imports this file
    return validator('events.schema.json')


def read(text):
    """The messages of a stream that has ended."""
    assert text.endswith('\n'), text[-200:]
    messages = [json.loads(line) for line in text.split('\n')[:-1]]
    for message in messages:
        schema().validate(message)
    assert messages[0]['type'] == 'version' and messages[-1]['type'] == 'change_summary'
    assert 'exit_code' in messages[-1]['raygpu']
    return messages
