"""What OpenTelemetry's own classes find in a request: run by the Python that has them, prints JSON."""

import json
import sys

from opentelemetry.proto.collector.profiles.v1development.profiles_service_pb2 import (
    ExportProfilesServiceRequest,
)

request = ExportProfilesServiceRequest()
with open(sys.argv[1], "rb") as file:
    request.ParseFromString(file.read())
told = request.dictionary
(resource,) = request.resource_profiles
(scope,) = resource.scope_profiles
(profile,) = scope.profiles
text = told.string_table
self_ns: dict[str, int] = {}
threads: dict[str, int] = {}
for sample in profile.samples if hasattr(profile, "samples") else profile.sample:
    leaf = told.location_table[told.stack_table[sample.stack_index].location_indices[0]]
    name = text[told.function_table[leaf.lines[0].function_index].name_strindex]
    (value,) = sample.values
    self_ns[name] = self_ns.get(name, 0) + value
    (attribute,) = sample.attribute_indices
    thread = told.attribute_table[attribute]
    assert text[thread.key_strindex] == "thread.name"
    threads[thread.value.string_value] = threads.get(thread.value.string_value, 0) + value
zeros = [told.mapping_table[0], told.location_table[0], told.function_table[0], told.link_table[0]]
zeros += [told.attribute_table[0], told.stack_table[0]]
answer = {
    "self_ns": self_ns,
    "threads": threads,
    "resource": {a.key: a.value.string_value for a in resource.resource.attributes},
    "scope": scope.scope.name,
    "type": [text[profile.sample_type.type_strindex], text[profile.sample_type.unit_strindex]],
    "time_ns": profile.time_unix_nano,
    "duration_ns": profile.duration_nano,
    "period": profile.period,
    "id_bytes": len(profile.profile_id),
    "zero_first": text[0] == "" and all(entry == type(entry)() for entry in zeros),
}
print(json.dumps(answer))
