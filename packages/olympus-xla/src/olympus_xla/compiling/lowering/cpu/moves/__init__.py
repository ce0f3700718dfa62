# SPDX-License-Identifier: Apache-2.0
"""Operations that move elements, on one CPU device.

* `joins`: stacks and concatenations with a narrow last dimension.
* `repeated_updates`: scatters of many updates to few elements.
* `rotations`: rotations of rows.
* `scatters`: scatters over several dimensions.
"""
