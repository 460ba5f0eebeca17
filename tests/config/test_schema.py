"""The JSON schema and the page: made from the settings, and of one mind with the parser."""

import json
import re
from pathlib import Path

import jsonschema
import pytest
import yaml

from numa_agent.config import SCHEDULERS, load
from numa_agent.config.schema import json_schema
from numa_agent.config.settings import KEYS, SETTINGS
from tests.config.files import accepted, written
from tests.recorded import ROOT
from tools import config_docs

SCHEMA = json.loads((ROOT / "docs" / "config.schema.json").read_text(encoding="utf-8"))
PAGE = (ROOT / "docs" / "configuration.md").read_text(encoding="utf-8")
PROFILES = re.findall(r"((?:^    [a-zA-Z]+: .*\n)+)", PAGE, re.MULTILINE)


class Yaml12(yaml.SafeLoader):
    """YAML 1.2's core schema (https://yaml.org/spec/1.2.2/#103-core-schema), as editors read."""

    yaml_implicit_resolvers = {}  # noqa: RUF012


for tag, pattern, first in (
    ("bool", "true|True|TRUE|false|False|FALSE", "tTfF"),
    ("null", "~|null|Null|NULL|", "~nN"),
    ("int", "[-+]?[0-9]+", "-+0123456789"),
    ("float", r"[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?", "-+.0123456789"),
):
    Yaml12.add_implicit_resolver(
        f"tag:yaml.org,2002:{tag}", re.compile(f"^(?:{pattern})$"), [*first, ""]
    )

GOOD = [
    *("", "{}", "~"),
    *(f"{each.key}: {word}\n" for each in SETTINGS for word in each.words),
    *(f"{each.key}: {each.example}\n" for each in SETTINGS if each.example and each.words),
    *("takeover: true\n", "metrics: false\n", "passSeconds: 5\n", "passSeconds: 3600\n"),
    *("hostRoot: relative/path\n", "nodeName: gpu-7\n", 'nodeName: "7"\n', "nodeName: yes-7\n"),
    *("metrics: '[::1]:9316'\n", "metrics: host.name:65535\n", "trustedManagers: a, b\n"),
    *("trustedManagers: [a, b]\n", "trustedManagers: ['a,b']\n", "kubeletConfigDir: /k.d\n"),
    *("shapes: 8c\n", "shapes: 24c4g256Gi, 1g\n", "shapes: [8c, 24c4g]\n", "shapes: ' 8c,'\n"),
    *(f"gpuResource: {name}\n" for name in ("a/b", "x-1.y.example/G_p.u-2", f"{'a.' * 121}b/c")),
    "metrics: 127.0.0.1:1\nmetricsTlsCert: /c\nmetricsTlsKey: /k\n",
    "kubeletConfig: auto\nkubeletConfigDir: /k.d\n",
    "hostRoot: &a /host\nliveRoot: *a\n",
    *PROFILES,
]
BAD = [
    *("text", "- hostRoot: /\n", "7", "hostroot: /\n", "7: x\n", "mems: off\nx: y\n"),
    *(f"{key}:{value}\n" for key in KEYS for value in ("", " ''", " ' '", " ~", " {a: b}", " []")),
    *(f'{key}: "/a\\nb"\n' for key in KEYS),
    *(f'{key}: "/a\\0b"\n' for key in KEYS),
    *(f"{key}: 7.5\n" for key in KEYS),
    *(f"{each.key}: x{each.words[0]}\n" for each in SETTINGS if each.words),
    *(f"{each.key}: x/y\n" for each in SETTINGS if each.example.startswith("/")),
    *("takeover: yes\n", "takeover: On\n", 'takeover: "true"\n', "sharedPods: true\n"),
    *("nvml: true\n", "nodeName: 7\n", "nodeName: true\n", "scheduler: [ack]\n"),
    *("passSeconds: 4\n", "passSeconds: 3601\n", "passSeconds: -5\n", 'passSeconds: "60"\n'),
    *("passSeconds: 60.5\n", "passSeconds: true\n", "passSeconds: [60]\n", "events: 1\n"),
    *("metrics: '9316'\n", "metrics: a:0\n", "metrics: a:65536\n", "metrics: '::1:80'\n"),
    *('metrics: "a:80\\n"\n', "metrics: on\n", "trustedManagers: ','\n", "trustedManagers: [7]\n"),
    *("trustedManagers: ['']\n", "trustedManagers: [[a]]\n", "trustedManagers: [a, ~]\n"),
    *(
        "shapes: 8\n",
        "shapes: [8c, 8]\n",
        "shapes: ','\n",
        "shapes: 4g8c\n",
        "shapes: ['8c,4c']\n",
    ),
    *("shapes: 256Gi\n", "shapes: 0c\n", "shapes: []\n", f"shapes: {'8c,' * 9}\n"),
    *(f"gpuResource: {name}\n" for name in ("gpu", "a/b/c", "/b", "a/", "A.com/x", "a..b/c")),
    *(f"gpuResource: {name}\n" for name in ("-a/b", "a/-b", "a b/c", "x.kubernetes.io/gpu")),
    *(f"gpuResource: {name}\n" for name in ("requests.a/b", f"a/{'b' * 64}", f"{'a.' * 122}b/c")),
    "metricsTlsCert: /c\nmetricsTlsKey: /k\n",
    "metricsTlsCert: /c\nmetricsTlsKey: /k\nmetrics: off\n",
    "metricsTlsCert: /c\nmetricsTlsKey: /k\nmetrics: false\n",
    "metricsTlsCert: /c\nmetrics: 127.0.0.1:1\n",
    "metricsTlsKey: /k\nmetrics: 127.0.0.1:1\n",
    "kubeletConfig: configz\nkubeletConfigDir: /k.d\n",
]


