"""Sources for drivers on the CPU (PoCL, llvmpipe). Libraries for arm64-v8a and armeabi-v7a, and those of --config=phone, are
built without them; x86_64 keeps them. delegate_native/base/cpu_shapes.h has the macro that says so, QUADRA_CPU_SHAPES."""

def unless_for_phones(sources, otherwise):
    return select({
        "//bazel:config_phone": otherwise,
        "//bazel:android_arm64": otherwise,
        "//bazel:android_armv7": otherwise,
        "//conditions:default": sources,
    })
