# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_pallas.fuser import BlockIndexTransform as BlockIndexTransform
from olympus_pallas.fuser import Fusion as Fusion
from olympus_pallas.fuser import custom_fusion as custom_fusion
from olympus_pallas.fuser.block_specs import make_scalar_prefetch_handler as make_scalar_prefetch_handler
from olympus_pallas.fuser.block_specs import pull_block_spec as pull_block_spec
from olympus_pallas.fuser.block_specs import push_block_spec as push_block_spec
from olympus_pallas.fuser.fusions import evaluate as evaluate
from olympus_pallas.fuser.fusions import fuse as fuse
from olympus_pallas.fuser.fusions import fusible as fusible
from olympus_pallas.fuser.fusions import get_fusion_values as get_fusion_values
from olympus_pallas.fuser.fusions import get_stateful_input_fusion_values as get_stateful_input_fusion_values
from olympus_pallas.fuser.fusions import get_stateful_output_fusion_values as get_stateful_output_fusion_values
