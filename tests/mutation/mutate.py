"""Small wrongs put into a check, one at a time: the function finds nothing, a comparison is turned round.

Comparisons stand in Python (`<`, `==`) and in the query strings (`offset <= prev`, `n_rows IS NULL`); both are turned.
"""

from __future__ import annotations

import ast
import copy
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

_INVERSE: dict[type[ast.cmpop], type[ast.cmpop]] = {
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.Lt: ast.GtE,
    ast.GtE: ast.Lt,
    ast.Gt: ast.LtE,
    ast.LtE: ast.Gt,
}
_EDGE: dict[type[ast.cmpop], type[ast.cmpop]] = {ast.Lt: ast.LtE, ast.LtE: ast.Lt, ast.Gt: ast.GtE, ast.GtE: ast.Gt}
_IN_QUERY = {
    "<>": "=",
    "<=": ">",
    ">=": "<",
    "=": "<>",
    "<": ">=",
    ">": "<=",
    "IS NOT NULL": "IS NULL",
    "IS NULL": "IS NOT NULL",
}
_EDGE_IN_QUERY = {"<=": "<", ">=": ">", "<": "<=", ">": ">="}
_QUERY_WORD = re.compile(r"IS NOT NULL|IS NULL|<>|<=|>=|=|<|>")


@dataclass(frozen=True)
class Mutant:
    """The source of a module with one wrong in it."""

    where: str
    kind: str  # removed, inverted or edge
    what: str
    source: str


def mutants(name: str, source: str, removable: set[str]) -> Iterator[Mutant]:
    tree = ast.parse(source)
    for function in tree.body:
        if isinstance(function, ast.FunctionDef) and function.name in removable:
            yield _mutant(name, tree, function, "removed", "finds nothing", _removed)
    for node in ast.walk(tree):
        if isinstance(node, ast.Compare) and type(node.ops[0]) in _INVERSE:
            for kind, swap in (("inverted", _INVERSE), ("edge", _EDGE)):
                if type(node.ops[0]) in swap:
                    new = swap[type(node.ops[0])]()
                    yield _mutant(
                        name, tree, node, kind, f"{ast.unparse(node)} -> {type(new).__name__}", _operator(new)
                    )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and not _is_docstring(tree, node):
            yield from _in_query(name, tree, node)


def _in_query(name: str, tree: ast.Module, node: ast.Constant) -> Iterator[Mutant]:
    text = str(node.value)
    for match in _QUERY_WORD.finditer(text):
        for kind, swap in (("inverted", _IN_QUERY), ("edge", _EDGE_IN_QUERY)):
            if match[0] in swap:
                new = text[: match.start()] + swap[match[0]] + text[match.end() :]
                yield _mutant(name, tree, node, kind, f"{text!r} -> {new!r}", _constant(new))


def _mutant(name: str, tree: ast.Module, node: ast.AST, kind: str, what: str, change: object) -> Mutant:
    """A copy of the tree in which the one node is changed."""
    position = next(i for i, other in enumerate(ast.walk(tree)) if other is node)
    other_tree = copy.deepcopy(tree)
    target = list(ast.walk(other_tree))[position]
    assert callable(change)
    change(target)
    line = getattr(node, "lineno", 0)
    return Mutant(f"{name}:{line}", kind, what, ast.unparse(ast.fix_missing_locations(other_tree)))


def _removed(node: ast.FunctionDef) -> None:
    """The function's every return finds nothing, with the columns it has."""
    for inner in ast.walk(node):
        if isinstance(inner, ast.Return) and inner.value is not None:
            limited = ast.Call(ast.Attribute(inner.value, "limit", ast.Load()), [ast.Constant(0)], [])
            inner.value = limited


def _operator(new: ast.cmpop) -> object:
    def change(node: ast.Compare) -> None:
        node.ops[0] = new

    return change


def _constant(new: str) -> object:
    def change(node: ast.Constant) -> None:
        node.value = new

    return change


def _is_docstring(tree: ast.Module, node: ast.Constant) -> bool:
    return any(isinstance(other, ast.Expr) and other.value is node for other in ast.walk(tree))
