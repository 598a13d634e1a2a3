# Holds JSON against the messages of xAI's official SDK, by the names of their fields: a line of the input is a message's name and a
# value, and the line of the output lists what does not fit. Words of an enumeration are the ends of its names: "720p" is
# VIDEO_RESOLUTION_720P. Must never take a member that the message does not have.
import importlib
import json
import sys

from google.protobuf.descriptor import FieldDescriptor as Field

NUMBERS = {Field.CPPTYPE_INT32, Field.CPPTYPE_INT64, Field.CPPTYPE_UINT32, Field.CPPTYPE_UINT64}
REALS = {Field.CPPTYPE_FLOAT, Field.CPPTYPE_DOUBLE}


def message_of(name):
    module, _, message = name.partition(".")
    proto = importlib.import_module(f"xai_sdk.proto.v6.{module}_pb2")
    return proto.DESCRIPTOR.message_types_by_name[message]


def is_word(word, enum):
    end = "_" + word.upper().replace(":", "_").replace(".", "_")
    return any(value.number > 0 and value.name.endswith(end) for value in enum.values)


def fits(value, field):
    if field.cpp_type in NUMBERS:
        return isinstance(value, int) and not isinstance(value, bool)
    if field.cpp_type in REALS:
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    if field.cpp_type == Field.CPPTYPE_BOOL:
        return isinstance(value, bool)
    return isinstance(value, str)


def faults_in(value, field, place):
    if field.message_type is not None:
        yield from faults_of(value, field.message_type, place)
    elif field.enum_type is not None:
        if not isinstance(value, str) or not is_word(value, field.enum_type):
            yield f"{place}: not a {field.enum_type.name}"
    elif not fits(value, field):
        yield f"{place}: not of the field's type"


def faults_of(value, message, place="$"):
    if not isinstance(value, dict):
        yield f"{place}: not a {message.name}"
        return
    for name, member in value.items():
        field = message.fields_by_name.get(name)
        if field is None:
            yield f"{place}.{name}: not in {message.name}"
        elif not field.is_repeated:
            yield from faults_in(member, field, f"{place}.{name}")
        elif not isinstance(member, list):
            yield f"{place}.{name}: not a list"
        else:
            for index, item in enumerate(member):
                yield from faults_in(item, field, f"{place}.{name}.{index}")


for line in sys.stdin:
    name, _, text = line.strip().partition(" ")
    if name.startswith("words:"):
        enum = message_of(name.removeprefix("words:").rpartition(".")[0]).fields_by_name[name.rpartition(".")[2]].enum_type
        print(json.dumps([value.name for value in enum.values if value.number > 0]), flush=True)
    else:
        print(json.dumps(list(faults_of(json.loads(text), message_of(name)))), flush=True)
