"""`numa-agent config`: each setting with where it comes from, and whether a file is right."""

import argparse
import json
from collections.abc import Iterator

from numa_agent.cli import options
from numa_agent.cli.report_text import table
from numa_agent.config import ConfigError
from numa_agent.config.kinds import Kind
from numa_agent.config.loading import Effective, effective

DESCRIPTION = """\
Show every setting as it is in force, with where it comes from (an option, the file and line, the
environment, or the default), or check a configuration file: all of its mistakes are named at once,
each with its line and column."""

EPILOG = """\
examples:
  numa-agent config --show --config /etc/numa-agent/config.yaml
  numa-agent config --show --node-name gpu-7 -o yaml > config.yaml     a file to start from
  numa-agent config --check config.yaml                 before it goes into a ConfigMap

A configuration file for a pod that has the machine's root mounted at /host:

    hostRoot: /host
    liveRoot: /host
    scheduler: koordinator

docs/configuration.md lists the settings; docs/config.schema.json is the file's JSON schema.
In the JSON, `live` says whether a running agent takes a change without a restart.
Exit code 2 when the configuration has mistakes."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what to do, and the options that are settings."""
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--show", action="store_true", help="print every setting")
    what.add_argument(
        "--check", metavar="FILE", help="check this file, print nothing but mistakes"
    )
    options.add_settings(parser)
    options.add_cluster(parser)
    parser.add_argument(
        "-o",
        "--output",
        choices=("table", "yaml", "json"),
        default="table",
        help="table for people, yaml for a configuration file, json for programs",
    )


def run(arguments: argparse.Namespace) -> int:
    """Print the settings, or raise ConfigError with the mistakes."""
    flags = options.flags(arguments)
    if arguments.check is not None:
        if arguments.config is not None:
            raise ConfigError("--check names the file itself: leave --config out")
        effective(arguments.check, flags)
        print(f"{arguments.check}: no mistakes")
        return 0
    settings = effective(arguments.config, flags)
    if arguments.output == "json":
        print(
            json.dumps({"format": "numa-agent.config/v1", "settings": _json(settings)}, indent=2)
        )
    elif arguments.output == "yaml":
        print("\n".join(_yaml(settings)))
    else:
        rows = [(each.setting.key, _text(each), _escaped(each.origin)) for each in settings]
        print("\n".join(table([("SETTING", "VALUE", "FROM"), *rows])))
    return 0


def _text(each: Effective) -> str:
    if each.value is None:
        return "-"
    return each.value if isinstance(each.value, str) else ",".join(each.value)


def _json(settings: tuple[Effective, ...]) -> list[dict[str, object]]:
    return [
        {
            "setting": each.setting.key,
            "value": _plain(each),
            "origin": each.origin,
            "live": each.setting.live,
        }
        for each in settings
    ]


def _plain(each: Effective) -> object:
    """The value as the file would have it."""
    if isinstance(each.value, str) and each.setting.kind is Kind.SECONDS:
        return int(each.value)
    return each.value


def _yaml(settings: tuple[Effective, ...]) -> Iterator[str]:
    """The lines of a configuration file that sets the same."""
    for each in settings:
        key, value = each.setting.key, _plain(each)
        if value is None:
            yield f"# {key}: not set"
            continue
        text = f"[{', '.join(map(_quoted, value))}]" if isinstance(value, tuple) else str(value)
        if isinstance(value, str):
            text = _quoted(value)
        yield f"{key}: {text}  # {_escaped(each.origin)}"


def _quoted(text: str) -> str:
    """A text in quotes, so that off stays text, with what isn't ASCII as YAML's escapes."""
    return f'"{_escaped(text, also=DOUBLE_QUOTED)}"'


def _escaped(text: str, also: str = "") -> str:
    """On one line, without what a terminal would act on."""
    return "".join(
        each if " " <= each <= "~" and each not in also else f"\\U{ord(each):08x}" for each in text
    )


DOUBLE_QUOTED = '"\\'
"""What has a meaning of its own between YAML's double quotes."""
