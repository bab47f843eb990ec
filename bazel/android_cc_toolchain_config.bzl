"""How an NDK's clang is called. Its tools are absolute paths: an installed product, not inputs to be copied into sandboxes.

Flags that every build of the project has are in .bazelrc; here is what Android needs.
"""

load("@rules_cc//cc:action_names.bzl", "ACTION_NAMES")
load("@rules_cc//cc:cc_toolchain_config_lib.bzl", "feature", "flag_group", "flag_set", "tool_path", "with_feature_set")
load("@rules_cc//cc/common:cc_common.bzl", "cc_common")

_COMPILE = [
    ACTION_NAMES.c_compile,
    ACTION_NAMES.cpp_compile,
    ACTION_NAMES.assemble,
    ACTION_NAMES.preprocess_assemble,
    ACTION_NAMES.cpp_header_parsing,
]
_LINK = [
    ACTION_NAMES.cpp_link_executable,
    ACTION_NAMES.cpp_link_dynamic_library,
    ACTION_NAMES.cpp_link_nodeps_dynamic_library,
]

def _flags(actions, flags, modes = []):
    conditions = [with_feature_set(features = [mode]) for mode in modes]
    return flag_set(actions = actions, flag_groups = [flag_group(flags = flags)], with_features = conditions)

def _android_flags(ctx):
    # The same C++ runtime parts by name, whatever a clang's own defaults are.
    driver = ["--target=" + ctx.attr.target, "-no-canonical-prefixes"] + ctx.attr.flags
    compile = driver + ["--sysroot=%s/sysroot" % ctx.attr.prebuilt]
    link = driver + ["--sysroot=" + ctx.attr.link_sysroot]
    if ctx.attr.abi != "armeabi-v7a":
        link.append("-Wl,-z,max-page-size=16384")
    else:
        # Short constants among the code that reads them instead of an address; functions that are the same, once.
        link += ["-Wl,-mllvm,-arm-promote-constant", "-Wl,-mllvm,-arm-promote-constant-max-size=256"]
        link += ["-Wl,-mllvm,-arm-promote-constant-max-total=100000", "-Wl,-mllvm,-enable-merge-functions"]
        link += ["-Wl,-mllvm,-enable-pre=false", "-Wl,-mllvm,-disable-licm-promotion", "-Wl,--lto-CGO1"]

    # No work on loops, none of which is long where the GPU computes; an instruction that becomes part of its caller counts
    # as the bytes it has, not as a moment saved. With what is above 10 KB on armeabi-v7a, 3 KB elsewhere.
    link += ["-Wl,-mllvm,-disable-lsr", "-Wl,-mllvm,-disable-machine-licm", "-Wl,-mllvm,-inline-instr-cost=60"]
    if ctx.attr.abi != "x86_64":
        link.append("-Wl,-mllvm,-machine-outliner-reruns=1")  # what was outlined is outlined again
    if ctx.attr.abi != "x86_64":
        # Android's own form, a tenth of the bytes. Desktop loaders do not know it, and x86_64 runs there in tests.
        link.append("-Wl,--pack-dyn-relocs=android")
    return [
        _flags(_COMPILE, compile + [
            "-fPIC",
            # For functions with arrays of bytes. -strong, for any local whose address is taken, costs 14 %.
            "-fstack-protector",
            # Nothing is thrown.
            "-fno-unwind-tables",
            "-fno-asynchronous-unwind-tables",
            "-DQUADRA_TOOLCHAIN=\"%s\"" % ctx.attr.toolchain_name,
            # libc++'s headers include no others for the sake of old code: an eighth less to compile.
            "-D_LIBCPP_REMOVE_TRANSITIVE_INCLUDES",
            # Two builds make the same bytes.
            "-Wno-builtin-macro-redefined",
            "-D__DATE__=\"redacted\"",
            "-D__TIME__=\"redacted\"",
            "-D__TIMESTAMP__=\"redacted\"",
        ]),
        _flags(_COMPILE, ["-g0", "-DNDEBUG"], ["opt"]),
        # No assertions here either: what they ask of the C library nothing else does.
        _flags(_COMPILE, ["-g", "-DNDEBUG"], ["dbg"]),
        _flags(_LINK, link + [
            "-fuse-ld=lld",
            "-Wl,--as-needed",
            "-rtlib=compiler-rt",
            "-unwindlib=libunwind",
            # One clang links C and C++: the C++ library is named.
            "-lc++_static",
            "-lc++abi",
            "-lm",
            "-Wl,--build-id=sha1",
            "-Wl,--fatal-warnings",
            "-Wl,--exclude-libs,ALL",
            "-Wl,-z,defs",
            "-Wl,-z,noexecstack",
            "-Wl,--icf=all",
        ]),
    ]

def _impl(ctx):
    tools = {
        "ar": "llvm-ar",
        "cpp": "clang",
        "dwp": "llvm-dwp",
        "gcc": "clang",
        "gcov": "llvm-cov",
        "ld": "ld.lld",
        "nm": "llvm-nm",
        "objcopy": "llvm-objcopy",
        "objdump": "llvm-objdump",
        "strip": "llvm-strip",
    }
    return cc_common.create_cc_toolchain_config_info(
        ctx = ctx,
        features = [
            feature(name = "supports_pic", enabled = True),
            feature(name = "supports_dynamic_linker", enabled = True),
            feature(name = "supports_start_end_lib", enabled = True),
            feature(name = "opt"),
            feature(name = "dbg"),
            feature(name = "fastbuild"),
            feature(name = "android", enabled = True, flag_sets = _android_flags(ctx)),
        ],
        toolchain_identifier = "android-" + ctx.attr.abi,
        host_system_name = "local",
        target_system_name = ctx.attr.target,
        target_cpu = ctx.attr.abi,
        target_libc = "bionic",
        compiler = "clang",
        abi_version = "android",
        abi_libc_version = "android",
        cxx_builtin_include_directories = [
            ctx.attr.prebuilt + "/sysroot/usr/include",
            ctx.attr.clang_folder + "/include",
        ],
        tool_paths = [tool_path(name = name, path = "%s/bin/%s" % (ctx.attr.prebuilt, tool)) for name, tool in tools.items()],
    )

cc_toolchain_config = rule(
    implementation = _impl,
    attrs = {
        "abi": attr.string(mandatory = True),
        "clang_folder": attr.string(mandatory = True, doc = "of its own headers"),
        "flags": attr.string_list(),
        "link_sysroot": attr.string(mandatory = True, doc = "where links find libraries"),
        "toolchain_name": attr.string(mandatory = True, doc = "what the library says of its making"),
        "prebuilt": attr.string(mandatory = True, doc = "the NDK's toolchain for this machine"),
        "target": attr.string(mandatory = True, doc = "the triple with the API level"),
    },
)
