# SPDX-License-Identifier: Apache-2.0
"""Questions about the device that tests run on, and decorators that skip tests by the answers."""

from __future__ import annotations

import functools
import os
import re
import sys
import unittest
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from olympus_ir._jaxlib import jaxlib_version as _jaxlib_version
from olympus_ir.settings.config import config
from olympus_xla.platforms import backends

__all__ = [
    "CudaArchSpecificTest",
    "device_kind_match",
    "device_supports_buffer_donation",
    "device_under_test",
    "get_cuda_nonportable_max_cluster_size",
    "get_tpu_version",
    "is_cloud_tpu",
    "is_cloud_tpu_at_least",
    "is_cuda_compute_capability_at_least",
    "is_cuda_compute_capability_equal",
    "is_cuda_version_at_least",
    "is_device_cuda",
    "is_device_oneapi",
    "is_device_rocm",
    "is_device_tpu",
    "is_device_tpu_at_least",
    "is_gil_disabled",
    "is_running_under_pytest",
    "is_test_rbe",
    "jaxlib_version",
    "numpy_version",
    "parse_version",
    "pattern_search",
    "pjrt_c_api_version_at_least",
    "pytest_mark_if_available",
    "request_cpu_devices",
    "run_on_devices",
    "skip_on_devices",
    "skip_on_flag",
    "skip_under_pytest",
    "stablehlo_version_at_least",
    "test_device_matches",
]

# The names of TPUs in the kinds of their devices, where these differ from the version.
_TPU_KINDS = {"v5e": "v5 lite", "v6e": "v6 lite", "v7x": "TPU7x"}


def device_under_test() -> str:
    """Returns the platform of the default device."""
    return backends.get_backend().platform


def _platform_version() -> str:
    return backends.get_backend().platform_version


def is_device_cuda() -> bool:
    """Returns whether the default device is a GPU of NVIDIA."""
    return "cuda" in _platform_version()


def is_device_rocm() -> bool:
    """Returns whether the default device is a GPU of AMD."""
    return "rocm" in _platform_version()


def is_device_oneapi() -> bool:
    """Returns whether the default device is a GPU of Intel."""
    return "oneapi" in _platform_version()


def _tags() -> set[str]:
    tags = {device_under_test()}
    if is_device_rocm():
        tags.add("rocm")
    elif is_device_cuda():
        tags.add("cuda")
    return tags


def test_device_matches(device_types: Iterable[str]) -> bool:
    """Returns whether the default device is of one of the given types.

    Args:
      device_types: names of platforms.

    Raises:
      TypeError: ``device_types`` is one string.
    """
    if isinstance(device_types, str):
        raise TypeError(f"device_types must be a list of strings, got {device_types!r}")
    return not _tags().isdisjoint(device_types)


# The name says to pytest that this function is a test.
test_device_matches.__test__ = False  # pyright: ignore[reportFunctionMemberAccess]


def _skip_if(condition: Callable[[], bool], reason: str) -> Callable[[Any], Any]:
    """Returns a decorator of test methods that skips them if a condition holds at the call."""

    def decorate(method: Any) -> Any:
        @functools.wraps(method)
        def run(*args: Any, **kwargs: Any) -> Any:
            if condition():
                raise unittest.SkipTest(reason)
            return method(*args, **kwargs)

        return run

    return decorate


def skip_on_devices(*disabled_devices: str, skip_reason: str | None = None) -> Any:
    """Returns a decorator of tests that are skipped on some platforms."""
    reason = skip_reason or f"Skipped on devices with tags: {', '.join(disabled_devices)}"
    return _skip_if(lambda: test_device_matches(disabled_devices), reason)


def run_on_devices(*enabled_devices: str, skip_reason: str | None = None) -> Any:
    """Returns a decorator of tests that are skipped on all platforms but some."""
    enabled = ", ".join(enabled_devices)
    reason = skip_reason or f"Skipped unless running on devices with tags: {enabled}"
    return _skip_if(lambda: not test_device_matches(enabled_devices), reason)


def device_supports_buffer_donation() -> Any:
    """Returns a decorator of tests that need a platform whose programs reuse donated memory."""
    return run_on_devices("cpu", "cuda", "rocm", "tpu", "neuron", "oneapi")


def skip_on_flag(flag_name: str, skip_value: Any) -> Any:
    """Returns a decorator of tests that are skipped while a flag has a value."""
    return _skip_if(
        lambda: config.read(flag_name) == skip_value,
        f"not supported when {flag_name} is {skip_value}",
    )


def skip_under_pytest(reason: str) -> Any:
    """Returns a decorator of tests that are skipped under pytest."""
    return unittest.skipIf(is_running_under_pytest(), f"Running under pytest: {reason}")


def pytest_mark_if_available(marker: str) -> Callable[[Any], Any]:
    """Returns a decorator that marks tests for pytest, if pytest runs them."""

    def mark(decorated: Any) -> Any:
        pytest: Any = sys.modules.get("pytest")
        return decorated if pytest is None else getattr(pytest.mark, marker)(decorated)

    return mark


def is_running_under_pytest() -> bool:
    """Returns whether pytest has been imported."""
    return "pytest" in sys.modules


def is_cloud_tpu() -> bool:
    """Returns False: these helpers do not know machines of a cloud."""
    return False


def is_cloud_tpu_at_least(year: int, month: int, day: int) -> bool:
    """Returns whether the device is no TPU of a cloud, or was built at a date or later."""
    del year, month, day
    return not is_cloud_tpu()


