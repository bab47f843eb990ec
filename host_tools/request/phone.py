"""Phones' OpenCL drivers as data: phones/NAME.json has what each says of itself, by OpenCL's own names of the queries. And what
their Vulkan drivers say, by Vulkan's."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from host_tools.base.errors import Misuse

PHONES = Path(__file__).with_name("phones")
_PARTS = ("platform", "device", "kernel")
_VENDORS = {"QUALCOMM": "qualcomm", "ARM": "arm"}  # as targets have them
_BITS_OF_BYTE = 8


@dataclass(frozen=True)
class Phone:
    """answers: to each query of OpenCL, by its name. vulkan: what its Vulkan driver says, by the members' names."""

    name: str
    answers: dict[str, Any]
    vulkan: dict[str, Any]

    def lines(self) -> str:
        """As the pretended library reads it: a query and its answer in each."""
        return "".join(f"{query} {_words(answer)}\n" for query, answer in self.answers.items())

    def vulkan_lines(self) -> str:
        """As the pretended Vulkan driver reads it."""
        return "".join(f"{name} {_words(said)}\n" for name, said in self.vulkan.items())

    def target(self) -> dict[str, Any]:
        """The facts that Quadra would read from this driver, as a target's file has them (ReadInfo in cl_context.cc)."""
        said, extensions = self.answers, self.answers["CL_DEVICE_EXTENSIONS"]
        return {
            "name": self.name,
            "vendor": _VENDORS[said["CL_DEVICE_VENDOR"]],
            "opencl_version": said["CL_DEVICE_VERSION"].split()[1],
            "device_name": said["CL_DEVICE_NAME"],
            "driver": said["CL_DRIVER_VERSION"],
            "api_version": said["CL_DEVICE_VERSION"],
            "extensions": extensions,
            "max_work_group_size": said["CL_DEVICE_MAX_WORK_GROUP_SIZE"],
            "max_work_group": said["CL_DEVICE_MAX_WORK_ITEM_SIZES"],
            "local_memory_bytes": said["CL_DEVICE_LOCAL_MEM_SIZE"],
            "max_buffer_bytes": said["CL_DEVICE_MAX_MEM_ALLOC_SIZE"],
            "buffer_alignment_bytes": said["CL_DEVICE_MEM_BASE_ADDR_ALIGN"] // _BITS_OF_BYTE,
            "max_image2d": [said["CL_DEVICE_IMAGE2D_MAX_WIDTH"], said["CL_DEVICE_IMAGE2D_MAX_HEIGHT"]],
            "max_image_buffer_width": said["CL_DEVICE_IMAGE_MAX_BUFFER_SIZE"],
            "image_pitch_alignment": said["CL_DEVICE_IMAGE_PITCH_ALIGNMENT"],
            "image_base_alignment": said["CL_DEVICE_IMAGE_BASE_ADDRESS_ALIGNMENT"],
            "supports_fp16": "cl_khr_fp16" in extensions,
        }


def _words(answer: Any) -> str:
    return " ".join(map(str, answer)) if isinstance(answer, list) else str(answer)


def read(name: str) -> Phone:
    """Misuse: there is no such phone."""
    try:
        found = json.loads((PHONES / f"{name}.json").read_text(encoding="utf-8"))
    except FileNotFoundError:
        known = ", ".join(sorted(path.stem for path in PHONES.glob("*.json")))
        raise Misuse("pretend to be a phone", f"there is no {name}.json in {PHONES}", f"one of {known}") from None
    answers = {query: answer for part in _PARTS for query, answer in found[part].items()}
    return Phone(found["name"], answers, found["vulkan"])
