"""What every part knows of Android: the ABIs that Quadra is built for."""

ABIS = ("arm64-v8a", "armeabi-v7a", "x86_64")
# Of 32 and of 64 bits: the delegate that quick tests build.
QUICK_ABIS = ("armeabi-v7a", "x86_64")
