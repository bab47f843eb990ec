"""What the native code takes from the machine: headers and flatc, all from Debian packages."""

load("//bazel:system_repository.bzl", "system_repository")

def system_dependencies():
    system_repository(
        name = "opencl_headers",
        build_file = "//bazel:opencl_headers.BUILD",
        links = {"include/CL": "/usr/include/CL"},
        package = "opencl-c-headers",
    )
    system_repository(
        name = "gles_headers",
        build_file = "//bazel:gles_headers.BUILD",
        links = {
            "include/EGL": "/usr/include/EGL",
            "include/GLES2": "/usr/include/GLES2",
            "include/GLES3": "/usr/include/GLES3",
            "include/KHR": "/usr/include/KHR",
        },
        package = "libegl-dev libgles-dev",
    )
    system_repository(
        name = "jni_headers",
        build_file = "//bazel:jni_headers.BUILD",
        links = {
            "include/jni.h": "/usr/lib/jvm/default-java/include/jni.h",
            "include/jni_md.h": "/usr/lib/jvm/default-java/include/linux/jni_md.h",
        },
        package = "default-jdk-headless",
    )
    system_repository(
        name = "flatbuffers",
        build_file = "//bazel:flatbuffers.BUILD",
        links = {
            "flatc": "/usr/bin/flatc",
            "include/flatbuffers": "/usr/include/flatbuffers",
        },
        package = "flatbuffers-compiler libflatbuffers-dev",
    )
    system_repository(
        name = "googletest",
        build_file = "//bazel:googletest.BUILD",
        links = {
            "include": "/usr/src/googletest/googletest/include",
            "src": "/usr/src/googletest/googletest/src",
        },
        package = "libgtest-dev",
    )
