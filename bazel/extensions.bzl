"""The same repositories for Bazel 7 and later, which reads MODULE.bazel."""

load("//bazel:system_dependencies.bzl", "system_dependencies")

def _impl(_ctx):
    system_dependencies()

system = module_extension(implementation = _impl)
