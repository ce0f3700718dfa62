# SPDX-License-Identifier: Apache-2.0
"""NVIDIA GPUs, through the PJRT plugin of the wheel ``jax-cuda13-plugin`` or ``jax-cuda12-plugin``.

These wheels do not depend on JAX, except for their module ``jax_plugins.xla_cuda*``, which imports
JAX. The plugin's library is therefore located without importing this module.
"""

from __future__ import annotations

import ctypes
import functools
import importlib
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

from olympus_ir.loading import deferred
from olympus_ir.settings.config_flags import (
    cuda_visible_devices,
    mock_gpu_topology,
    mock_num_gpu_processes,
)
from olympus_ir.settings.naming import logger_name

from ... import _jaxlib
from .. import backends

if TYPE_CHECKING:
    import importlib.util as importlib_util
    import logging
else:
    importlib_util = deferred("importlib.util", milliseconds=0.5)
    logging = deferred("logging", milliseconds=7.0)

# The versions, newest first. The wheels of one version hold the library and its Python extension
# modules.
VERSIONS = ("cuda13", "cuda12")

# The libraries to which the plugin links. Each library follows the libraries that it needs. An
# entry has the package below `nvidia` and the name of the library in the package. CUDA 13 wheels
# have one package for all libraries.
_LIBRARIES = (
    ("cuda_runtime", "libcudart.so"),
    ("cuda_nvrtc", "libnvrtc.so"),
    ("nvjitlink", "libnvJitLink.so"),
    ("cublas", "libcublasLt.so"),
    ("cublas", "libcublas.so"),
    ("cuda_cupti", "libcupti.so"),
    ("cusparse", "libcusparse.so"),
    ("cusolver", "libcusolver.so"),
    ("cufft", "libcufft.so"),
    ("nccl", "libnccl.so"),
    ("nvshmem", "libnvshmem_host.so"),
    ("cudnn", "libcudnn.so"),
)


def _folders(package: str) -> list[Path]:
    """Returns the folders of a (namespace) package, found without importing it."""
    spec = importlib_util.find_spec(package)
    if spec is None or spec.submodule_search_locations is None:
        return []
    return [Path(folder) for folder in spec.submodule_search_locations]


def plugin_library() -> tuple[str, Path] | None:
    """Returns the version, such as "cuda13", and the path of the installed plugin."""
    folders = _folders("jax_plugins")
    for version in VERSIONS:
        for folder in folders:
            path = folder / f"xla_{version}" / "xla_cuda_plugin.so"
            if path.exists():
                return version, path
    return None


def has_nvidia_gpu() -> bool:
    """Returns whether the driver reports a GPU in this machine."""
    return Path("/proc/driver/nvidia/version").exists() or any(Path("/dev").glob("nvidia[0-9]*"))


def _load_nvidia_libraries() -> None:
    """Loads the NVIDIA libraries of the wheels, so the plugin uses no others."""
    folders = _folders("nvidia")
    for package, library in _LIBRARIES:
        for folder in folders:
            candidates = [
                path
                for part in (package, "cu13")
                for path in sorted((folder / part / "lib").glob(f"{library}.*"))
            ]
            if candidates:
                try:
                    ctypes.cdll.LoadLibrary(str(candidates[-1]))
                except OSError as error:
                    logger = logging.getLogger(logger_name("xla_bridge"))
                    logger.info("cannot load %s: %s", candidates[-1], error)
                break


def _client_options() -> dict[str, Any]:
    options = dict(_jaxlib.generate_pjrt_gpu_plugin_options())
    options["platform_name"] = "cuda"
    visible = cuda_visible_devices.value
    if visible != "all":
        options["visible_devices"] = [int(device) for device in visible.split(",")]
    if mock_num_gpu_processes.value:
        options["enable_mock_nccl"] = True
        options["num_nodes"] = mock_num_gpu_processes.value
    if mock_gpu_topology.value:
        options["enable_mock_nccl"] = True
        options["mock_gpu_topology"] = mock_gpu_topology.value
    distributed = backends.distributed_runtime
    if distributed is not None:
        options["node_id"] = distributed.process_id
        options["num_nodes"] = distributed.num_processes
        if distributed.slice_index is not None:
            options["slice_index"] = distributed.slice_index
        if distributed.partition_index is not None:
            options["partition_index"] = distributed.partition_index
    return options


def load_plugin() -> str:
    """Loads the plugin, and registers its functions; returns its version, such as "cuda13".

    Raises:
      RuntimeError: no plugin is installed.
    """
    found = plugin_library()
    if found is None:
        raise RuntimeError(
            "no CUDA plugin is installed; install one: "
            'python -m pip install "olympus[cuda13]" (or cuda12 for older drivers)'
        )
    version, library = found
    extension = importlib.import_module(f"jax_{version}_plugin.cuda_plugin_extension")
    if not _jaxlib.pjrt_plugin_loaded("cuda"):
        _load_nvidia_libraries()
        api = _jaxlib.load_pjrt_plugin("cuda", str(library))
        _jaxlib.initialize_pjrt_plugin("cuda")
        register = _jaxlib.register_custom_type_handler
        register("CUDA", functools.partial(extension.register_custom_type, api))
        register = _jaxlib.register_custom_call_handler
        register("CUDA", functools.partial(extension.register_custom_call_target, api))
        for name, value in extension.ffi_types().items():
            _jaxlib.register_custom_type(name, value, platform="CUDA")
        for name, value in extension.ffi_handlers().items():
            _jaxlib.register_custom_call_target(name, value, platform="CUDA", api_version=1)
        _jaxlib.register_gpu_kernels()
    return version


def _make_client() -> Any:
    load_plugin()
    distributed = backends.distributed_runtime
    client = None if distributed is None else distributed.client
    return _jaxlib.make_c_api_client("cuda", _client_options(), client)


def _hint() -> str | None:
    if (
        plugin_library() is None
        and has_nvidia_gpu()
        and os.environ.get("CUDA_VISIBLE_DEVICES") != ""
    ):
        return (
            "an NVIDIA GPU may be present on this machine, but no CUDA plugin is installed "
            '(python -m pip install "olympus[cuda13]")'
        )
    return None


backends.register_platform(
    backends.Platform(
        "cuda",
        _make_client,
        is_installed=lambda: plugin_library() is not None,
        is_present=has_nvidia_gpu,
        priority=200,
        hint=_hint,
    )
)
