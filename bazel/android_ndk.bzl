"""C++ toolchains of an NDK: the one that ANDROID_NDK_HOME names, else the stand-in of QUADRA_STANDIN_NDK.

With neither, or with a wrong one, the repository has no toolchain: builds for this machine are unaffected, and an
Android build fails with "no matching toolchain". `inv build --abi` looks first, and sets one of the two.
"""

# abi: target triple, its folder in the sysroot, the platform's CPU, flags.
_ABIS = {
    "arm64-v8a": ("aarch64-linux-android", "aarch64-linux-android", "arm64", ["-mno-outline-atomics"]),
    "armeabi-v7a": (
        "armv7a-linux-androideabi",
        "arm-linux-androideabi",
        "armv7",
        # Nothing reads frame pointers on this ABI; they are 9 % of the code.
        ["-march=armv7-a", "-mfloat-abi=softfp", "-mfpu=neon", "-mthumb", "-fomit-frame-pointer"],
    ),
    "x86_64": ("x86_64-linux-android", "x86_64-linux-android", "x86_64", []),
}
_HOSTS = ["linux-x86_64", "darwin-x86_64"]
_OLDEST = 25

_HEADER = """
load("@rules_cc//cc/toolchains:cc_toolchain.bzl", "cc_toolchain")
load(":config.bzl", "cc_toolchain_config")

package(default_visibility = ["//visibility:public"])

filegroup(name = "nothing")
"""

_TOOLCHAIN = """
cc_toolchain_config(
    name = "config_{abi}",
    abi = "{abi}",
    target = "{triple}{api}",
    prebuilt = "{prebuilt}",
    clang_folder = "{clang_folder}",
    link_sysroot = "{link_sysroot}",
    toolchain_name = "{toolchain_name}",
    flags = {flags},
)

cc_toolchain(
    name = "cc_{abi}",
    toolchain_config = ":config_{abi}",
    all_files = ":nothing",
    ar_files = ":nothing",
    as_files = ":nothing",
    compiler_files = ":nothing",
    dwp_files = ":nothing",
    linker_files = ":nothing",
    objcopy_files = ":nothing",
    strip_files = ":nothing",
    supports_param_files = True,
)

toolchain(
    name = "toolchain_{abi}",
    toolchain = ":cc_{abi}",
    toolchain_type = "@bazel_tools//tools/cpp:toolchain_type",
    target_compatible_with = ["@platforms//os:android", "@platforms//cpu:{cpu}"],
)
"""

def _properties(ctx, home):
    path = ctx.path(home + "/source.properties")
    text = ctx.read(path) if path.exists else ""
    pairs = [line.split("=", 1) for line in text.split("\n") if "=" in line]
    return {key.strip(): value.strip() for key, value in pairs}

def _existing(ctx, paths):
    for path in paths:
        if ctx.path(path).exists:
            return path
    return ""

def _prebuilt(ctx, home):
    return _existing(ctx, ["%s/toolchains/llvm/prebuilt/%s" % (home, host) for host in _HOSTS])

def _toolchain_name(properties):
    """What a library says of its making; nothing for what is no NDK, or too old."""
    if "Quadra.StandIn" in properties:
        return "stand-in NDK (%s)" % properties["Quadra.StandIn"]
    revision = properties.get("Pkg.Revision", "0")
    major = revision.split(".")[0]
    return "NDK " + revision if major.isdigit() and int(major) >= _OLDEST else ""

def _toolchains(ctx, home):
    properties = _properties(ctx, home)
    toolchain_name = _toolchain_name(properties)

    # The stand-in's stub libraries are a layer of their own: another list of symbols does not compile anew.
    prebuilt = _prebuilt(ctx, properties.get("Quadra.Base", home))
    if not toolchain_name or not prebuilt:
        # buildifier: disable=print
        print("%s is no NDK of r%d or later: Android builds will find no toolchain" % (home, _OLDEST))
        return []
    clang_folders = ctx.path(_existing(ctx, [prebuilt + "/lib/clang", prebuilt + "/lib64/clang"])).readdir()
    link_sysroot = _prebuilt(ctx, home) + "/sysroot"
    return [
        _TOOLCHAIN.format(
            abi = abi,
            triple = triple,
            api = ctx.attr.api_level,
            cpu = cpu,
            flags = repr(flags),
            prebuilt = prebuilt,
            clang_folder = str(clang_folders[0]),
            link_sysroot = link_sysroot,
            toolchain_name = toolchain_name,
        )
        for abi, (triple, folder, cpu, flags) in _ABIS.items()
        if ctx.path("%s/usr/lib/%s/%d" % (link_sysroot, folder, ctx.attr.api_level)).exists
    ]

def _impl(ctx):
    ctx.file("WORKSPACE", "workspace(name = \"%s\")\n" % ctx.name)
    ctx.symlink(ctx.attr._config, "config.bzl")
    home = ctx.os.environ.get("ANDROID_NDK_HOME") or ctx.os.environ.get("QUADRA_STANDIN_NDK")
    ctx.file("BUILD.bazel", "".join([_HEADER] + (_toolchains(ctx, home) if home else [])))

android_ndk_repository = repository_rule(
    implementation = _impl,
    local = True,
    configure = True,
    environ = ["ANDROID_NDK_HOME", "QUADRA_STANDIN_NDK"],
    attrs = {
        "api_level": attr.int(default = 26),
        "_config": attr.label(default = "//bazel:android_cc_toolchain_config.bzl", allow_single_file = True),
    },
)
