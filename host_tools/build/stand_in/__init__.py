"""An NDK put together from packages, for tests and sizes on a machine without one.

It has the shape of an NDK, so the same Bazel rules build with either. What it lacks is Bionic's headers: musl's
stand in for them, patched where they differ in what native code here asks for. So it never makes what is shipped.
"""
