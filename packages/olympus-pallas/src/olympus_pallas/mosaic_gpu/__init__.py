# SPDX-License-Identifier: Apache-2.0
"""Kernels for GPUs with explicit warpgroups, barriers, asynchronous copies and tensor cores.

These kernels run on simulated threads. Settings of the hardware, such as layouts of registers, are
accepted but have no effect there. The folder may import `machine`, `core_maps` and the layers
below them.
"""

from . import simulation as simulation
from .factors import async_copy_scales_to_tmem as async_copy_scales_to_tmem
from .factors import async_copy_sparse_metadata_to_tmem as async_copy_sparse_metadata_to_tmem
from .inlining import inline_mgpu as inline_mgpu
from .inlining import print_layout as print_layout
from .layouts import Layout as Layout
from .layouts import TMEMLayout as TMEMLayout
from .loops import NDLoopInfo as NDLoopInfo
from .loops import find_swizzle as find_swizzle
from .loops import nd_loop as nd_loop
from .loops import planar_snake as planar_snake
from .meshes import Mesh as Mesh
from .meshes import WarpMesh as WarpMesh
from .meshes import kernel as kernel
from .metadata import format_tcgen05_sparse_metadata as format_tcgen05_sparse_metadata
from .pipelines import PipelinePipeline as PipelinePipeline
from .pipelines import emit_pipeline as emit_pipeline
from .pipelines import emit_pipeline_warp_specialized as emit_pipeline_warp_specialized
from .primitives import SemaphoreSignal as SemaphoreSignal
from .primitives import async_copy_smem_to_tmem as async_copy_smem_to_tmem
from .primitives import async_load_tmem as async_load_tmem
from .primitives import async_prefetch as async_prefetch
from .primitives import async_store_smem as async_store_smem
from .primitives import async_store_tmem as async_store_tmem
from .primitives import atomic_add as atomic_add
from .primitives import atomic_and as atomic_and
from .primitives import atomic_max as atomic_max
from .primitives import atomic_min as atomic_min
from .primitives import atomic_or as atomic_or
from .primitives import atomic_xor as atomic_xor
from .primitives import barrier_arrive as barrier_arrive
from .primitives import barrier_test as barrier_test
from .primitives import barrier_wait as barrier_wait
from .primitives import broadcasted_iota as broadcasted_iota
from .primitives import commit_smem as commit_smem
from .primitives import commit_smem_to_gmem_group as commit_smem_to_gmem_group
from .primitives import commit_tmem as commit_tmem
from .primitives import copy_gmem_to_smem as copy_gmem_to_smem
from .primitives import copy_smem_to_gmem as copy_smem_to_gmem
from .primitives import griddepcontrol_launch_dependents as griddepcontrol_launch_dependents
from .primitives import griddepcontrol_wait as griddepcontrol_wait
from .primitives import layout_cast as layout_cast
from .primitives import load as load
from .primitives import multimem_load_reduce as multimem_load_reduce
from .primitives import multimem_store as multimem_store
from .primitives import semaphore_signal as semaphore_signal
from .primitives import semaphore_signal_multicast as semaphore_signal_multicast
from .primitives import semaphore_signal_parallel as semaphore_signal_parallel
from .primitives import semaphore_wait as semaphore_wait
from .primitives import set_max_registers as set_max_registers
from .primitives import wait_load_tmem as wait_load_tmem
from .primitives import wait_smem_to_gmem as wait_smem_to_gmem
from .primitives import warp_map as warp_map
from .products import tcgen05_commit_arrive as tcgen05_commit_arrive
from .products import tcgen05_mma as tcgen05_mma
from .products import wgmma as wgmma
from .products import wgmma_accumulator_load as wgmma_accumulator_load
from .products import wgmma_wait as wgmma_wait
from .scheduling import TryClusterCancelResult as TryClusterCancelResult
from .scheduling import dynamic_scheduling_loop as dynamic_scheduling_loop
from .scheduling import query_cluster_cancel as query_cluster_cancel
from .scheduling import try_cluster_cancel as try_cluster_cancel
from .tilings import Tiling as Tiling
from .torch_kernels import as_torch_kernel as as_torch_kernel
from .transforms import PeerMemRef as PeerMemRef
from .transforms import SwizzleTransform as SwizzleTransform
from .transforms import TilingTransform as TilingTransform
from .transforms import Transform as Transform
from .transforms import cluster_ref as cluster_ref
from .transforms import multicast_ref as multicast_ref
from .transforms import remote_ref as remote_ref
from .transforms import transform_ref as transform_ref
from .transforms import transpose_ref as transpose_ref
from .types import ACC as ACC
from .types import GMEM as GMEM
from .types import REGS as REGS
from .types import SMEM as SMEM
from .types import TMEM as TMEM
from .types import Barrier as Barrier
from .types import BlockSpec as BlockSpec
from .types import ClusterBarrier as ClusterBarrier
from .types import CompilerParams as CompilerParams
from .types import CopyPartition as CopyPartition
from .types import LoweringSemantics as LoweringSemantics
from .types import MemorySpace as MemorySpace
from .types import OOBFillMode as OOBFillMode
from .types import RefType as RefType
from .types import Replicated as Replicated
from .types import SemaphoreType as SemaphoreType
from .types import ShapeDtypeStruct as ShapeDtypeStruct
from .types import TraceScope as TraceScope
from .types import WGMMAAccumulatorRef as WGMMAAccumulatorRef
from .unions import RefUnion as RefUnion

