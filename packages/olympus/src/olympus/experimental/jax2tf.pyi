# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_export import DisabledSafetyCheck as DisabledSafetyCheck
from olympus_export.jax2tf import PolyShape as PolyShape
from olympus_export.jax2tf.calling import call_tf as call_tf
from olympus_export.jax2tf.converting import convert as convert
from olympus_export.jax2tf.converting import dtype_of_val as dtype_of_val
from olympus_export.jax2tf.converting import eval_polymorphic_shape as eval_polymorphic_shape
from olympus_export.jax2tf.converting import split_to_logical_devices as split_to_logical_devices
