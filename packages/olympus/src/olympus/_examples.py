# SPDX-License-Identifier: Apache-2.0
"""Rewrites the imports in docstring examples of inner packages to public modules of `olympus`.

The examples of an inner package import from inner packages, because they run without `olympus`.
Users of `olympus` import the same objects from its public modules.
"""

from __future__ import annotations

import re

__all__ = ["with_public_names"]

# Maps each inner module that examples import from to the public module that replaces it.
_MODULES = {
    "olympus_autodiff": "olympus",
    "olympus_batching": "olympus",
    "olympus_checkify": "olympus.experimental.checkify",
    "olympus_export": "olympus.export",
    "olympus_export.functions.reading": "olympus.export",
    "olympus_ir.lax": "olympus.lax",
    "olympus_ir.lax.callbacks": "olympus",
    "olympus_ir.programs.primitives": "olympus.extend.core",
    "olympus_ir.programs.tracing": "olympus",
    "olympus_ir.references.primitives": "olympus.ref",
    "olympus_ir.programs.jit": "olympus",
    "olympus_ir.programs.make": "olympus",
    "olympus_ir.settings.config": "olympus",
    "olympus_ir.symbolic": "olympus.export",
    "olympus_ir.trees.flattening": "olympus.api_util",
    "olympus_ir.trees.pytrees": "olympus.tree_util",
    "olympus_nn": "olympus.nn",
    "olympus_numpy": "olympus.numpy",
    "olympus_numpy.numerics.segments": "olympus.ops",
    "olympus_pallas": "olympus.experimental.pallas",
    "olympus_pallas.mosaic_gpu": "olympus.experimental.pallas.mosaic_gpu",
    "olympus_pallas.tpu": "olympus.experimental.pallas.tpu",
    "olympus_random": "olympus.random",
    "olympus_scipy.images": "olympus.image",
    "olympus_scipy.linalg": "olympus.scipy.linalg",
    "olympus_sharding": "olympus.sharding",
    "olympus_sparse": "olympus.experimental.sparse",
    "olympus_xla": "olympus",
    "olympus_xla.platforms.topologies": "olympus.experimental.topologies",
}
# Maps names that examples import from `olympus_ir` to their public modules.
_OF_IR = {"ShapeDtypeStruct": "olympus", "lax": "olympus", "ShapedArray": "olympus.core"}
# Imports of names that have other names in the public modules.
_RENAMED = {
    "from olympus_ir.references import primitives as references": (
        "from olympus import ref as references"
    ),
    "from olympus_ir.trees import pytrees": "from olympus import tree_util as pytrees",
    "from olympus_ir.types.memory_spaces import MemorySpace": (
        "import olympus\nMemorySpace = olympus.memory.Space"
    ),
}

_IMPORT = re.compile(
    r"^(?P<prompt> *>>> )(?:from (?P<module>olympus_[\w.]+) import (?P<names>[^(\n]*)"
    r"|import (?P<alone>olympus_\w+) as )",
    re.MULTILINE,
)


def with_public_names(docstring: str) -> str:
    """Returns a docstring whose examples import from the public modules.

    Imports of objects without a public module do not change.

    Example:
      >>> with_public_names(">>> from olympus_numpy import ones")
      '>>> from olympus.numpy import ones'
    """
    return _IMPORT.sub(_public_import, docstring) if ">>> " in docstring else docstring


def _public_import(found: re.Match[str]) -> str:
    prompt = found["prompt"]
    if found["alone"] is not None:
        home = _MODULES.get(found["alone"])
        return found[0] if home is None else f"{prompt}import {home} as "
    module, names = found["module"], found["names"]
    renamed = _RENAMED.get(f"from {module} import {names.strip()}")
    if renamed is not None:
        return prompt + renamed.replace("\n", f"\n{prompt}")
    listed = [name.strip() for name in names.split(",")]
    if module == "olympus_ir":
        homes = {_OF_IR.get(name) for name in listed}
        home = homes.pop() if len(homes) == 1 else None
    else:
        home = _MODULES.get(module)
    return found[0] if home is None else f"{prompt}from {home} import {names}"
