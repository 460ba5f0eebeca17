"""The table, printed row by row."""


class Table:
    """A Markdown table: what was measured, ours, the polling publisher's, and the target."""

    def __init__(self, title: str) -> None:
        """Print its head."""
        print(f"| {title} | numa-agent | polls | target |\n|---|---|---|---|")

    def row(self, what: str, ours: str, naive: str = "", target: str = "") -> None:
        """One row, printed at once."""
        print(f"| {what} | {ours} | {naive} | {target} |", flush=True)
