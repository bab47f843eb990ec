builtin_cc_common = cc_common
builtin_cc_info = CcInfo
