# SPDX-License-Identifier: Apache-2.0
"""Foreign code called by programs or the compiler: foreign functions, callbacks, partitioners.

This folder has the primitives and the public functions. The lowering rules are in
`compiling.lowering.rules`. This folder may import `arrays` and the layers below it.
"""
