"""Where a run happened: machine, drivers, device, heat."""

from typing import Annotated

from msgspec import Meta, field

from host_tools.record.schema_fields import Count, File, Is, Part, Text, Texts, Words

# --- environment.json


class Library(Part, kw_only=True):
    """The delegate's file."""

    path: Text = ""
    bytes: Count = 0
    sha256: Text = ""


class Api(Part, kw_only=True):
    """One device of a GPU API, or why the API cannot be asked."""

    error: Annotated[Text, Is("alone: why it cannot be queried")] = ""
    platform: Text = ""
    name: Text = ""
    type: Annotated[Text, Is("`gpu`, `cpu`, `other` (OpenCL)")] = ""
    vendor: Text = ""
    version: Text = ""
    driver: Text = ""
    compute_units: Count | None = None
    global_memory_bytes: Count | None = None
    local_memory_bytes: Count | None = None
    max_work_group_size: Count | None = None
    extensions: Texts = []


class Host(Part, kw_only=True):
    """This machine, where the model ran on another one."""

    cpu: Text = ""
    cpus: Count = 0
    load_average: list[float] = []
    system: Text = ""


class Device(Part, kw_only=True):
    """What ran the model, in its own words; without `serial` it is no device of adb."""

    serial: Text = ""
    virtual: bool = False
    manufacturer: Text = ""
    model: Text = ""
    product: Text = ""
    soc: Text = ""
    soc_manufacturer: Text = ""
    hardware: Text = ""
    fingerprint: Text = ""
    release: Annotated[Text, Is("of Android")] = ""
    sdk: Annotated[Text, Is("Android's API level")] = ""
    build: Annotated[Text, Is("`user`, `userdebug`, …")] = ""
    abis: Texts = []
    page_bytes: Count | Text = ""
    kernel: Count | Text = ""
    apk_sha256: Text = ""
    runner_sha256: Annotated[Text, Is("of the native runner (route `shell`)")] = ""


class Reading(Part, kw_only=True):
    """How hot a device was at one moment."""

    time_s: Annotated[float, Is("since monitoring began")]
    stage: Text = ""
    status: Annotated[Text, Is("Android's term: none, light, moderate, severe, …")] = "unknown"
    temperatures: Annotated[dict[Text, float], Is("by kind (`skin`, `gpu`, …), in degrees Celsius")] = {}
    battery_percent: Count | None = None
    cpu_mhz: Annotated[
        Count | None, Is("clock of the fastest core; of a sustained run, where the shell may read it")
    ] = None
    gpu_mhz: Annotated[Count | None, Is("the same of the GPU")] = None


class Thermal(Part, kw_only=True):
    """How hot it was."""

    before: Annotated[Text, Is("Android's term: none, light, moderate, severe, …")] = "unknown"
    after: Text = "unknown"
    throttled: Annotated[bool, Is("during the measurement")] = False
    waited_s: Annotated[float, Is("until it was cool")] = 0.0
    readings: Annotated[list[Reading] | None, Is("during the measurement (place `device`)")] = None


class Event(Part, kw_only=True):
    """What went wrong on the way to a device, and was made good."""

    step: Text
    error: Text
    text: Text
    time_s: float = 0.0


class Runner(Part, kw_only=True):
    """The native runner."""

    made_by: Annotated[Text, Is("which compiler made it")] = ""


class Environment(File, kw_only=True):
    """Machine, drivers, versions, the library's digest. In the place `device` all but `host` is the device's."""

    FILE = "environment.json"
    time: Text = ""
    cpu: Text = ""
    cpus: Count = 0
    load_average: list[float] = []
    system: Text = ""
    python: Text = ""
    packages: Annotated[Words, Is("versions by name")] = {}
    library: Library = field(default_factory=Library)
    driver: Annotated[Text, Is("the row of the [table of drivers](drivers.md) that ran; empty: the usual driver")] = ""
    driver_source: Annotated[Text, Is("the package of that row, and its version")] = ""
    driver_settings: Annotated[Words, Is("settings given to the CPU's drivers")] = {}
    opencl_devices: Annotated[
        list[Api], Meta(max_length=1 << 10), Is("with one `error` if OpenCL cannot be queried")
    ] = []
    gles_devices: Annotated[
        list[Api], Meta(max_length=1 << 10), Is("with one `error` if OpenGL ES cannot be queried")
    ] = []
    device: Annotated[Device, Is("places `jvm` and `device`")] = field(default_factory=Device)
    thermal: Annotated[Thermal, Is("places `jvm` and `device`")] = field(default_factory=Thermal)
    host: Annotated[Host, Is("place `device`")] = field(default_factory=Host)
    runner_classes_sha256: Annotated[
        Text,
        Is("of the APK's `assets/classes.sha256`: the dexed classes are those that ran (place `jvm`)"),
    ] = ""
    route: Annotated[
        Text, Is("`app`, or `shell` for the native runner: figures of the two are never pooled (place `device`)")
    ] = ""
    runner: Annotated[Runner, Is("route `shell`")] = field(default_factory=Runner)
    device_events: Annotated[list[Event], Meta(max_length=1 << 16), Is("place `device`")] = []


class Target(File, kw_only=True):
    """The device as a [target](targets.md), which has all of its fields."""

    FILE = "target.json"
    api: Annotated[Text, Is("`opencl` or `gles`")] = "opencl"
    name: Text = ""
    why: Annotated[Text, Is("why its file states decisions that do not follow from its facts")] = ""
