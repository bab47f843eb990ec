# Bazel 4.2's own repositories load this file; nothing here is built in Java by Bazel.
java_import = native.java_import
java_library = native.java_library
java_binary = native.java_binary
java_toolchain = native.java_toolchain
java_runtime = native.java_runtime
