"""The error that the edges raise, in the language of the core."""


class SourceError(Exception):
    """A source or sink outside the process can't be used now.

    The message names the thing (path, URL, object) and says what to do next. Each edge translates
    its library's errors to this one, once, `from` the cause.
    """


class GoneError(SourceError):
    """The thing isn't there any more, or not yet: what it belongs to has ended or not begun."""


class ApiError(SourceError):
    """The API server refused a request or didn't answer.

    `status` is the HTTP status, None where no answer came; `reason` the Status's own word for it
    (`Conflict`, `NotFound`, …; "" without one); `retry_after` the seconds that the server asks to
    be left alone; `managers` the field managers that a server-side apply collided with.
    https://kubernetes.io/docs/reference/kubernetes-api/common-definitions/status/
    """

    def __init__(
        self,
        message: str,
        *,
        status: int | None = None,
        reason: str = "",
        retry_after: float | None = None,
        managers: tuple[str, ...] = (),
    ) -> None:
        super().__init__(message)
        self.status = status
        self.reason = reason
        self.retry_after = retry_after
        self.managers = managers

    @property
    def unavailable(self) -> bool:
        """Whether it says nothing of the request: the server can't be reached, or is ill.

        What answers below 400 without the thing asked for stands in its place, such as a proxy.
        """
        status = self.status
        return status is None or status < 400 or status == 429 or status >= 500
