# SPDX-License-Identifier: Apache-2.0
"""Facts about the generations of TPUs: cores, memories, speeds."""

from __future__ import annotations

import dataclasses
import enum
from typing import Any

import numpy as np

from olympus_ir.types import dtypes
from olympus_xla.platforms import backends

__all__ = [
    "ChipVersion",
    "SparseCoreInfo",
    "Tiling",
    "TpuInfo",
    "get_tpu_info",
    "get_tpu_info_for_chip",
]


class ChipVersion(enum.Enum):
    """Generations of TPUs.

    Example:
      >>> ChipVersion.TPU_V5E.is_lite
      True
    """

    TPU_V2 = "v2"
    TPU_V3 = "v3"
    TPU_V4I = "v4i"
    TPU_V4 = "v4"
    TPU_V5E = "v5e"
    TPU_V5P = "v5p"
    TPU_V6E = "v6e"
    TPU_7 = "7"
    TPU_7X = "7x"
    TPU_8I = "8i"

    def __str__(self) -> str:
        return self.value

    @property
    def is_lite(self) -> bool:
        """Returns whether the chip has one core."""
        return self in (ChipVersion.TPU_V4I, ChipVersion.TPU_V5E, ChipVersion.TPU_V6E)

    @property
    def num_physical_tensor_cores_per_chip(self) -> int:
        """The number of tensor cores of a chip."""
        return 1 if self.is_lite else 2

    @property
    def supports_megacore(self) -> bool:
        """Returns whether the cores of a chip can form one device."""
        return self in (ChipVersion.TPU_V4, ChipVersion.TPU_V5P)


@dataclasses.dataclass(frozen=True, kw_only=True)
class SparseCoreInfo:
    """Facts about the sparse cores of a chip.

    Args:
      num_cores: the number of sparse cores.
      num_subcores: the number of subcores of each sparse core.
      num_lanes: the number of elements of a vector.
      vmem_capacity_bytes: the size of the vector memory of a subcore.
      dma_granule_size_bytes: the granularity of copies.
    """

    num_cores: int
    num_subcores: int
    num_lanes: int
    vmem_capacity_bytes: int
    dma_granule_size_bytes: int


_DTYPES = {
    name: frozenset(map(dtypes.dtype, names.split()))
    for name, names in (
        ("single", "float32"),
        ("wide", "float32 bfloat16"),
        ("quarter", "float8_e5m2 float8_e4m3b11fnuz"),
        ("quarter 7", "float8_e5m2 float8_e4m3fn"),
        ("bytes", "int8 uint8"),
        ("nibbles", "int4 uint4"),
        ("byte", "int8"),
    )
}
_WIDE_OR_QUARTER = _DTYPES["wide"] | _DTYPES["quarter"]
# For each generation, the dtypes of left and right factors that the matrix unit multiplies.
_PRODUCTS: dict[int, tuple[tuple[frozenset, frozenset], ...]] = {
    2: ((_DTYPES["single"], _DTYPES["single"]),),
    3: ((_DTYPES["single"], _DTYPES["single"]),),
    4: ((_DTYPES["wide"], _DTYPES["wide"] | _DTYPES["byte"]),),
    5: (
        (_WIDE_OR_QUARTER, _WIDE_OR_QUARTER),
        (_DTYPES["bytes"], _DTYPES["bytes"]),
        (_DTYPES["nibbles"], _DTYPES["nibbles"]),
    ),
    7: (
        (_DTYPES["wide"], _DTYPES["wide"] | _DTYPES["quarter 7"]),
        (_DTYPES["quarter 7"], _DTYPES["quarter 7"]),
    ),
}
_PRODUCTS[6] = _PRODUCTS[5]


