# SPDX-License-Identifier: Apache-2.0
"""Kernels of attention for TPUs: dense (`flash`), and with sparse masks (`splash`)."""
