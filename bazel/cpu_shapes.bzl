"""What only libraries with kernels for CPUs have: see delegate_native/base/cpu_shapes.h."""

def unless_for_phones(sources, otherwise):
    return select({
        "//bazel:config_phone": otherwise,
        "//bazel:android_arm64": otherwise,
        "//bazel:android_armv7": otherwise,
        "//conditions:default": sources,
    })
