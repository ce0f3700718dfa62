# SPDX-License-Identifier: Apache-2.0
"""Lowering of linear algebra to LAPACK, to the libraries of GPUs, and to the TPU's routines."""

from . import cpu as cpu
from . import gpu as gpu
from . import tpu as tpu
