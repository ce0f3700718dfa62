# SPDX-License-Identifier: Apache-2.0
"""Causes of retracing: the differences between a trace and the most similar earlier trace."""

from __future__ import annotations

import dataclasses
import dis
import types
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from ..._jaxlib import config_trace_context_names
from ...diagnostics import source_info
from ...diagnostics.lines import Line
from ...diagnostics.name_stacks import no_names
from ...trees.pytree_paths import keystr
from ...trees.pytree_prefix import equality_errors_of_structures
from .glimpses import Glimpse
from .trace_history import Compilation, TraceRecord, surroundings

__all__ = [
    "Cause",
    "Line",
    "arguments_of",
    "causes_of",
    "compilation_causes",
    "described",
    "line_of",
    "stale_values",
]


class Cause(NamedTuple):
    """One difference between a trace and an earlier trace.

    Attributes:
      kind: the kind of difference: ``"shape"``, ``"dtype"``, ``"weak type"``, ``"sharding"``,
        ``"memory space"``, ``"type"``, ``"static value"``, ``"structure"``, ``"function"``,
        ``"closure cell"``, ``"global"``, ``"default"``, ``"partial argument"``, ``"flag"``,
        ``"named axes"``, ``"mesh"``, ``"option"`` or ``"cache"``.
      path: the argument, such as ``params['w']``, or the name of the variable, flag or option.
      now: the value at this trace.
      before: the value at the earlier trace.
      line: the line that defines the function, for causes of the kind ``"function"``.
    """

    kind: str
    path: str
    now: str
    before: str
    line: Line | None = None

    def __str__(self) -> str:
        if self.kind == "function":
            made = f", created at each call by {self.line}" if self.line else ""
            shown = f": `{self.line.text}`" if self.line and self.line.text else ""
            return (
                f"{self.path} is a new function object{made}{shown}. Create the function once, "
                "outside of the loop or function that calls it."
            )
        if self.kind == "cache":
            return self.now
        return f"{self.path}: {self.kind} {self.now}, before {self.before}"


def line_of(record: TraceRecord) -> Line | None:
    """Returns the line of the call that led to a trace; None if unknown."""
    frame = source_info.user_frame(source_info.SourceInfo(record.traceback, no_names))
    return Line(frame.file_name, frame.start_line, frame.function_name) if frame else None


def causes_of(record: TraceRecord, earlier: Sequence[TraceRecord]) -> tuple[Cause, ...]:
    """Returns the differences between a trace and the most similar earlier trace.

    Args:
      record: the trace.
      earlier: the earlier traces of the function, and of other functions defined at the same line.

    Returns:
      The differences; none for the first trace.
    """
    if not earlier:
        return ()
    same = [previous for previous in earlier if _is_same_function(record, previous)]
    compared = [list(_differences(record, previous)) for previous in reversed(same or earlier)]
    closest = min(compared, key=_distance)
    if not same:
        code = record.codes[-1]
        line = Line(code.co_filename, code.co_firstlineno, code.co_qualname)
        new = Cause("function", record.debug_info.func_name, "another object", "", line)
        return (new, *_changed_surroundings(record, earlier[-1]), *closest)
    if closest:
        return tuple(closest)
    changed = tuple(_changed_surroundings(record, same[-1]))
    return changed or (Cause("cache", "", _why_forgotten(same), ""),)


def _distance(causes: Sequence[Cause]) -> tuple[int, int]:
    """Returns a sort key that measures how much a trace differs from an earlier trace.

    Fewer causes result in a smaller key. Among equal numbers of causes, causes deeper inside the
    arguments result in a smaller key.
    """
    weight = sum(3 if cause.kind == "structure" else 1 for cause in causes)
    return weight, -sum(cause.path.count("[") for cause in causes)


def _why_forgotten(same: Sequence[TraceRecord]) -> str:
    if not same[-1].is_kept:
        return (
            "the function closes over a traced value of an enclosing function, so its program is "
            "not cached"
        )
    return "nothing differs: the caches were cleared, or the function's type allows no cache"


def _is_same_function(record: TraceRecord, earlier: TraceRecord) -> bool:
    if record.function_id != earlier.function_id:
        return False
    if record.function is None or earlier.function is None:
        return record.function is earlier.function
    return earlier.function() is not None


def _differences(now: TraceRecord, before: TraceRecord) -> Iterator[Cause]:
    yield from _changed_context(now, before)
    yield from _changed_statics(now, before)
    if now.in_tree != before.in_tree:
        yield from _changed_structure(now, before)
    else:
        names = now.debug_info.arg_names or ()
        for position, (new, old) in enumerate(zip(now.avals, before.avals, strict=True)):
            if new != old:
                name = names[position] if position < len(names) else f"argument {position}"
                yield from _changed_type(name, new, old)
    if now.options != before.options:
        for name in type(now.options).__slots__:
            new, old = getattr(now.options, name), getattr(before.options, name)
            if new != old and name[0] != "_":
                yield Cause("option", name, repr(new), repr(old))