def valid(content: str) -> bool:
    """Whether the schema takes the file, as an editor reads it."""
    document = yaml.load(content, Loader=Yaml12)
    return jsonschema.Draft202012Validator(SCHEMA).is_valid(document)


def test_the_schema_is_one_and_as_the_table_makes_it() -> None:
    jsonschema.Draft202012Validator.check_schema(SCHEMA)
    assert json_schema() == SCHEMA
    assert (ROOT / "docs" / "config.schema.json").read_text() == config_docs.schema()


def test_the_patterns_mean_the_same_to_every_reader() -> None:
    """Go has no lookahead and no Unicode escape, ECMAScript no named group."""
    patterns = re.findall(r'"pattern": ("[^"]*")', json.dumps(SCHEMA))
    assert patterns
    for pattern in map(json.loads, patterns):
        assert not re.search(r"\\[uUpPAZzdw]|\(\?[^:]|[*+?}][+?]", pattern), pattern


@pytest.mark.parametrize("content", GOOD)
def test_schema_and_parser_take_the_same_files(content: str, tmp_path: Path) -> None:
    assert (valid(content), accepted(written(tmp_path, content))) == (True, True)


@pytest.mark.parametrize("content", BAD)
def test_schema_and_parser_refuse_the_same_files(content: str, tmp_path: Path) -> None:
    assert (valid(content), accepted(written(tmp_path, content))) == (False, False)


def test_the_schema_s_defaults_are_in_force_without_a_file(tmp_path: Path) -> None:
    defaults = {
        key: each["default"] for key, each in SCHEMA["properties"].items() if "default" in each
    }
    path = written(tmp_path, yaml.safe_dump(defaults))
    assert load(path, {}, {}) == load(None, {}, {})


def test_the_page_s_table_is_the_settings() -> None:
    assert config_docs.page(PAGE) == PAGE
    assert config_docs.table() in PAGE
    assert [key for key in KEYS if f"| `{key}` |" not in PAGE] == []


def test_the_page_has_a_profile_of_three_lines_for_each_scheduler(tmp_path: Path) -> None:
    found = {}
    for profile in PROFILES:
        config = load(written(tmp_path, profile.replace("    ", "")), {}, {})
        found[config.scheduler] = len(profile.splitlines())
        assert config.host_root == config.live_root == Path("/host")
    assert found == dict.fromkeys(SCHEDULERS, 3)


def test_the_page_s_links_lead_somewhere() -> None:
    for target, anchor in re.findall(r"\]\(([^)#:]+)(#[^)]+)?\)", PAGE):
        text = (ROOT / "docs" / target).read_text(encoding="utf-8")
        headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
        anchors = {re.sub(r"[^a-z0-9 -]", "", each.lower()).replace(" ", "-") for each in headings}
        assert not anchor or anchor[1:] in anchors, f"{target}{anchor}"
