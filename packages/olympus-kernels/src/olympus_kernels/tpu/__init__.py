# SPDX-License-Identifier: Apache-2.0
"""Kernels for TPUs. Inside of ``tpu.force_tpu_interpret_mode()`` they run on any device.

The folder may import olympus_pallas, but no kernel for GPUs.
"""