@dataclasses.dataclass(frozen=True, kw_only=True)
class TpuInfo:
    """Facts about one device of a TPU.

    Args:
      chip_version: the chip.
      generation: the number of the generation.
      num_cores: the number of tensor cores of the device.
      num_lanes: the length of a row of a vector register.
      num_sublanes: the number of rows of a vector register.
      mxu_column_size: the size of the matrix unit.
      num_mxus: the number of matrix units of a core.
      num_accumulators: the number of accumulators of a matrix unit, if kernels can address them.
      vmem_capacity_bytes: the size of the vector memory of a core.
      cmem_capacity_bytes: the size of the memory that cores share.
      smem_capacity_bytes: the size of the scalar memory of a core.
      hbm_capacity_bytes: the size of HBM.
      mem_bw_bytes_per_second: the bandwidth of HBM.
      bf16_ops_per_second: the speed of products in bfloat16.
      int8_ops_per_second: the speed of products of 8-bit integers; 0 if they are not supported.
      fp8_ops_per_second: the speed of products of 8-bit floating-point numbers.
      int4_ops_per_second: the speed of products of 4-bit integers.
      sparse_core: facts about the sparse cores; None if the device has none.

    Example:
      >>> get_tpu_info_for_chip(ChipVersion.TPU_V6E, 1).mxu_column_size
      256
    """

    chip_version: ChipVersion
    generation: int
    num_cores: int
    num_lanes: int
    num_sublanes: int
    mxu_column_size: int
    num_mxus: int
    num_accumulators: int
    vmem_capacity_bytes: int
    cmem_capacity_bytes: int
    smem_capacity_bytes: int
    hbm_capacity_bytes: int
    mem_bw_bytes_per_second: int
    bf16_ops_per_second: int
    int8_ops_per_second: int
    fp8_ops_per_second: int
    int4_ops_per_second: int
    sparse_core: SparseCoreInfo | None = None

    @property
    def is_lite(self) -> bool:
        """Returns whether the chip has one core."""
        return self.chip_version.is_lite

    @property
    def is_split_chip(self) -> bool:
        """Returns whether the device is one of several on a chip."""
        return self.num_cores == 1 and self.chip_version.num_physical_tensor_cores_per_chip > 1

    @property
    def is_megacore(self) -> bool:
        """Returns whether the device consists of several cores."""
        return self.num_cores > 1

    def is_matmul_supported(self, lhs_dtype: Any, rhs_dtype: Any) -> bool:
        """Returns whether the matrix unit multiplies arrays of these dtypes."""
        lhs, rhs = dtypes.dtype(lhs_dtype), dtypes.dtype(rhs_dtype)
        products = _PRODUCTS[min(self.generation, 7)]
        return any(lhs in lefts and rhs in rights for lefts, rights in products)

    def get_sublane_tiling(self, dtype: np.dtype) -> int:
        """Returns the number of rows of a tile in memory, for a dtype."""
        size = dtypes.itemsize_bits(dtypes.dtype(dtype)) // 8
        if size == 4 or (size == 2 and self.generation < 7):
            return self.num_sublanes
        return self.num_sublanes * 4 // max(size, 1)


