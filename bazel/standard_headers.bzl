"""The C++ library's headers, parsed once for each ABI of Android: to parse them takes half of the time in which one of our sources
compiles. Objects have the same bytes as without. For this machine there is none: g++ reads parsed headers as slowly as texts."""

load("@rules_cc//cc:action_names.bzl", "ACTION_NAMES")
load("@rules_cc//cc:cc_library.bzl", _cc_library = "cc_library")
load("@rules_cc//cc:find_cc_toolchain.bzl", "find_cpp_toolchain", "use_cc_toolchain")
load("@rules_cc//cc/common:cc_common.bzl", "cc_common")
load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")

def _impl(ctx):
    toolchain = find_cpp_toolchain(ctx)
    features = cc_common.configure_features(ctx = ctx, cc_toolchain = toolchain)
    flags = cc_common.get_memory_inefficient_command_line(
        action_name = ACTION_NAMES.cpp_compile,
        feature_configuration = features,
        variables = cc_common.create_compile_variables(
            cc_toolchain = toolchain,
            feature_configuration = features,
            user_compile_flags = ctx.fragments.cpp.copts + ctx.fragments.cpp.cxxopts,
        ),
    )
    clang = cc_common.get_tool_for_action(action_name = ACTION_NAMES.cpp_compile, feature_configuration = features)
    parsed = ctx.actions.declare_file(ctx.label.name + ".pch")

    # From standard input: a path would be that of a sandbox.
    ctx.actions.run_shell(
        command = '"$@" < ' + ctx.file.includes.path,
        arguments = [clang] + flags + ["-x", "c++-header", "-", "-o", parsed.path, "-Xclang", "-fno-pch-timestamp"],
        inputs = depset([ctx.file.includes], transitive = [toolchain.all_files]),
        outputs = [parsed],
        mnemonic = "ParseHeaders",
        progress_message = "Parsing the C++ library's headers",
    )
    return [
        CcInfo(compilation_context = cc_common.create_compilation_context(headers = depset([parsed]))),
        platform_common.TemplateVariableInfo({"STANDARD_HEADERS": parsed.path}),
    ]

standard_headers = rule(
    implementation = _impl,
    attrs = {"includes": attr.label(allow_single_file = True, mandatory = True)},
    fragments = ["cpp"],
    toolchains = use_cc_toolchain(),
)

def cc_library(copts = [], deps = [], **attributes):
    """With those headers for Android."""
    headers = "//bazel:standard_headers"
    _cc_library(
        copts = copts + select({"@platforms//os:android": ["-include-pch", "$(STANDARD_HEADERS)"], "//conditions:default": []}),
        deps = deps + select({"@platforms//os:android": [headers], "//conditions:default": []}),
        toolchains = [headers],  # tells the path; nothing is made where no compiler is given it
        **attributes
    )
