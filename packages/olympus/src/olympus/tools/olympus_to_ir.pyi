# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_export.ir_files import main as main
from olympus_export.ir_files import olympus_to_hlo as olympus_to_hlo
from olympus_export.ir_files import olympus_to_ir as olympus_to_ir
from olympus_export.ir_files import olympus_to_tf as olympus_to_tf
from olympus_export.ir_files import parse_shape_str as parse_shape_str
from olympus_export.ir_files import set_up_flags as set_up_flags
from olympus_export.ir_files import tf_wrap_with_input_names as tf_wrap_with_input_names
