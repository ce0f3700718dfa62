# SPDX-License-Identifier: Apache-2.0
"""Operations that kernels use on every platform.

They comprise control flow, hints to compilers, debugging, scoped buffers, semaphores and copies.
The folder may import `grids` and the layers below it.
"""
