"""`numa-agent gpu-plugin`: the node's whole NVIDIA cards for kubelet."""

import argparse
import json
import sys
from collections.abc import Iterator

from numa_agent.cli import options
from numa_agent.config import Config
from numa_agent.core.gpu_plugin import Card
from numa_agent.wiring.gpu_serving import Shown, serve_on, show_once

DESCRIPTION = """\
Offer this node's whole NVIDIA cards to kubelet as aliyun.com/gpu (gpuResource): a device plugin
that tells each card's NUMA node, prefers cards of one node, then by NVLink and PCIe level, and
takes cards out that NVML reports ill until they are well again. It refuses to run where another
plugin hands out the same cards. `numa-agent run` does the same with gpuPlugin: on."""

EPILOG = """\
examples:
  numa-agent gpu-plugin --node-name gpu-7      until SIGTERM
  numa-agent gpu-plugin --show                 what it would offer, without offering it
  numa-agent gpu-plugin --host-root fixtures/sysfs/two-socket-8gpu --show --prefer 4

docs/gpu-plugin.md has the settings, what kubelet and the container runtime need, and each message.
Exit code of --show: 1 when there is no card to offer, or somebody else hands them out."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare what is offered, and whether it is only shown."""
    options.add_settings(parser)
    options.add_cluster(parser)
    parser.add_argument(
        "--resource", metavar="DOMAIN/NAME", help="the resource's name (gpuResource)"
    )
    parser.add_argument("--show", action="store_true", help="print what would be offered, and end")
    parser.add_argument(
        "--prefer",
        metavar="N",
        type=_count,
        help="with --show: which N of all cards that are well a container would get",
    )
    parser.add_argument("-o", "--output", choices=("table", "json"), default="table")


def _count(text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 1024:
        raise argparse.ArgumentTypeError(f"expected a number of cards from 1, not {text!r:.40}")
    return int(text)


def run(arguments: argparse.Namespace) -> int:
    """Serve until the end, or show."""
    settings = options.settings(
        arguments,
        nodeName=arguments.node_name,
        kubeconfig=arguments.kubeconfig,
        gpuResource=arguments.resource,
    )
    if arguments.show:
        return _show(settings, arguments.prefer, arguments.output)
    serve_on(settings, _say)
    return 0


def _say(sentence: str) -> None:
    print(f"numa-agent gpu-plugin: {sentence}", file=sys.stderr, flush=True)


def _show(settings: Config, count: int | None, output: str) -> int:
    shown = show_once(settings, count)
    if output == "json":
        json.dump(_document(settings, shown), sys.stdout, indent=2)
        print()
    else:
        print("\n".join(_lines(settings, shown)))
        for sentence in (*shown.rivals, *(each.message for each in shown.offer.conditions)):
            _say(sentence)
    return 0 if shown.offer.cards and not shown.rivals else 1


def _lines(settings: Config, shown: Shown) -> Iterator[str]:
    offer = shown.offer
    placed = "with their NUMA nodes" if offer.placed else "without NUMA nodes"
    yield f"{settings.gpu_resource}: {len(offer.cards)} cards, {placed}, by {settings.gpu_pass}"
    for card in offer.cards:
        node = "-" if card.node is None else card.node
        health = "well" if card.ailment is None else card.ailment
        yield f"  {card.index:>3}  {card.address}  node {node}  {card.id}  {health}"
    if shown.preferred is not None:
        yield f"of all that are well: {', '.join(shown.preferred) or 'none'}"


def _document(settings: Config, shown: Shown) -> dict[str, object]:
    offer = shown.offer
    found: dict[str, object] = {
        "resource": settings.gpu_resource,
        "pass": settings.gpu_pass,
        "placed": offer.placed,
        "cards": [_card(card) for card in offer.cards],
        "leftOut": [{"address": str(each.address), "why": each.why} for each in offer.left_out],
        "rivals": list(shown.rivals),
        "conditions": [
            {"code": each.code, "subject": each.subject, "message": each.message}
            for each in offer.conditions
        ],
    }
    if shown.preferred is not None:
        found["preferred"] = list(shown.preferred)
    return found


def _card(card: Card) -> dict[str, object]:
    return {
        "id": card.id,
        "index": card.index,
        "address": str(card.address),
        "minor": card.minor,
        "node": card.node,
        "name": card.name,
        "ailment": card.ailment,
    }
