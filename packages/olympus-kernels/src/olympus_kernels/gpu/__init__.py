# SPDX-License-Identifier: Apache-2.0
"""Kernels for GPUs. With ``interpret=True`` they run on any device.

The folder may import olympus_pallas, but no kernel for TPUs.
"""
