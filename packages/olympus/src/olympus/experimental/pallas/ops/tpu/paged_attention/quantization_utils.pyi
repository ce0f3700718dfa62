# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_kernels.tpu.quantization import QuantizedTensor as QuantizedTensor
from olympus_kernels.tpu.quantization import from_int8 as from_int8
from olympus_kernels.tpu.quantization import get_quantization_scales as get_quantization_scales
from olympus_kernels.tpu.quantization import quantize_to_int8 as quantize_to_int8
from olympus_kernels.tpu.quantization import to_int8 as to_int8
from olympus_kernels.tpu.quantization import unquantize_from_int8 as unquantize_from_int8
MAX_INT8: float
