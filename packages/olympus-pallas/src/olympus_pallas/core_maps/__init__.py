# SPDX-License-Identifier: Apache-2.0
"""Kernels over meshes of cores: the base class of meshes, `kernel` and `core_map`.

The folder may import `calls` and the layers below it. The meshes of tensor cores, of sparse cores
and of GPUs are in `tpu`, `tpu_sc` and `mosaic_gpu`.
"""
