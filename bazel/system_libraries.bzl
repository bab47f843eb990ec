"""What our shared libraries link of the system they are for."""

SYSTEM_LIBRARIES = select({
    "@platforms//os:android": [
        "-llog",
        "-ldl",
    ],
    "//conditions:default": [
        "-static-libstdc++",
        "-static-libgcc",
        "-ldl",
        "-lpthread",
    ],
})
