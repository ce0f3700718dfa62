# SPDX-License-Identifier: Apache-2.0
"""Runs programs that are written for JAX: ``import jax`` imports OLYMPUS.

On the command line, run ``python -m olympus.compat program.py`` or ``python -m olympus.compat -m
module``. Inside a program, call `install` before the first ``import jax``.

The modules are the same objects under both names, so ``jax.numpy is olympus.numpy``. Their names
are JAX's: ``jax.make_jaxpr``, ``jax.core.Jaxpr``, the flags ``jax_*`` of ``jax.config`` and the
environment variables ``JAX_*``. Use of a name that OLYMPUS does not have raises an `ImportError`
or an `AttributeError` that says so.
"""

from __future__ import annotations

import importlib
import logging
import os
import sys
from pathlib import Path
from types import ModuleType

import olympus
from olympus import version
from olympus_ir.settings.config import config
from olympus_ir.settings.naming import naming

from .complete_modules import complete
from .finder import AliasFinder
from .private_modules import private_modules

__all__ = ["JAX_VERSION", "install", "installed"]

JAX_VERSION = "0.10.2"
"""The version of JAX whose interface OLYMPUS provides; the value of ``jax.__version__``."""

_IMPORTED_WITH_JAX = (
    *("ad_checkpoint", "api_util", "core", "custom_batching", "custom_derivatives", "debug"),
    *("distributed", "dlpack", "dtypes", "errors", "experimental", "export", "ffi", "image"),
    *("interpreters", "interpreters.ad", "interpreters.batching", "interpreters.mlir"),
    *("interpreters.partial_eval", "interpreters.xla", "lax", "lax.linalg", "monitoring", "nn"),
    *("nn.initializers", "numpy", "numpy.fft", "numpy.linalg", "ops", "profiler", "random", "ref"),
    *("scipy", "sharding", "stages", "tree", "tree_util", "typing", "version"),
)

_SUBPROCESSES = str(Path(__file__).parent / "subprocesses")


def installed() -> bool:
    """Returns whether ``import jax`` means OLYMPUS in this process.

    Example:
        >>> installed()
        False
    """
    return any(isinstance(finder, AliasFinder) for finder in sys.meta_path)


def install(*, subprocesses: bool = True) -> ModuleType:
    """Makes ``import jax`` mean OLYMPUS, in this process and its subprocesses.

    A second call does nothing. The effect cannot be undone: modules imported as ``jax`` stay.

    Args:
      subprocesses: whether to include Python subprocesses. If so, a folder with a package ``jax``
        is put in front of ``PYTHONPATH`` and into `sys.path`, which workers take over.

    Returns:
      OLYMPUS, which is ``jax`` from now on.

    Raises:
      ImportError: JAX itself is imported already. JAX and OLYMPUS both attach their methods to
        the arrays of jaxlib, so a process can have only one of the two.

    Example:
        >>> import olympus.compat
        >>> jax = olympus.compat.install()  # doctest: +SKIP
        >>> import jax.numpy as jnp  # doctest: +SKIP
    """
    if installed():
        return olympus
    _refuse_imported_jax()
    config.answer_to("jax_")
    naming.library, naming.a_library, naming.module = "JAX", "a JAX", "jax"
    olympus.__version__ = version.__version__ = JAX_VERSION
    olympus.__version_info__ = version.__version_info__ = version.version_info(JAX_VERSION)
    sys.meta_path.insert(0, AliasFinder(JAX_VERSION, private_modules()))
    sys.modules["jax"] = olympus
    complete(olympus)
    # Importing JAX imports its private modules and most of its public modules. Some programs rely
    # on this: they use modules as attributes of `jax`, or look in `sys.modules`.
    setattr(olympus, "_src", importlib.import_module("jax._src"))  # noqa: B010 - of no known type
    for name in _IMPORTED_WITH_JAX:
        importlib.import_module(f"jax.{name}")
    # Log records reach the handlers and filters that are attached to JAX's logger.
    logging.getLogger("olympus").parent = logging.getLogger("jax")
    if subprocesses:
        _alias_in_subprocesses()
    return olympus


def _refuse_imported_jax() -> None:
    if "jax" in sys.modules:
        raise ImportError(
            "olympus.compat.install() comes too late: JAX is imported in this process already, "
            "from "
            f"{getattr(sys.modules['jax'], '__file__', 'an unknown place')}. Call it before the "
            "first `import jax`, or start the program with `python -m olympus.compat`."
        )


def _alias_in_subprocesses() -> None:
    folders = os.environ.get("PYTHONPATH", "").split(os.pathsep)
    if _SUBPROCESSES not in folders:
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [_SUBPROCESSES, *folders]))
    # Workers of multiprocessing and of pytest-xdist take over `sys.path` from their parent.
    if _SUBPROCESSES not in sys.path:
        sys.path.insert(1, _SUBPROCESSES)
