# SPDX-License-Identifier: Apache-2.0
"""Simulation of kernels on cores with memories, semaphores and copies.

A kernel runs equation by equation on NumPy arrays. Each core is a thread. Memories keep the values
that kernels write. Copies run between the memories of several devices. Semaphores block cores.
Unlike the array programs of `olympus_pallas.calls.interpreter`, the machine runs kernels that
communicate, and shows their mistakes. The folder may import `tpu_sc`, `tpu`, `core_maps` and the
layers below them.
"""
