"""The settings as a JSON schema, for editors and for charts that make the file.

https://json-schema.org/draft/2020-12: it judges the file as YAML 1.2 reads it, in which off and on
are text. Twice the same key is the parser's to find, and so is how a number is written. Patterns
mean the same in ECMAScript, Go (for Helm) and Python.
"""

from numa_agent.config.kinds import (
    ADDRESS,
    HIGHEST_SECONDS,
    LOWEST_SECONDS,
    NO_RESOURCE,
    RESOURCE,
    Kind,
    Setting,
)
from numa_agent.config.settings import SETTINGS
from numa_agent.core.shape import MOST_SHAPES, SHAPE

Schema = dict[str, object]

_TRUTH = {"off": False, "on": True}
_TEXT: Schema = {"$ref": "#/$defs/text"}
_ABSOLUTE: Schema = {"allOf": [_TEXT, {"pattern": "^/"}]}


def json_schema() -> Schema:
    """The schema of the configuration file."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "numa-agent",
        "description": "The configuration file of numa-agent; an empty one sets nothing",
        "type": ["object", "null"],
        "additionalProperties": False,
        "properties": {setting.key: _property(setting) for setting in SETTINGS},
        "dependentRequired": {
            "metricsTlsCert": ["metricsTlsKey", "metrics"],
            "metricsTlsKey": ["metricsTlsCert", "metrics"],
        },
        "allOf": [
            _never({"metricsTlsCert": {}, "metrics": {"enum": ["off", False]}}),
            _never({"kubeletConfigDir": {}, "kubeletConfig": {"const": "configz"}}),
        ],
        "$defs": {
            "text": {
                "type": "string",
                "pattern": r"\S",
                "not": {"pattern": r"[\x00-\x1f\x7f]"},
            }
        },
    }


def _never(properties: Schema) -> Schema:
    """Not all of these properties together."""
    return {"not": {"type": "object", "required": [*properties], "properties": properties}}


def _property(setting: Setting) -> Schema:
    found: Schema = {"description": setting.meaning}
    if setting.default is not None:
        seconds = setting.kind is Kind.SECONDS
        found["default"] = int(setting.default) if seconds else setting.default
    # Programs that write YAML 1.1 make truth values of off and on.
    words = [*setting.words, *(_TRUTH[word] for word in setting.words if word in _TRUTH)]
    if setting.kind is Kind.WORD:
        return {**found, "enum": words}
    if words:
        return {**found, "anyOf": [{"enum": words}, _OTHERS[setting.kind]]}
    return {**found, **_OTHERS[setting.kind]}


_OTHERS: dict[Kind, Schema] = {
    Kind.TEXT: _TEXT,
    Kind.PATH: _TEXT,
    Kind.OWN_FILE: _ABSOLUTE,
    Kind.MACHINE_PATH: _ABSOLUTE,
    Kind.ADDRESS: {"allOf": [_TEXT, {"pattern": f"^{ADDRESS}$"}]},
    Kind.RESOURCE: {
        "allOf": [_TEXT, {"pattern": f"^{RESOURCE}$"}, {"not": {"pattern": NO_RESOURCE}}]
    },
    Kind.SECONDS: {"type": "integer", "minimum": LOWEST_SECONDS, "maximum": HIGHEST_SECONDS},
    Kind.NAMES: {
        "anyOf": [
            {"allOf": [_TEXT, {"pattern": r"[^,\s]"}]},
            {"type": "array", "minItems": 1, "items": _TEXT},
        ]
    },
    Kind.SHAPES: {
        "anyOf": [
            {
                "type": "string",
                "pattern": f"^[ ,]*{SHAPE}(?: *,[ ,]*{SHAPE}){{0,{MOST_SHAPES - 1}}}[ ,]*$",
            },
            {
                "type": "array",
                "minItems": 1,
                "maxItems": MOST_SHAPES,
                "items": {"type": "string", "pattern": f"^ *{SHAPE} *$"},
            },
        ]
    },
}
