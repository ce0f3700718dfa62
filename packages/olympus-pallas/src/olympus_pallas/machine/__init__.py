# SPDX-License-Identifier: Apache-2.0
"""Simulation of kernels on cores with memories, semaphores and copies.

A kernel runs equation by equation on NumPy arrays, each core in a thread. Memories keep what
kernels write to them, copies run between the memories of several devices, and semaphores block
cores. The machine shows what the array programs of `olympus_pallas.calls.interpreter` cannot:
kernels that communicate, and their mistakes. The folder may import `tpu_sc`, `tpu`, `core_maps` and
what lies below.
"""
