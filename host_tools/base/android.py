"""What every part knows of what is built: for which ABIs of Android, and the names that others look for."""

ABIS = ("arm64-v8a", "armeabi-v7a", "x86_64")
# Of 32 and of 64 bits: the delegate that quick tests build.
QUICK_ABIS = ("armeabi-v7a", "x86_64")
# Beside libquadra.so, on hosts too: LiteRT looks for it by this name.
ACCELERATOR = "libLiteRtGpuAccelerator.so"
# Names of files: the delegate, the program that runs it from a device's shell, TensorFlow Lite for Android.
DELEGATE, RUNNER, TFLITE = "libquadra.so", "quadra_runner", "libtensorflowlite_jni.so"