def _changed_context(now: TraceRecord, before: TraceRecord) -> Iterator[Cause]:
    if now.axes != before.axes:
        yield Cause("named axes", "named axes", str(now.axes), str(before.axes))
    for name, new, old in zip(
        config_trace_context_names(), now.context, before.context, strict=False
    ):
        if new != old:
            if "mesh" in name:
                yield Cause("mesh", name, str(new), str(old))
            elif name == "program_flags":
                yield from _changed_program_flags(new, old)
            elif name != "axis_environment" or now.axes == before.axes:
                yield Cause("flag", name, str(new), str(old))


def _changed_program_flags(now: Any, before: Any) -> Iterator[Cause]:
    try:
        new, old = dict(now), dict(before)
    except (TypeError, ValueError):
        yield Cause("flag", "program_flags", str(now), str(before))
        return
    for name in sorted(new.keys() | old.keys()):
        if new.get(name) != old.get(name):
            yield Cause("flag", str(name), str(new.get(name)), str(old.get(name)))


def _changed_statics(now: TraceRecord, before: TraceRecord) -> Iterator[Cause]:
    for place in {**now.statics, **before.statics}:
        new, old = now.statics.get(place), before.statics.get(place)
        if new is None or old is None or not new.is_same(old):
            texts = ["not given" if value is None else str(value) for value in (new, old)]
            yield Cause("static value", _static_name(now, place), texts[0], texts[1])


def _static_name(record: TraceRecord, place: int | str) -> str:
    """Returns the name of a static argument, given its position or keyword."""
    origin = record.debug_info.origin
    if isinstance(origin, str):
        return str(place)
    return origin.positional_name(place) if isinstance(place, int) else origin.keyword_name(place)


def _changed_type(name: str, now: Any, before: Any) -> Iterator[Cause]:
    """Yields the differences between two types of one argument."""
    differs = False
    for kind, attribute in _PARTS_OF_TYPES:
        new, old = getattr(now, attribute, None), getattr(before, attribute, None)
        if new != old:
            differs = True
            shown = _part_text(attribute, new, now)
            yield Cause(kind, name, shown, _part_text(attribute, old, before))
    if not differs:
        yield Cause("type", name, str(now), str(before))


_PARTS_OF_TYPES = (
    ("shape", "shape"),
    ("dtype", "dtype"),
    ("weak type", "weak_type"),
    ("sharding", "layout"),
    ("memory space", "memory_space"),
)


def _part_text(attribute: str, value: Any, aval: Any) -> str:
    if attribute == "shape":
        return aval.str_short(True) if hasattr(aval, "str_short") else str(value)
    if attribute == "weak_type" and value:
        return "True (a Python number)"
    return str(value)


# ---- structures ----


def _changed_structure(now: TraceRecord, before: TraceRecord) -> Iterator[Cause]:
    names = _argument_names(now), _argument_names(before)
    for name in {**names[0], **names[1]}:
        (new_how, new), (old_how, old) = (
            arguments.get(name, ("is not given", None)) for arguments in names
        )
        if new_how != old_how:
            yield Cause("structure", name, new_how, old_how)
        elif new != old:
            yield from _changed_subtree(name, new, old)


def _argument_names(record: TraceRecord) -> dict[str, tuple[str, Any]]:
    """Maps each argument's name to a pair: how the argument is passed, and its structure."""
    args, kwargs = record.in_tree.children()
    origin = record.debug_info.origin
    named: dict[str, tuple[str, Any]] = {}
    places = (
        range(args.num_nodes)
        if record.num_positional is None
        else [
            position for position in range(record.num_positional) if position not in record.statics
        ]
    )
    for place, child in zip(places, args.children(), strict=False):
        name = f"argument {place}" if isinstance(origin, str) else origin.positional_name(place)
        named[name] = "is passed by position", child
    keywords = kwargs.node_data()[1] if kwargs.node_data() else ()
    for keyword, child in zip(keywords, kwargs.children(), strict=True):
        name = keyword if isinstance(origin, str) else origin.keyword_name(keyword)
        named[name] = "is passed by keyword", child
    return named


def _changed_subtree(name: str, now: Any, before: Any) -> Iterator[Cause]:
    """Yields a cause for each path below the argument ``name`` at which two structures differ."""
    if now == before:
        return
    node_type = _node_type(now)
    if node_type is not _node_type(before) or node_type is None:
        yield Cause("structure", name, _kind_of_tree(now), _kind_of_tree(before))
    elif node_type in (list, tuple, dict):
        new, old = _children_by_key(now), _children_by_key(before)
        for key in {**new, **old}:
            path = f"{name}[{key!r}]"
            if key in new and key in old:
                yield from _changed_subtree(path, new[key], old[key])
            else:
                kinds = _kind_of_tree(new.get(key)), _kind_of_tree(old.get(key))
                yield Cause("structure", path, *kinds)
    elif changed := list(_changed_metadata(name, now.node_data(), before.node_data())):
        yield from changed
    else:
        for path, new, old, _ in equality_errors_of_structures(now, before):
            yield Cause("structure", name + keystr(path), str(new), str(old))


