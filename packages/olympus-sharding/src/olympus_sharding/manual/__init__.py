# SPDX-License-Identifier: Apache-2.0
"""Manual axes: `shard_map` and `pmap`, whose functions see one device's shard of each array.

The modules, from the lowest to the highest: `arguments` and `layouts` check the arguments of
`shard_map`. `primitive` declares its primitive. `rules` and `references` transform the primitive.
`shard_map` and `pmap` are the public functions. Modules here import `meshes` and `shardings`, not
`annotations`.
"""