def _device_kind() -> str:
    return backends.get_backend().devices()[0].device_kind


def get_tpu_version() -> int:
    """Returns the number in the name of the TPU.

    Raises:
      ValueError: the default device is no TPU of a known kind.
    """
    found = re.match(r"TPU\D*(\d+)", _device_kind())
    if device_under_test() != "tpu" or found is None:
        raise ValueError(f"{_device_kind()} is not a TPU of a known version")
    return int(found.group(1))


def is_device_tpu_at_least(version: int) -> bool:
    """Returns whether the default device is a TPU of a version or a later one."""
    return device_under_test() == "tpu" and get_tpu_version() >= version


def is_device_tpu(version: int | None = None, variant: str = "") -> bool:
    """Returns whether the default device is a TPU, of a version and a variant if given."""
    if device_under_test() != "tpu" or version is None:
        return device_under_test() == "tpu"
    name = f"v{version}{variant}"
    if name == "v5p":
        return _device_kind().endswith("v5")
    return _TPU_KINDS.get(name, name) in _device_kind()


def pattern_search(patterns: str | Sequence[str], string: str) -> str | None:
    """Returns the first of the patterns that is found in a text."""
    candidates = (patterns,) if isinstance(patterns, str) else patterns
    return next((pattern for pattern in candidates if re.search(pattern, string)), None)


def device_kind_match(device_patterns: str | Sequence[str]) -> str | None:
    """Returns the first of the patterns that is found in the kind of the default device."""
    return pattern_search(device_patterns, _device_kind())


def get_cuda_nonportable_max_cluster_size() -> int:
    """Returns the largest number of thread blocks in a cluster of the GPU."""
    sizes = {"Thor$": 8, "GB10$": 12}
    return sizes.get(device_kind_match(list(sizes)) or "", 16)


def _compute_capability() -> tuple[int, ...]:
    """Returns the compute capability of the GPU, or an empty tuple without a GPU of NVIDIA."""
    if not is_device_cuda():
        return ()
    return parse_version(backends.get_backend().devices()[0].compute_capability)


def is_cuda_compute_capability_at_least(capability: str) -> bool:
    """Returns whether the GPU has a compute capability such as ``"8.0"`` or a higher one."""
    return _compute_capability() >= parse_version(capability)


def is_cuda_compute_capability_equal(capability: str) -> bool:
    """Returns whether the GPU has exactly the given compute capability."""
    return _compute_capability() == parse_version(capability)


def is_cuda_version_at_least(major: int, minor: int) -> bool:
    """Returns whether the version of CUDA is the given one or a later one."""
    found = re.search(r"cuda (\d+)", _platform_version())
    return found is not None and int(found.group(1)) >= major * 1000 + minor * 10


class CudaArchSpecificTest:
    """Mixin of test cases, with methods that skip tests of some GPUs."""

    skipTest: Callable[[str], Any]

    def skip_unless_sm90a(self) -> None:
        if not is_cuda_compute_capability_equal("9.0"):
            self.skipTest("Only works on GPU with capability sm90a")

    def skip_unless_tcgen05(self) -> None:
        if _compute_capability()[:1] not in ((10,), (11,)):
            self.skipTest("Only works on GPU with tcgen05 instructions")

    def skip_unless_tcgen05_int8(self) -> None:
        self.skip_unless_tcgen05()
        if _compute_capability() not in ((10, 0), (10, 1), (11, 0)):
            self.skipTest("tcgen05 in int8 only works on GPU with capability sm100a/sm101a/sm110a")


def is_gil_disabled() -> bool:
    """Returns whether Python runs without its global lock."""
    return not getattr(sys, "_is_gil_enabled", lambda: True)()


def is_test_rbe() -> bool:
    """Returns whether the environment variable ``IS_JAX_RBE_TESTING`` is set to true."""
    return os.getenv("IS_JAX_RBE_TESTING", "").lower() in {"true", "1", "yes", "y"}


def jaxlib_version() -> tuple[int, ...]:
    """Returns the version of jaxlib."""
    return _jaxlib_version


def parse_version(v: str) -> tuple[int, ...]:
    """Returns the numbers of a version.

    Example:
      >>> parse_version("2.1.0rc1")
      (2, 1, 0)

    Raises:
      ValueError: the text does not begin with a number.
    """
    found = re.match(r"\d+(\.\d+)*", v)
    if found is None:
        raise ValueError(f"Unable to parse version {v!r}")
    return tuple(int(part) for part in found.group().split("."))


def numpy_version() -> tuple[int, ...]:
    """Returns the version of NumPy."""
    return parse_version(np.__version__)


def pjrt_c_api_version_at_least(major_version: int, minor_version: int) -> bool:
    """Returns whether the interface of the platform's plugin has a version or a later one."""
    client = backends.get_backend()
    found = getattr(client, "pjrt_c_api_major_version", None)
    if found is None:
        return True
    return (found, client.pjrt_c_api_minor_version) >= (major_version, minor_version)


def stablehlo_version_at_least(required_version: str) -> bool:
    """Returns whether the platform's plugin reads a version of StableHLO."""
    found = getattr(backends.get_backend(), "stablehlo_current_version", None)
    return found is None or tuple(found) >= parse_version(required_version)


def request_cpu_devices(nr_devices: int) -> None:
    """Requests CPU devices; without effect if the devices have been made."""
    if config.read("olympus_num_cpu_devices") >= nr_devices:
        return
    if not backends.are_backends_initialized():
        config.update("olympus_num_cpu_devices", nr_devices)
