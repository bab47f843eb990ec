cc_binary = native.cc_binary
