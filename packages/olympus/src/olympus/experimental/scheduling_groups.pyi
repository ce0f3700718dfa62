# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_ir.lax import xla_metadata_call_p as xla_metadata_call_p
from olympus_ir.lax.annotations.functions import scheduling_group as scheduling_group
from olympus_ir.lax.annotations.functions import xla_metadata_call as xla_metadata_call
from olympus_ir.rules.annotations import dce_olympuspr_xla_metadata_rule as dce_olympuspr_xla_metadata_rule
from olympus_xla.compiling.lowering.rules.annotations import attr_get as attr_get
