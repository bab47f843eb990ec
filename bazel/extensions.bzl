"""The same repositories for Bazel 7 and later, which reads MODULE.bazel."""

load("//bazel:android_ndk.bzl", "android_ndk_repository")
load("//bazel:system_dependencies.bzl", "system_dependencies")

def _impl(_ctx):
    system_dependencies()
    android_ndk_repository(name = "androidndk")

system = module_extension(implementation = _impl)
