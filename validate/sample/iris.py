"""Edgar Anderson's flowers as R. A. Fisher printed them in 1936: 150 of three kinds, four lengths in cm each."""

from __future__ import annotations

from pathlib import Path

FILE = Path(__file__).with_name("iris.csv")
KINDS = ("setosa", "versicolor", "virginica")


def rows(_seed: int, _count: int | None) -> list[str]:
    """sepal length, sepal width, petal length, petal width, kind: always all of them."""
    return FILE.read_text(encoding="ascii").splitlines()[1:]
