# SPDX-License-Identifier: Apache-2.0
# Written by tools/stubs.py.
from olympus_sharding.roofline import RooflineResult as RooflineResult
from olympus_sharding.roofline import RooflineRuleContext as RooflineRuleContext
from olympus_sharding.roofline import RooflineShape as RooflineShape
from olympus_sharding.roofline.estimates import roofline as roofline
from olympus_sharding.roofline.estimates import roofline_and_grad as roofline_and_grad
from olympus_sharding.roofline.results import register_roofline as register_roofline
from olympus_sharding.roofline.results import register_standard_roofline as register_standard_roofline
