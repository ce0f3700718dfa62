# SPDX-License-Identifier: Apache-2.0
"""Notes for the pages of the API reference, generated from code and guides.

- Differences between the signatures of a function and of NumPy's or SciPy's function of the same
  name.
- Links to names that the docstring mentions, and to equal names in other modules.
- The guides in ``docs`` that mention the name.
"""

from __future__ import annotations

import collections
import functools
import importlib
import inspect
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from olympus_ir.settings.configuration import State

# Maps each package with the interface of another library to this library.
_PEERS = {"olympus.numpy": "numpy", "olympus.scipy": "scipy"}

# The names of modules in guides. Names without a module, as in ``grad(f)``, belong to `olympus`.
ALIASES = {
    "jnp": "olympus.numpy",
    "lax": "olympus.lax",
    "nn": "olympus.nn",
    "random": "olympus.random",
    "tree": "olympus.tree",
    "export": "olympus.export",
    "profiler": "olympus.profiler",
    "debug": "olympus.debug",
    "pl": "olympus.experimental.pallas",
    "sparse": "olympus.experimental.sparse",
    "checkify": "olympus.experimental.checkify",
}
# Modules whose functions of equal names compute the same result.
_SAME_FUNCTIONS = (
    ("olympus.numpy", "olympus.lax", "olympus.scipy.special", "olympus.nn"),
    ("olympus.numpy.linalg", "olympus.scipy.linalg", "olympus.lax.linalg"),
    ("olympus.numpy.fft", "olympus.scipy.fft"),
    ("olympus", "olympus.experimental.sparse"),
    ("olympus.tree", "olympus.tree_util"),
)
_UFUNC_OPTIONS = ["out", "where", "casting", "order", "dtype", "subok", "signature"]
_NO_GUIDES = {"index", "mistakes", "primitives", "benchmarks", "deferred-imports", "hard-points"}
_DOTTED = re.compile(r"\b[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)+")
_LITERAL = re.compile(r"``([\w.]+)(?:\(.*?\))?``|`([\w.]+)(?:\(.*?\))?`")
_MOST = 6  # the maximal number of links of one kind on a page


def peer_name(module: str, name: str) -> str | None:
    """Returns the name in NumPy or SciPy that corresponds to a public name, or None."""
    for ours, theirs in _PEERS.items():
        if module == ours or module.startswith(f"{ours}."):
            home = theirs + module.removeprefix(ours)
            return f"{home}.{name}" if _value_of(home, name) is not None else None
    return None


def _value_of(module: str, name: str) -> Any:
    try:
        return getattr(importlib.import_module(module), name, None)
    except ImportError:
        return None


def difference(module: str, name: str, value: Any) -> str | None:
    """Returns a sentence on how a signature differs from the peer's, in reStructuredText.

    Returns None if there is no peer, or no signature to compare with.
    """
    peer = peer_name(module, name)
    if peer is None or inspect.isclass(value) or not callable(value):
        return None
    home, _, last = peer.rpartition(".")
    try:
        ours = _parameters(value)
        theirs = _parameters(_value_of(home, last))
    except (TypeError, ValueError):
        return None
    link = f":py:obj:`{peer}`"
    if _takes_any(ours) or _takes_any(theirs):
        return f"The function of the same name is {link}."
    missing = [each for each in theirs if each not in ours]
    added = [each for each in ours if each not in theirs]
    ignored = [
        each for each in ours if each in theirs and str(ours[each].annotation) == "None"
    ]  # annotated as None: the parameter exists for the signature, and other values are rejected
    changed = [
        f"``{each}`` is {_shown(ours[each].default)} by default, not {_shown(theirs[each].default)}"
        for each in ours
        if each in theirs and _has_other_default(ours[each], theirs[each])
    ]
    parts = []
    if missing == _UFUNC_OPTIONS:
        parts.append("none of the options of ufuncs, such as ``out`` and ``where``")
    elif missing:
        parts.append(f"no {_listed(missing)}")
    if ignored:
        parts.append(f"{_listed(ignored)} for compatibility of signatures; only None is accepted")
    if added:
        parts.append(f"{_listed(added)} in addition")
    if not parts and not changed:
        return f"The parameters are those of {link}."
    said = f"Beside {link} it has {'; '.join(parts)}." if parts else f"Beside {link}:"
    return said + (f" {'; '.join(changed)}." if changed else "")


def _parameters(function: Any) -> dict[str, inspect.Parameter]:
    """Returns parameters by name; positional-only parameters are compared by their position."""
    return dict(inspect.signature(function).parameters)


def _takes_any(parameters: Mapping[str, inspect.Parameter]) -> bool:
    kinds = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    return any(parameter.kind in kinds for parameter in parameters.values())


def _has_other_default(ours: inspect.Parameter, theirs: inspect.Parameter) -> bool:
    plain = (bool, int, float, str, type(None))
    first, second = ours.default, theirs.default
    return isinstance(first, plain) and isinstance(second, plain) and first != second


def _shown(value: Any) -> str:
    return f"``{value!r}``"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f"``{each}``" for each in names)


def flag_example(name: str, value: Any) -> str | None:
    """Returns an example of a flag that can be set for a block; None for other objects."""
    if not isinstance(value, State):
        return None
    if isinstance(value.default, bool):
        given: Any = not value.default
    else:
        given = value.kind.choices[-1] if value.kind.choices else value.default
    return f"""\
>>> import olympus
>>> with olympus.{name}({given!r}):
...     print(olympus.config.{value.flag_name})
{value.parse(given)}
"""


def related(page: str, value: Any, docstring: str, pages: Mapping[str, str]) -> list[str]:
    """Returns the pages of the names that a docstring mentions, and of namesakes.

    Args:
      page: the page of the name itself.
      value: the object; names of its parameters do not become links.
      docstring: its docstring.
      pages: the pages by dotted name.
    """
    try:
        own = set(_parameters(value))
    except (TypeError, ValueError):
        own = set()
    module = page.rpartition(".")[0]
    found = []
    for literal in _LITERAL.finditer(docstring):
        mentioned = literal[1] or literal[2]
        if mentioned in own:
            continue
        for full in (f"{module}.{mentioned}", f"olympus.{mentioned}", mentioned):
            if full in pages and full != page:
                found.append(pages[full])
                break
    found += namesakes(page, pages)
    return list(dict.fromkeys(found))[:_MOST]


def namesakes(page: str, pages: Mapping[str, str]) -> list[str]:
    """Returns the pages of functions of the same name that compute the same in another package."""
    module, _, name = page.rpartition(".")
    return [
        pages[f"{other}.{name}"]
        for group in _SAME_FUNCTIONS
        if module in group
        for other in group
        if other != module and f"{other}.{name}" in pages
    ]


@functools.cache
def guides(folder: Path) -> dict[str, list[tuple[str, str]]]:
    """Returns the guides that mention each dotted name: pairs of page and title."""
    counts: dict[str, collections.Counter[tuple[str, str]]] = collections.defaultdict(
        collections.Counter
    )
    for path in sorted(folder.glob("*.md")):
        text = path.read_text("utf-8")
        title = re.search(r"^# (.+)$", text, re.MULTILINE)
        if title is None or path.stem in _NO_GUIDES:
            continue
        for dotted in _DOTTED.findall(text):
            first, _, rest = dotted.partition(".")
            home = ALIASES.get(first, first)
            if home.partition(".")[0] == "olympus":
                counts[f"{home}.{rest}"][path.stem, title[1].replace("`", "")] += 1
    return {name: [page for page, _ in count.most_common(_MOST)] for name, count in counts.items()}
