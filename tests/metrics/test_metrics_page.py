"""The page about metrics says what the dictionary holds."""

from __future__ import annotations

import runpy
from pathlib import Path

from sentinel.metrics import default

DOCS = Path(__file__).resolve().parents[2] / "docs"


def test_the_generated_tables_are_current() -> None:
    script = runpy.run_path(str(DOCS / "metrics_table.py"))
    page = (DOCS / "metrics.md").read_text("utf-8")
    assert page == script["current"](page, default()), "run: python docs/metrics_table.py"


def test_the_page_describes_every_column_and_file() -> None:
    from sentinel.metrics import derivation, keys, metric

    page = (DOCS / "metrics.md").read_text("utf-8")
    for column in (*metric.COLUMNS, *keys.COLUMNS, *derivation.COLUMNS):
        assert f"`{column}`" in page, column
    for file in ("canonical.tsv", "keys/FRAMEWORK.tsv", "sources.tsv", "derived.tsv"):
        assert f"`{file}`" in page, file
