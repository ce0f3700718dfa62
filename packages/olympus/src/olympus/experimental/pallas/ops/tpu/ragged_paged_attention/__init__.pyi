# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_kernels.tpu.attention.ragged import _ragged_paged_attention as __ragged_paged_attention
from olympus_kernels.tpu.attention.ragged import dynamic_validate_inputs as dynamic_validate_inputs
from olympus_kernels.tpu.attention.ragged import get_tuned_block_sizes as get_tuned_block_sizes
from olympus_kernels.tpu.attention.ragged import ref_ragged_paged_attention as ref_ragged_paged_attention
from olympus_kernels.tpu.attention.ragged import static_validate_inputs as static_validate_inputs
ragged_paged_attention = __ragged_paged_attention
