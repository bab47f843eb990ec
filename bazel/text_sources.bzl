"""The sources of a folder of native code, for bazel/pack_texts.py."""

def text_sources():
    native.filegroup(
        name = "sources",
        srcs = native.glob([
            "*.cc",
            "*.h",
        ]),
        visibility = ["//delegate_native:__subpackages__"],
    )