def _changed_metadata(name: str, now: tuple[Any, Any], before: tuple[Any, Any]) -> Iterator[Cause]:
    """Yields a cause for each static field of a dataclass that differs, or for the order of keys.

    Args:
      name: the path of a node.
      now: the type of the node, and its metadata.
      before: the type and metadata of the node in the earlier structure.
    """
    kind, metadata = now
    if kind is OrderedDict:
        keys, other_keys = list(metadata), list(before[1])
        if keys != other_keys and set(keys) == set(other_keys):
            order = f"the order of keys {keys}"
            yield Cause("structure", name, order, str(other_keys))
    elif dataclasses.is_dataclass(kind) and isinstance(metadata, tuple):
        fields = [field.name for field in dataclasses.fields(kind) if field.metadata.get("static")]
        if len(fields) == len(metadata) == len(before[1]):
            for field, new, old in zip(fields, metadata, before[1], strict=True):
                if not Glimpse(new).is_same(Glimpse(old)):
                    yield Cause("static value", f"{name}.{field}", _shown(new), _shown(old))


def _shown(value: Any) -> str:
    return str(Glimpse(value))


def _node_type(tree: Any) -> type | None:
    data = tree.node_data()
    return None if data is None else data[0]


def _children_by_key(tree: Any) -> dict[Any, Any]:
    kind, keys = tree.node_data()
    children = tree.children()
    return dict(zip(keys if kind is dict else range(len(children)), children, strict=True))


def _kind_of_tree(tree: Any) -> str:
    if tree is None:
        return "is not given"
    kind = _node_type(tree)
    if kind is not None:
        return f"is a {kind.__name__}"
    return "is an array" if tree.num_leaves else "is None"


# ---- what the function closes over ----


def _changed_surroundings(now: TraceRecord, before: TraceRecord) -> Iterator[Cause]:
    for (kind, name), new in now.surroundings.items():
        old = before.surroundings.get((kind, name))
        if old is None or new.is_same(old):
            continue
        if kind != "global" or _loads(now.codes[-1], name):
            yield Cause(kind, name, str(new), str(old))


def stale_values(record: TraceRecord) -> tuple[Cause, ...]:
    """Returns the variables that changed since a trace; the program keeps their old values.

    Args:
      record: the trace.

    Returns:
      Causes of the kinds ``"closure cell"`` and ``"global"``; none if the function is gone.
    """
    fun = None if record.function is None else record.function()
    if fun is None:
        return ()
    return tuple(
        Cause(kind, name, str(now), str(before))
        for (kind, name), now in surroundings(fun).items()
        if (before := record.surroundings.get((kind, name))) is not None
        and not now.is_same(before)
        and (kind != "global" or _loads(record.codes[-1], name))
    )


def _loads(code: types.CodeType, name: str) -> bool:
    """Returns whether code reads a global variable rather than an attribute of this name."""
    inner = [const for const in code.co_consts if isinstance(const, types.CodeType)]
    return any(
        instruction.opname in ("LOAD_GLOBAL", "LOAD_NAME") and instruction.argval == name
        for instruction in dis.get_instructions(code)
    ) or any(_loads(function, name) for function in inner)


# ---- compilations ----


def compilation_causes(record: TraceRecord, compilation: Compilation) -> tuple[Cause, ...]:
    """Returns the differences between two consecutive compilations of a program."""
    place = record.compilations.index(compilation)
    if place == 0:
        return ()
    new, old = compilation.placement, record.compilations[place - 1].placement
    causes = []
    if new[0] != old[0]:
        causes.append(Cause("mesh", "mesh", new[0], old[0]))
    if new[1] != old[1]:
        causes.append(Cause("sharding", "default device", new[1], old[1]))
    names = record.debug_info.arg_names or ()
    skipped = max(len(new) - 2 - len(names), 0)  # hoisted values are unnamed
    for position, (now, before) in enumerate(zip(new[2:], old[2:], strict=False)):
        if now != before:
            index = position - skipped
            name = names[index] if 0 <= index < len(names) else f"operand {position}"
            causes.append(Cause("sharding", name, now, before))
    return tuple(causes)


# ---- text ----


def described(records: Sequence[TraceRecord]) -> str:
    """Returns a paragraph for each trace: its line, and its causes or the types of arguments."""
    lines = []
    for position, record in enumerate(records):
        line = line_of(record)
        lines.append(f"  trace {position + 1}" + (f", called at {line}" if line else ""))
        causes = causes_of(record, records[:position])
        lines += [f"    {cause}" for cause in causes] or [f"    {_arguments_text(record)}"]
    return "\n".join(lines)


def _arguments_text(record: TraceRecord) -> str:
    return "the first: " + (", ".join(arguments_of(record)) or "no arguments")


def arguments_of(record: TraceRecord) -> list[str]:
    """Returns ``name: type`` for each argument, with the values of static arguments."""
    names = record.debug_info.arg_names or ()
    shown = [
        f"{name}: {aval.str_short(True) if hasattr(aval, 'str_short') else aval}"
        for name, aval in zip(names, record.avals, strict=False)
    ]
    for place, value in record.statics.items():
        shown.append(f"{_static_name(record, place)} = {value} (static)")
    return shown
