# SPDX-License-Identifier: Apache-2.0
"""Conversion of functions to TensorFlow and from TensorFlow.

TensorFlow is optional: ``pip install tensorflow``. The first function that needs it imports it.
"""

from .calling import call_tf
from .converting import convert, dtype_of_val, eval_polymorphic_shape, split_to_logical_devices
from .shapes import PolyShape

__all__ = [
    "PolyShape",
    "call_tf",
    "convert",
    "dtype_of_val",
    "eval_polymorphic_shape",
    "split_to_logical_devices",
]
