# SPDX-License-Identifier: Apache-2.0
"""Writes the pages of the API reference: one for each public name, and a table for each module.

The text of a page is the docstring of the object. Modules are grouped as users look for them.
"""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
import shutil
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import reference_notes
import reference_tables
from sphinx.ext.napoleon import Config, GoogleDocstring

import olympus

# The groups of the reference, and the modules of each; a module includes its submodules.
GROUPS = {
    "Transformations and arrays": ("olympus",),
    "NumPy": ("olympus.numpy",),
    "SciPy": ("olympus.scipy",),
    "Random numbers": ("olympus.random",),
    "Neural networks": ("olympus.nn", "olympus.example_libraries"),
    "Instruction set and control flow": ("olympus.lax", "olympus.ops", "olympus.image"),
    "Pytrees": ("olympus.tree", "olympus.tree_util", "olympus.flatten_util"),
    "Derivatives": (
        "olympus.ad_checkpoint",
        "olympus.custom_derivatives",
        "olympus.custom_batching",
    ),
    "Devices, shardings and processes": ("olympus.sharding", "olympus.distributed"),
    "Kernels": ("olympus.experimental.pallas",),
    "Export, stages and foreign functions": (
        "olympus.export",
        "olympus.stages",
        "olympus.ffi",
        "olympus.dlpack",
    ),
    "Debugging and profiling": (
        "olympus.debug",
        "olympus.profiler",
        "olympus.monitoring",
        "olympus.errors",
        "olympus.test_util",
        "olympus.testing",
    ),
    "Types": ("olympus.dtypes", "olympus.typing", "olympus.core", "olympus.ref"),
    "Experimental": ("olympus.experimental",),
    "For libraries": (
        "olympus.extend",
        "olympus.interpreters",
        "olympus.api_util",
        "olympus.lib",
        "olympus.tools",
    ),
}

_NAPOLEON = Config(napoleon_use_param=True, napoleon_use_rtype=False)


class Entry(NamedTuple):
    """A public name: its module, the name, its page and the first sentence of its docstring."""

    module: str
    name: str
    value: Any
    page: str
    summary: str


def write(folder: Path) -> None:
    """Writes all pages into a folder and deletes its old contents."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    index = ["# API reference", ""]
    taken: set[str] = set()
    all_modules = {
        each for roots in GROUPS.values() for root in roots for each in modules_below(root)
    }
    entries = {
        module: sorted(entries_of(module, all_modules), key=lambda entry: entry.name.lower())
        for module in sorted(all_modules)
    }
    pages = {
        f"{entry.module}.{entry.name}": entry.page for each in entries.values() for entry in each
    }
    for group, roots in GROUPS.items():
        modules = [each for root in roots for each in modules_below(root) if each not in taken]
        taken.update(modules)
        index += [f"## {group}", ""]
        for module in modules:
            if not entries[module]:
                continue
            about = inspect.getdoc(importlib.import_module(module)) or ""
            summary = " ".join(about.partition("\n\n")[0].split()).replace("``", "`")
            index += [f"- [{module}]({module}.md) ({len(entries[module])}): {summary}"]
            (folder / f"{module}.md").write_text(module_page(module, entries[module]), "utf-8")
            for entry in entries[module]:
                text = entry_page(entry) + notes(entry, pages, folder.parent)
                (folder / f"{entry.page}.rst").write_text(text, "utf-8")
        index += [""]
    index += ["## Tables", ""]
    for name in reference_tables.write(folder):
        index += [f"- [{name.replace('-', ' ').capitalize()}]({name}.md)"]
    index += ["", "```{toctree}", ":hidden:", "", *reference_tables.NAMES, "```"]
    (folder / "index.md").write_text("\n".join(index), "utf-8")


def modules_below(root: str) -> list[str]:
    """Returns a module and the public modules below it; for `olympus`, the module alone."""
    if root == "olympus":
        return [root]
    module = importlib.import_module(root)
    found = [root]
    for info in pkgutil.walk_packages(getattr(module, "__path__", ()), f"{root}."):
        if not any(part.startswith("_") for part in info.name.split(".")):
            found.append(info.name)
    return found


def entries_of(name: str, modules: set[str]) -> Iterator[Entry]:
    """Returns the public names of a module, except submodules.

    Args:
      name: the module.
      modules: the modules that have pages.
    """
    module = importlib.import_module(name)
    seen = {each.lower() for each in modules}
    for each in dir(module):
        if each.startswith("_") or "jax" in each.lower():  # JAX's spellings are aliases
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                value = getattr(module, each)
            # the name belongs to a library that is not installed
            except (AttributeError, ImportError):
                continue
        if inspect.ismodule(value) or is_foreign(value):
            continue
        page = f"{name}.{each}"
        while page.lower() in seen:  # some file systems ignore case
            page += "_"
        seen.add(page.lower())
        yield Entry(name, each, value, page, summary_of(value))


def is_foreign(value: Any) -> bool:
    """Returns whether a value is an object of the standard library that a module imports."""
    home = getattr(value, "__module__", None) or ""
    return home.partition(".")[0] in ("typing", "collections", "functools", "contextlib", "abc")


def docstring_of(value: Any) -> str:
    """Returns an object's own docstring, not the docstring of its class."""
    text = inspect.getdoc(value) or ""
    if not callable(value) and text == inspect.getdoc(type(value)):
        return ""
    return text


