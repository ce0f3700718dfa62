# SPDX-License-Identifier: Apache-2.0
"""Lowering of linear algebra: to LAPACK, to the libraries of GPUs, to the TPU's compiler."""

from . import cpu as cpu
from . import gpu as gpu
from . import tpu as tpu
