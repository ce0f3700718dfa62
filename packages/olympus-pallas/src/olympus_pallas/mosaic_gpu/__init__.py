# SPDX-License-Identifier: Apache-2.0
"""Kernels for GPUs that say what each warpgroup does: copies, barriers, products of tensor cores.

They run on simulated threads. What is about the hardware alone, such as layouts of registers, is
accepted and has no effect there.
"""

from . import simulation as simulation
from .layouts import Layout as Layout
from .layouts import TMEMLayout as TMEMLayout
from .loops import NDLoopInfo as NDLoopInfo
from .loops import find_swizzle as find_swizzle
from .loops import nd_loop as nd_loop
from .loops import planar_snake as planar_snake
from .meshes import Mesh as Mesh
from .meshes import WarpMesh as WarpMesh
from .meshes import kernel as kernel
from .pipelines import emit_pipeline as emit_pipeline
from .pipelines import emit_pipeline_warp_specialized as emit_pipeline_warp_specialized
from .primitives import *  # noqa: F403
from .primitives import __all__ as _operations
from .tilings import Tiling as Tiling
from .transforms import PeerMemRef as PeerMemRef
from .transforms import SwizzleTransform as SwizzleTransform
from .transforms import TilingTransform as TilingTransform
from .transforms import Transform as Transform
from .transforms import cluster_ref as cluster_ref
from .transforms import remote_ref as remote_ref
from .transforms import transform_ref as transform_ref
from .transforms import transpose_ref as transpose_ref
from .types import *  # noqa: F403
from .types import __all__ as _types

__all__ = [
    "Layout",
    "Mesh",
    "NDLoopInfo",
    "PeerMemRef",
    "SwizzleTransform",
    "TMEMLayout",
    "Tiling",
    "TilingTransform",
    "Transform",
    "WarpMesh",
    "cluster_ref",
    "emit_pipeline",
    "emit_pipeline_warp_specialized",
    "find_swizzle",
    "kernel",
    "nd_loop",
    "planar_snake",
    "remote_ref",
    "transform_ref",
    "transpose_ref",
    *_operations,
    *_types,
]
