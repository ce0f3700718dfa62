# SPDX-License-Identifier: Apache-2.0
"""TPUs, through the PJRT plugin of the wheel ``libtpu``."""

from __future__ import annotations

import importlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olympus_ir.loading import deferred

from ... import _jaxlib
from .. import backends

if TYPE_CHECKING:
    import importlib.util as importlib_util
else:
    importlib_util = deferred("importlib.util", milliseconds=0.5)


def plugin_library() -> str | None:
    """Returns the path of libtpu, from ``TPU_LIBRARY_PATH`` or the installed wheel, or None."""
    path = os.environ.get("TPU_LIBRARY_PATH")
    if path:
        return path
    if importlib_util.find_spec("libtpu") is None:
        return None
    return importlib.import_module("libtpu").get_library_path()


def has_tpu() -> bool:
    """Returns whether the operating system reports TPU chips."""
    return any(Path("/dev").glob("accel[0-9]*")) or (
        # PCI vendor 0x1ae0 is Google. TPU v5 and later use the vfio driver.
        Path("/dev/vfio").exists()
        and any(
            vendor.read_text().strip() == "0x1ae0"
            for vendor in Path("/sys/bus/pci/devices").glob("*/vendor")
        )
    )


def load_plugin() -> None:
    """Loads libtpu.

    Raises:
      RuntimeError: libtpu is not installed.
    """
    library = plugin_library()
    if library is None:
        raise RuntimeError(
            'no libtpu is installed; install one: python -m pip install "olympus[tpu]"'
        )
    if not _jaxlib.pjrt_plugin_loaded("tpu"):
        _jaxlib.load_pjrt_plugin("tpu", library)
        _jaxlib.initialize_pjrt_plugin("tpu")


def _make_client() -> Any:
    load_plugin()
    return _jaxlib.make_c_api_client("tpu", None, None)


def _hint() -> str | None:
    if has_tpu() and plugin_library() is None:
        return (
            "a TPU may be present on this machine, but libtpu is not installed "
            '(python -m pip install "olympus[tpu]")'
        )
    return None


backends.register_platform(
    backends.Platform(
        "tpu",
        _make_client,
        is_installed=lambda: plugin_library() is not None,
        is_present=has_tpu,
        priority=300,
        hint=_hint,
    )
)
