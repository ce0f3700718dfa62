# SPDX-License-Identifier: Apache-2.0
"""Writes the stubs of the package `olympus`, which show where lazily loaded names are defined.

Modules of the package find most of their names when they are first used. Editors and type checkers
cannot follow this look-up. Each such module therefore has a stub, which imports every name from the
module that defines it. ``python tools/stubs.py`` writes the stubs, and with ``--check`` compares
them with the files and fails if they differ.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import keyword
import pkgutil
import sys
import warnings
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import olympus

FOLDER = Path(olympus.__file__).parent
# Names that modules import for internal use.
_IMPORTED = frozenset(
    {"Any", "Mapping", "MutableMapping", "TypeAlias", "annotations", "nullcontext"}
)
HEADER = "# SPDX-License-Identifier: Apache-2.0\n# Written by tools/stubs.py.\n"


def modules() -> Iterator[ModuleType]:
    """Returns the modules that find names lazily, or import all names of another module."""
    yield olympus
    for info in pkgutil.walk_packages([str(FOLDER)], "olympus."):
        if any(part.startswith("_") for part in info.name.split(".")):
            continue
        if info.name.startswith("olympus.compat"):
            continue
        module = importlib.import_module(info.name)
        if "__getattr__" in vars(module) or " import *" in inspect.getsource(module):
            yield module


def stub(module: ModuleType) -> str:
    """Returns the text of the stub of a module."""
    found = {line for name in public_names(module) for line in imported(module, name)}
    lines = sorted(found, key=lambda line: (not line.startswith(("from ", "import ")), line))
    return HEADER + "\n".join(lines) + "\n"


def public_names(module: ModuleType) -> list[str]:
    """Returns the public names of a module."""
    return [
        name
        for name in dir(module)
        if name in ("__version__", "__version_info__")
        or not (name.startswith("_") or keyword.iskeyword(name))
        if name not in _IMPORTED
    ]


def imported(module: ModuleType, name: str) -> Iterator[str]:
    """Returns the lines of a stub that import a public name from the module that defines it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            value = getattr(module, name)
        except (AttributeError, ImportError):  # the name belongs to a library that is not installed
            return
    if inspect.ismodule(value):
        if value.__name__ == f"{module.__name__}.{name}":
            yield f"from . import {name} as {name}"
        elif value.__name__.startswith("olympus"):
            yield f"import {value.__name__} as {name}"
        return
    if value is None or type(value) in (str, int, float, bool):
        yield f"{name}: {value if value is None else type(value).__name__}"
        return
    found = definition(module, name, value)
    if found is not None and found[1] == name:
        yield f"from {found[0]} import {name} as {name}"
    elif found is not None:  # stubs export an imported name only if it keeps its name
        yield f"from {found[0]} import {found[1]} as _{found[1]}"
        yield f"{name} = _{found[1]}"
    else:  # defined in this module
        yield "from typing import Any"
        yield f"{name}: Any"


def definition(module: ModuleType, name: str, value: Any) -> tuple[str, str] | None:
    """Returns another module that defines a public name, and the name there; else None."""
    # a public function is a wrapper, whose module is not that of the function; ufuncs have further
    # members
    is_ufunc = isinstance(value, olympus.numpy.ufunc)
    inner = value if is_ufunc else getattr(value, "__wrapped__", value)
    home = getattr(inner, "__module__", None)
    own = getattr(inner, "__name__", name)
    for candidate, attribute in ((home, own), (home, name)):
        if defined_in(candidate, attribute, value):
            return str(candidate), attribute
    others = [each for each in sorted(sys.modules) if defined_in(each, name, value)]
    exporting = [
        other
        for other in others
        if "._" not in other and name in getattr(sys.modules[other], "__all__", ())
    ]
    if exporting:
        return exporting[0], name
    sources = getattr(module, "_SOURCES", {})
    if name in sources:
        candidate, _, attribute = sources[name].partition(":")
        return candidate, attribute or name
    return None


def defined_in(home: str | None, name: str, value: Any) -> bool:
    """Returns whether a module of another package of OLYMPUS has a value under a name."""
    if home is None or not home.startswith("olympus_") or "." in name:
        return False
    found = sys.modules.get(home)
    if found is None or name not in vars(found):
        return False
    own = vars(found)[name]
    return own is value or own is getattr(value, "__wrapped__", value)


def main() -> None:
    """Writes the stubs, or compares them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="compare with the files")
    check = parser.parse_args().check
    differing = []
    for module in modules():
        source = Path(str(module.__file__))
        path = source.with_suffix(".pyi")
        text = stub(module)
        if check and (not path.exists() or path.read_text("utf-8") != text):
            differing.append(str(path.relative_to(FOLDER)))
        elif not check:
            path.write_text(text, "utf-8")
    if differing:
        sys.exit(f"write the stubs again with tools/stubs.py: {', '.join(differing)}")


if __name__ == "__main__":
    main()
