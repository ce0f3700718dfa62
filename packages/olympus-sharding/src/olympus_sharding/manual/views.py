# SPDX-License-Identifier: Apache-2.0
"""Views of references, as arguments of `shard_map` that are split among the devices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from olympus_ir.diagnostics.debug_info import DebugInfo
from olympus_ir.references.primitives import new_ref
from olympus_ir.references.values import TransformedRef
from olympus_ir.trees import pytrees
from olympus_ir.types.avals import get_aval
from olympus_ir.types.references import check_aliases

from .arguments import Infer, flat_specs, mentioned_axes

__all__ = ["Copies", "with_copies_of_views"]


class Copies(NamedTuple):
    """References to copies of views, for the views that devices split.

    Views themselves cannot be split: a device's shard of a view is not a view of the device's shard
      of the reference.

    Attributes:
      views: the views.
      refs: for each view the reference to its copy.
    """

    views: Sequence[TransformedRef]
    refs: Sequence[Any]

    def check(self, info: DebugInfo, closed_over: Sequence[Any]) -> None:
        """Checks that the function does not close over the reference of a view.

        Raises:
          ValueError: the function closes over such a reference.
        """
        check_aliases(DebugInfo.of(info.traced_for, info.origin), closed_over, _bases(self.views))

    def write_back(self) -> None:
        """Writes the contents of the copies to the views."""
        for view, ref in zip(self.views, self.refs, strict=True):
            view[...] = ref[...]


def with_copies_of_views(f: Callable[..., Any], args: tuple, in_specs: Any) -> tuple[tuple, Copies]:
    """Replaces the views that devices split by references to copies of their elements.

    Args:
      f: the function.
      args: the arguments; views are leaves.
      in_specs: as for `shard_map`.

    Returns:
      The new arguments, and the copies. A view that is the same on all devices stays a view.

    Raises:
      ValueError: a reference occurs twice among the arguments.
    """
    leaves, tree = pytrees.tree_flatten(args)
    if not any(isinstance(leaf, TransformedRef) for leaf in leaves):
        return args, Copies((), ())
    check_aliases(DebugInfo.of("shard_map", f), (), _bases(leaves))
    inferred = isinstance(in_specs, Infer)
    specs = leaves if inferred else flat_specs("in", in_specs, args)
    positions = [
        position
        for position, (leaf, spec) in enumerate(zip(leaves, specs, strict=True))
        if isinstance(leaf, TransformedRef)
        and (inferred or (spec is not None and mentioned_axes(spec)))
    ]
    views = [leaves[position] for position in positions]
    refs = [new_ref(view[...]) for view in views]
    for index, ref in zip(positions, refs, strict=True):
        leaves[index] = ref
    return pytrees.tree_unflatten(tree, leaves), Copies(views, refs)


def _bases(values: Sequence[Any]) -> list[Any]:
    """Returns the references among values; each view is replaced by its underlying reference."""
    bases = [value.ref if isinstance(value, TransformedRef) else value for value in values]
    return [base for base in bases if hasattr(base, "dtype") and get_aval(base).is_ref]
