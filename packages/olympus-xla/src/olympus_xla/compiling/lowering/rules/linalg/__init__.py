# SPDX-License-Identifier: Apache-2.0
"""Lowering of linear algebra: to LAPACK, the libraries of GPUs, and the TPU's compiler."""

from . import cpu as cpu
from . import gpu as gpu
from . import tpu as tpu
