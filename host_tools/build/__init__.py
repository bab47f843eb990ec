"""Builds: the delegate with Bazel, the test app's APK without Gradle; weighs and inspects both."""
