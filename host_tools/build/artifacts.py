"""Where the delegate comes from, and what runs it on a device: a clone builds them, an installed toolkit has them inside."""

from host_tools.base import installed

if installed.INSTALLED:
    from host_tools.build.prebuilt import (
        accelerator,
        android,
        android_accelerator,
        apk,
        app_classes,
        classes_of,
        host_classes,
        java_path,
        library,
        phone_library,
        runner,
        runtime,
    )
else:
    from host_tools.build.built import (
        accelerator,
        android,
        android_accelerator,
        apk,
        app_classes,
        classes_of,
        host_classes,
        java_path,
        library,
        phone_library,
        runner,
        runtime,
    )

__all__ = [
    "accelerator",
    "android",
    "android_accelerator",
    "apk",
    "app_classes",
    "classes_of",
    "host_classes",
    "java_path",
    "library",
    "phone_library",
    "runner",
    "runtime",
]
