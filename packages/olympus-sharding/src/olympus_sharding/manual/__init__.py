# SPDX-License-Identifier: Apache-2.0
"""Manual axes: `shard_map` and `pmap`, whose functions see one device's part of each array.

From the bottom: `arguments` and `layouts` check what `shard_map` is given, `primitive` declares it,
`rules` and `references` transform it, `shard_map` and `pmap` are the public functions. Modules here
import `meshes` and `shardings`, not `annotations`.
"""