class Tiling(enum.Enum):
    """Kind of tiles of arrays in memory."""

    COMPACT = 1
    SPARSE_CORE = 2

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape of a tile of 32-bit numbers."""
        return (8, 128) if self is Tiling.COMPACT else (8,)


# The columns of a row, in this order:
# - the generation;
# - for a core: the size and the number of matrix units, the number of accumulators, and MiB of
#   vector memory;
# - for the chip: bytes of the memory that the cores share;
# - for a core: KiB of scalar memory;
# - for the chip: bytes of HBM, bytes per second, and operations per second in bfloat16, int8, fp8
#   and int4;
# - for the sparse cores: the number, the length of a vector, and KiB of vector memory.
_G, _T = 10**9, 10**12
_CHIPS: dict[ChipVersion, tuple] = {
    ChipVersion.TPU_V2: (2, 128, 1, 0, 16, 0, 16, 16 * _G, 716 * _G, 46 * _T, 0, 0, 0, None),
    ChipVersion.TPU_V3: (
        *(3, 128, 2, 0, 16, 0, 16),
        *(34_400_000_000, 825 * _G, 140 * _T, 0, 0, 0, None),
    ),
    ChipVersion.TPU_V4I: (
        *(4, 128, 4, 0, 16, 134_000_000, 1024),
        *(8_590_000_000, 614 * _G, 137 * _T, 0, 0, 0, None),
    ),
    ChipVersion.TPU_V4: (
        *(4, 128, 4, 0, 16, 134_000_000, 1024),
        *(34_400_000_000, 1230 * _G, 275 * _T, 0, 0, 0, None),
    ),
    ChipVersion.TPU_V5E: (
        *(5, 128, 4, 0, 128, 0, 1024),
        *(17_200_000_000, 820 * _G, 197 * _T, 394 * _T, 0, 788 * _T, None),
    ),
    ChipVersion.TPU_V5P: (
        *(5, 128, 4, 0, 64, 0, 1024),
        *(103 * _G, 2460 * _G, 459 * _T, 918 * _T, 0, 1840 * _T, (4, 8, 512)),
    ),
    ChipVersion.TPU_V6E: (
        *(6, 256, 2, 0, 128, 0, 1024),
        *(34_400_000_000, 1640 * _G, 920 * _T, 1840 * _T, 920 * _T, 3680 * _T, (2, 8, 256)),
    ),
    ChipVersion.TPU_7: (
        *(7, 256, 2, 128, 64, 0, 1024),
        *(206 * _G, 7400 * _G, 2310 * _T, 0, 4600 * _T, 0, (2, 16, 512)),
    ),
}
_CHIPS[ChipVersion.TPU_7X] = _CHIPS[ChipVersion.TPU_7]


def get_tpu_info_for_chip(
    chip_version: ChipVersion, num_tensor_cores_per_logical_device: int
) -> TpuInfo:
    """Returns the facts about a device of a chip.

    Args:
      chip_version: the chip.
      num_tensor_cores_per_logical_device: the number of the chip's tensor cores that form a device.

    Returns:
      The `TpuInfo`.

    Raises:
      ValueError: that many cores of the chip cannot form a device.
      NotImplementedError: the facts about the chip are unknown.

    Example:
      >>> get_tpu_info_for_chip(ChipVersion.TPU_V5P, 2).is_megacore
      True
    """
    cores = num_tensor_cores_per_logical_device
    if cores != 1 and not chip_version.supports_megacore:
        raise ValueError(
            "Lite chips and dual-core chips that do not support Megacore must have "
            f"num_tensor_cores_per_logical_device=1, but got {cores}."
        )
    if chip_version not in _CHIPS:
        raise NotImplementedError(f"unknown chip {chip_version}")
    generation, columns, mxus, accumulators, vmem, cmem, smem, *figures, sparse = _CHIPS[
        chip_version
    ]
    share = chip_version.num_physical_tensor_cores_per_chip
    hbm, bandwidth, bf16, int8, fp8, int4 = (figure // share for figure in figures)
    return TpuInfo(
        chip_version=chip_version,
        generation=generation,
        num_cores=cores,
        num_lanes=128,
        num_sublanes=8,
        mxu_column_size=columns,
        num_mxus=mxus,
        num_accumulators=accumulators,
        vmem_capacity_bytes=vmem * 2**20,
        cmem_capacity_bytes=cmem // share,
        smem_capacity_bytes=smem * 2**10,
        hbm_capacity_bytes=hbm,
        mem_bw_bytes_per_second=bandwidth,
        bf16_ops_per_second=bf16,
        int8_ops_per_second=int8,
        fp8_ops_per_second=fp8,
        int4_ops_per_second=int4,
        sparse_core=None if sparse is None else _sparse_core(*sparse),
    )


def _sparse_core(cores: int, lanes: int, memory: int) -> SparseCoreInfo:
    return SparseCoreInfo(
        num_cores=cores,
        num_subcores=16,
        num_lanes=lanes,
        vmem_capacity_bytes=memory * 2**10,
        dma_granule_size_bytes=32,
    )


_KINDS = {
    "TPU v2": ChipVersion.TPU_V2,
    "TPU v3": ChipVersion.TPU_V3,
    "TPU v4 lite": ChipVersion.TPU_V4I,
    "TPU v4": ChipVersion.TPU_V4,
    "TPU v5 lite": ChipVersion.TPU_V5E,
    "TPU v5e": ChipVersion.TPU_V5E,
    "TPU v5": ChipVersion.TPU_V5P,
    "TPU v5p": ChipVersion.TPU_V5P,
    "TPU v6 lite": ChipVersion.TPU_V6E,
    "TPU v6e": ChipVersion.TPU_V6E,
    "TPU7": ChipVersion.TPU_7,
    "TPU7x": ChipVersion.TPU_7X,
}


def get_tpu_info() -> TpuInfo:
    """Returns the facts about the default device.

    Raises:
      ValueError: the default device is not a known TPU.
    """
    device = backends.devices()[0]
    kind = device.device_kind
    if kind not in _KINDS:
        raise ValueError(f"Unsupported TPU device kind: {kind}")
    return get_tpu_info_for_chip(_KINDS[kind], getattr(device, "num_cores", None) or 1)
