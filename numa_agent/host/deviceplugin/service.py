"""The device plugin's five methods: messages in, the agent's values, messages out."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from google.protobuf.message import DecodeError, Message

from numa_agent.config import DEV_DIR
from numa_agent.core.gpu_plugin import Grant, NotGrantedError, Offer, Wish
from numa_agent.host.deviceplugin import api_pb2
from numa_agent.host.deviceplugin.methods import Methods, RefusedError
from numa_agent.host.podresources.answer import Status

_SERVICE = api_pb2.DESCRIPTOR.services_by_name["DevicePlugin"].full_name
_READ_WRITE = "rw"
_MOST_CONTAINERS = 256
"""kubelet asks for one container at a time."""

_Request = TypeVar("_Request", bound=Message)
_Container = TypeVar("_Container")

OPTIONS = api_pb2.DevicePluginOptions(get_preferred_allocation_available=True)


class Answering(Protocol):
    """Who knows the cards; asked in the server's thread, so that no answer may take long."""

    def offer(self) -> Offer:
        """What is offered now."""
        ...

    def prefer(self, wish: Wish) -> Sequence[str]:
        """The ids to give of those that are free."""
        ...

    def grant(self, ids: Sequence[str]) -> Grant:
        """How a container gets these cards. Raises NotGrantedError."""
        ...


@dataclass(frozen=True, slots=True)
class Listed:
    """A device as kubelet hears of it."""

    id: str
    healthy: bool
    node: int | None


def listed(offer: Offer) -> tuple[Listed, ...]:
    """The devices of an offer: all with their nodes, or none."""
    return tuple(
        Listed(id=card.id, healthy=card.ailment is None, node=card.node if offer.placed else None)
        for card in offer.cards
    )


def service(cards: Answering) -> Methods:
    """The methods as the server wants them."""
    return Methods(
        once={
            f"/{_SERVICE}/GetDevicePluginOptions": lambda _: OPTIONS.SerializeToString(),
            f"/{_SERVICE}/GetPreferredAllocation": lambda body: _preferred(cards, body),
            f"/{_SERVICE}/Allocate": lambda body: _allocated(cards, body),
            f"/{_SERVICE}/PreStartContainer": lambda _: b"",
        },
        states={f"/{_SERVICE}/ListAndWatch": lambda: _list(listed(cards.offer()))},
    )


def _list(devices: Sequence[Listed]) -> bytes:
    message = api_pb2.ListAndWatchResponse()
    for device in devices:
        health = "Healthy" if device.healthy else "Unhealthy"
        added = message.devices.add(ID=device.id, health=health)
        if device.node is not None:
            added.topology.nodes.add(ID=device.node)
    return message.SerializeToString()


def _preferred(cards: Answering, body: bytes) -> bytes:
    message = api_pb2.PreferredAllocationResponse()
    asked = _read(api_pb2.PreferredAllocationRequest, body)
    for container in _few(asked.container_requests):
        wish = Wish(
            available=tuple(container.available_deviceIDs),
            must=tuple(container.must_include_deviceIDs),
            size=container.allocation_size,
        )
        message.container_responses.add(deviceIDs=cards.prefer(wish))
    return message.SerializeToString()


def _allocated(cards: Answering, body: bytes) -> bytes:
    message = api_pb2.AllocateResponse()
    for container in _few(_read(api_pb2.AllocateRequest, body).container_requests):
        try:
            grant = cards.grant(tuple(container.devices_ids))
        except NotGrantedError as error:
            raise RefusedError(Status.FAILED_PRECONDITION, str(error)) from error
        _add_grant(message.container_responses.add(), grant)
    return message.SerializeToString()


def _add_grant(answer: api_pb2.ContainerAllocateResponse, grant: Grant) -> None:
    answer.envs.update(grant.envs)
    answer.annotations.update(grant.annotations)
    for name in grant.devices:
        path = f"/{DEV_DIR}/{name}"
        answer.devices.add(container_path=path, host_path=path, permissions=_READ_WRITE)
    for name in grant.cdi:
        answer.cdi_devices.add(name=name)


def _read(kind: type[_Request], body: bytes) -> _Request:
    try:
        return kind.FromString(body)
    except DecodeError as error:
        name = kind.DESCRIPTOR.name
        raise RefusedError(Status.INVALID_ARGUMENT, f"the request isn't a {name}") from error


def _few(containers: Collection[_Container]) -> Collection[_Container]:
    if len(containers) > _MOST_CONTAINERS:
        raise RefusedError(Status.INVALID_ARGUMENT, f"more than {_MOST_CONTAINERS} containers")
    return containers
