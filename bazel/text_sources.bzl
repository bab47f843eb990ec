"""The sources of a folder of native code, for bazel/pack_texts.py."""

def text_sources(folders = []):
    native.filegroup(
        name = "sources",
        srcs = native.glob([
            path + suffix
            for path in [""] + [folder + "/" for folder in folders]
            for suffix in ["*.cc", "*.h", "*.def"]
        ]),
        visibility = ["//delegate_native:__subpackages__"],
    )
