"""Write the chart anew: python -m tools.chart."""

import shutil

from tools.chart.build import CHART, build


def main() -> None:
    """Replace the chart's folder."""
    shutil.rmtree(CHART, ignore_errors=True)
    for name, text in build().items():
        path = CHART / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
    print(f"written: {CHART}")


if __name__ == "__main__":
    main()
