# SPDX-License-Identifier: Apache-2.0
"""Operations that kernels use on every platform.

Control flow, hints to compilers, debugging, scoped buffers, semaphores and copies are here. The
folder may import `grids` and what lies below it.
"""
