"""What phones' GPU compilers make of kernels, on this machine: Mesa's compilers for Adreno and Mali, and what they say."""