def summary_of(value: Any) -> str:
    """Returns the first paragraph of the docstring of an object, in one line."""
    first = docstring_of(value).partition("\n\n")[0]
    if first:
        return " ".join(first.split())
    shown = repr(value)
    return f"A constant: ``{shown}``." if len(shown) < 80 and "\n" not in shown else "A constant."


def module_page(module: str, entries: list[Entry]) -> str:
    """Returns the page of a module: its docstring, and a table of its names."""
    text = inspect.getdoc(importlib.import_module(module)) or ""
    lines = [f"# {module}", "", text.replace("``", "`"), "", "| name | |", "|---|---|"]
    for entry in entries:
        summary = entry.summary.replace("|", "\\|").replace("``", "`")
        lines.append(f"| [{entry.name}]({entry.page}.rst) | {summary} |")
    return "\n".join(lines) + "\n"


def entry_page(entry: Entry) -> str:
    """Returns the page of a name, in reStructuredText."""
    title = f"{entry.module}.{entry.name}"
    kind, signature = described(entry.value)
    lines = [title, "=" * len(title), "", f".. py:{kind}:: {title}{signature}", ""]
    text = docstring_of(entry.value)
    if is_own(entry.value):
        text = str(GoogleDocstring(escaped(text) or entry.summary, _NAPOLEON))
    elif text:  # the docstring comes from another library and has another notation
        text = "::\n\n" + "\n".join(f"   {line}" for line in text.splitlines())
    lines += [f"   {line}" if line else "" for line in text.splitlines()]
    if kind == "class":
        lines += ["", *members(entry.value)]
    return "\n".join([*lines, "", ""])


def notes(entry: Entry, pages: dict[str, str], guides: Path) -> str:
    """Returns the end of a page: an example of a flag, the difference from NumPy, links.

    Args:
      entry: the public name.
      pages: the pages by dotted name.
      guides: the folder of the guides.
    """
    lines = []
    example = reference_notes.flag_example(entry.name, entry.value)
    if example:
        lines += [".. rubric:: Example", "", *example.splitlines(), ""]
    differs = reference_notes.difference(entry.module, entry.name, entry.value)
    if differs:
        lines += [".. rubric:: Compared with NumPy and SciPy", "", differs, ""]
    found = reference_notes.related(
        f"{entry.module}.{entry.name}", entry.value, docstring_of(entry.value), pages
    )
    if found:
        links = ", ".join(f":doc:`{page.rstrip('_')} <{page}>`" for page in found)
        lines += [".. rubric:: See also", "", links, ""]
    mentioned = reference_notes.guides(guides).get(f"{entry.module}.{entry.name}", [])
    if mentioned:
        links = ", ".join(f":doc:`{title} </{page}>`" for page, title in mentioned)
        lines += [".. rubric:: In the guides", "", links, ""]
    lines += [f":doc:`{entry.module} <{entry.module}>`", ""]
    return "\n".join(lines)