__all__ = [
    "ACC",
    "GMEM",
    "REGS",
    "SMEM",
    "TMEM",
    "Barrier",
    "BlockSpec",
    "ClusterBarrier",
    "CompilerParams",
    "CopyPartition",
    "Layout",
    "LoweringSemantics",
    "MemorySpace",
    "Mesh",
    "NDLoopInfo",
    "OOBFillMode",
    "PeerMemRef",
    "PipelinePipeline",
    "RefType",
    "RefUnion",
    "Replicated",
    "SemaphoreSignal",
    "SemaphoreType",
    "ShapeDtypeStruct",
    "SwizzleTransform",
    "TMEMLayout",
    "Tiling",
    "TilingTransform",
    "TraceScope",
    "Transform",
    "TryClusterCancelResult",
    "WGMMAAccumulatorRef",
    "WarpMesh",
    "as_torch_kernel",
    "async_copy_scales_to_tmem",
    "async_copy_smem_to_tmem",
    "async_copy_sparse_metadata_to_tmem",
    "async_load_tmem",
    "async_prefetch",
    "async_store_smem",
    "async_store_tmem",
    "atomic_add",
    "atomic_and",
    "atomic_max",
    "atomic_min",
    "atomic_or",
    "atomic_xor",
    "barrier_arrive",
    "barrier_test",
    "barrier_wait",
    "broadcasted_iota",
    "cluster_ref",
    "commit_smem",
    "commit_smem_to_gmem_group",
    "commit_tmem",
    "copy_gmem_to_smem",
    "copy_smem_to_gmem",
    "dynamic_scheduling_loop",
    "emit_pipeline",
    "emit_pipeline_warp_specialized",
    "find_swizzle",
    "format_tcgen05_sparse_metadata",
    "griddepcontrol_launch_dependents",
    "griddepcontrol_wait",
    "inline_mgpu",
    "kernel",
    "layout_cast",
    "load",
    "multicast_ref",
    "multimem_load_reduce",
    "multimem_store",
    "nd_loop",
    "planar_snake",
    "print_layout",
    "query_cluster_cancel",
    "remote_ref",
    "semaphore_signal",
    "semaphore_signal_multicast",
    "semaphore_signal_parallel",
    "semaphore_wait",
    "set_max_registers",
    "tcgen05_commit_arrive",
    "tcgen05_mma",
    "transform_ref",
    "transpose_ref",
    "try_cluster_cancel",
    "wait_load_tmem",
    "wait_smem_to_gmem",
    "warp_map",
    "wgmma",
    "wgmma_accumulator_load",
    "wgmma_wait",
]
