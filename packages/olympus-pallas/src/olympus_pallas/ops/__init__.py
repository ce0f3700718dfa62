# SPDX-License-Identifier: Apache-2.0
"""Kernels that are ready to use, by the devices that they are written for."""
