# SPDX-License-Identifier: Apache-2.0
"""A machine that runs kernels as accelerators do: cores, memories, semaphores and copies.

Programs run equation by equation on NumPy arrays, each core as a thread of its own. Memories hold
what was written to them, copies take place between the memories of several devices, semaphores make
cores wait. What the array programs of `olympus_pallas.calls.interpreter` cannot show can be seen here:
kernels that talk to one another, and mistakes in how they do so.
"""
