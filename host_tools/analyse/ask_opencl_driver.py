"""python ask_opencl_driver.py FILE...: has the OpenCL driver that the environment leads to compile kernels' texts, and prints
whatever the driver says, as ask_driver.c does for OpenGL ES. Nothing is launched: the device may be a pretended one.

A text's first line has its build options, behind `//`. It runs on a bare Python with pyopencl.
"""

import os
import sys

import pyopencl as cl


def _end(context: cl.Context, path: str) -> str:
    with open(path, encoding="utf-8") as file:
        text = file.read()
    options = text.partition("\n")[0].removeprefix("//").split()
    try:
        cl.Program(context, text).build(options=options)
    except cl.Error as error:
        print(f"log: {str(error).strip()}", flush=True)
        return "compile"
    return "ok"


def main() -> None:
    os.dup2(1, 2)  # drivers write to both: one order
    devices = [device for platform in cl.get_platforms() for device in platform.get_devices()]
    if not devices:
        sys.exit("there is no OpenCL device")
    device = devices[0]
    print(f"### device {device.name} | {device.version}", flush=True)
    context = cl.Context([device])
    for path in sys.argv[1:]:
        print(f"### text {path}", flush=True)
        end = _end(context, path)
        print(f"### end {end}", flush=True)
    os._exit(0)  # a driver of a pretended device may not end in order


if __name__ == "__main__":
    main()
