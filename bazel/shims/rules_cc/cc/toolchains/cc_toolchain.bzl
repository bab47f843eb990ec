cc_toolchain = native.cc_toolchain
