cc_library = native.cc_library
