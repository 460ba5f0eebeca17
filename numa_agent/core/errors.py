"""The error that the edges raise, in the language of the core."""


class SourceError(Exception):
    """A source or sink outside the process can't be used now.

    The message names the thing (path, URL, object) and says what to do next. Each edge translates
    its library's errors to this one, once, `from` the cause.
    """