def is_own(value: Any) -> bool:
    """Returns whether an object belongs to OLYMPUS, as do constants, which have no module."""
    home = getattr(value, "__module__", None) or "olympus"
    return home.startswith("olympus")


def escaped(text: str) -> str:
    """Escapes the characters of a docstring that reStructuredText would interpret as markup.

    Literals, examples, blocks of code and the names of arguments are left unchanged.
    """
    blocks = re.split(r"(\n\s*\n)", text)
    for number, block in enumerate(blocks[::2]):
        follows_code = number and blocks[2 * number - 2].endswith("::")
        if not (">>>" in block or follows_code):
            parts = re.split(
                r"(``.*?``|`[^`]*`|^\s*\*+\w+:|^\s*\* )", block, flags=re.DOTALL | re.MULTILINE
            )
            parts[::2] = [_MARKUP.sub(r"\\\g<0>", part) for part in parts[::2]]
            # reStructuredText needs a separator between a literal and a plural suffix, as in
            # `Shape`s.
            blocks[2 * number] = _PLURAL.sub(
                lambda match: f"{match[1]}\\ {match[2]}" if match[2] else match[1], "".join(parts)
            )
    return "".join(blocks)


_PLURAL = re.compile(r"(``[^`]+``|`[^`]+`)([A-Za-z])?")
_MARKUP = re.compile(r"[*|`]|(?<=\w)_(?=\W|$)")


def described(value: Any) -> tuple[str, str]:
    """Returns the directive for an object, and its signature as text."""
    if not callable(value):
        return "data", ""
    try:
        signature = str(_unquoted(inspect.signature(value)))
    except (TypeError, ValueError):
        signature = "(...)"
    signature = re.sub(r"<([\w.]+)[^<>]*>", r"\1", signature)
    return "class" if inspect.isclass(value) else "function", signature


class _Text:
    """Annotation that is shown as in the source."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def _unquoted(signature: inspect.Signature) -> inspect.Signature:
    """Returns a signature whose annotations are shown without quotation marks."""

    def shown(annotation: Any) -> Any:
        return _Text(annotation) if isinstance(annotation, str) else annotation

    parameters = [
        parameter.replace(annotation=shown(parameter.annotation))
        for parameter in signature.parameters.values()
    ]
    return signature.replace(
        parameters=parameters, return_annotation=shown(signature.return_annotation)
    )


def members(owner: type) -> Iterator[str]:
    """Returns a definition list of the public methods and properties of a class."""
    for name, member in inspect.getmembers(owner):
        text = docstring_of(member)
        if name.startswith("_") or not text:
            continue
        first = " ".join(text.partition("\n\n")[0].split())
        yield f"   ``{name}{signature_of(owner, name, member)}``"
        yield f"      {escaped(first)}"
        yield ""


def signature_of(owner: type, name: str, member: Any) -> str:
    """Returns the parameters of a method in parentheses; nothing for a property."""
    if not callable(member):
        return ""
    text = described(member)[1]
    is_static = isinstance(inspect.getattr_static(owner, name, None), staticmethod)
    without_self = text if is_static else re.sub(r"^\(self(?:, /)?(?:, )?", "(", text)
    return without_self.replace("`", "'")


if __name__ == "__main__":
    write(Path(olympus.__file__).parents[4] / "docs" / "reference")
