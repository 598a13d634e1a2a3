# Reads JSON as official SDKs in Python declare it, strictly: each line of the input is a type's full name and a value, and each
# line of the output lists what does not fit. Must never be lenient: no conversion of types, and every unknown member is listed.
import importlib
import json
import sys

from pydantic import BaseModel, TypeAdapter, ValidationError

adapters = {}


def adapter_of(name):
    if name not in adapters:
        module, _, attribute = name.rpartition(".")
        adapters[name] = TypeAdapter(getattr(importlib.import_module(module), attribute))
    return adapters[name]


def unknown_members(value, place):
    if isinstance(value, BaseModel):
        for name in value.model_extra or {}:
            yield f"{place}.{name}: not in the type"
        for name in type(value).model_fields:
            yield from unknown_members(getattr(value, name), f"{place}.{name}")
    elif isinstance(value, list):
        for index, item in enumerate(value):
            yield from unknown_members(item, f"{place}.{index}")
    elif isinstance(value, dict):
        for name, item in value.items():
            yield from unknown_members(item, f"{place}.{name}")


def faults_of(name, text):
    try:
        return list(unknown_members(adapter_of(name).validate_json(text, strict=True), "$"))
    except ValidationError as error:
        return [f"${'.'.join(['', *map(str, each['loc'])])}: {each['msg']}" for each in error.errors()]


for line in sys.stdin:
    name, _, text = line.partition(" ")
    print(json.dumps(faults_of(name, text)), flush=True)
