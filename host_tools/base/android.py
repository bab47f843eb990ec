"""What every part knows of Android: the ABIs that Quadra is built for."""

ABIS = ("arm64-v8a", "armeabi-v7a", "x86_64")
