"""The compiled inner loops. Every other layer is NumPy; each kernel here has a slow reference in the tests.

Importing a module of this package loads machine code from Numba's cache, or compiles it the first time;
`python -m headgate.kernels` does that ahead of time.
"""

from headgate.kernels.compiled import drop_stale

drop_stale()
