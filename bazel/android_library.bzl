"""What is built for one Android ABI beside builds for this machine: a library with its parts, for those who measure, and an
executable. Both stripped."""

load("@rules_cc//cc/common:cc_info.bzl", "CcInfo")

def _to_abi(_settings, attr):
    return {"//command_line_option:platforms": "//platforms:" + attr.abi}

_abi_transition = transition(
    implementation = _to_abi,
    inputs = [],
    outputs = ["//command_line_option:platforms"],
)

def _objects(info):
    linked = info.linking_context.linker_inputs.to_list()
    libraries = [library for one in linked for library in one.libraries]
    return [file for library in libraries for file in (library.pic_objects or library.objects or [])]

def _impl(ctx):
    stripped = ctx.actions.declare_file("%s/%s" % (ctx.attr.abi, ctx.file.unstripped.basename))
    ctx.actions.symlink(output = stripped, target_file = ctx.file.stripped)
    return [
        DefaultInfo(files = depset([stripped])),
        OutputGroupInfo(
            unstripped = depset([ctx.file.unstripped]),
            objects = depset([file for code in ctx.attr.code for file in _objects(code[CcInfo])]),
        ),
    ]

android_library = rule(
    implementation = _impl,
    attrs = {
        "abi": attr.string(mandatory = True),
        "code": attr.label_list(cfg = _abi_transition, mandatory = True, providers = [CcInfo]),
        "stripped": attr.label(cfg = _abi_transition, mandatory = True, allow_single_file = True),
        "unstripped": attr.label(cfg = _abi_transition, mandatory = True, allow_single_file = True),
        "_allowlist_function_transition": attr.label(default = "@bazel_tools//tools/allowlists/function_transition_allowlist"),
    },
)

def _executable_impl(ctx):
    stripped = ctx.actions.declare_file("%s/%s" % (ctx.attr.abi, ctx.file.stripped.basename[:-len(".stripped")]))
    ctx.actions.symlink(output = stripped, target_file = ctx.file.stripped)
    return [DefaultInfo(files = depset([stripped]))]

android_executable = rule(
    implementation = _executable_impl,
    attrs = {
        "abi": attr.string(mandatory = True),
        "stripped": attr.label(cfg = _abi_transition, mandatory = True, allow_single_file = True),
        "_allowlist_function_transition": attr.label(default = "@bazel_tools//tools/allowlists/function_transition_allowlist"),
    },
)
