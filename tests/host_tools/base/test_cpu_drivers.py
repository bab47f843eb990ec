"""Another OpenCL driver on the machine is not what runs and tests get, unless that is wanted, or there is a GPU."""

import pytest

from host_tools.base import cpu_drivers
from host_tools.record import schema_run


@pytest.fixture
def machine(tmp_path, monkeypatch):
    """A machine with these OpenCL drivers and these files in /dev."""
    monkeypatch.delenv("OCL_ICD_VENDORS", raising=False)

    def made(*icds: str, devices: tuple[str, ...] = ("null",)):
        for name in [*(f"vendors/{icd}" for icd in icds), *(f"dev/{device}" for device in devices)]:
            (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / name).touch()
        monkeypatch.setattr(cpu_drivers, "_VENDORS", tmp_path / "vendors")
        monkeypatch.setattr(cpu_drivers, "_DEVICES", tmp_path / "dev")
        return tmp_path / "vendors"

    return made


def test_other_drivers_than_pocl_are_hidden(machine):
    vendors = machine("a_rusticl.icd", "pocl.icd", "intel64.icd")
    assert cpu_drivers.settings(1)["OCL_ICD_VENDORS"] == str(vendors / "pocl.icd")


@pytest.mark.parametrize("icds", [["pocl.icd"], ["nvidia.icd"], []])
def test_where_there_is_nothing_to_hide_nothing_is_said(machine, icds):
    machine(*icds)
    assert "OCL_ICD_VENDORS" not in cpu_drivers.settings(1)


@pytest.mark.parametrize("device", ["dri/renderD128", "nvidia0", "kfd", "mali0", "dxg"])
def test_on_a_machine_with_a_gpu_its_driver_is_found(machine, device):
    machine("pocl.icd", "nvidia.icd", devices=(device,))
    assert "OCL_ICD_VENDORS" not in cpu_drivers.settings(1)


def test_who_names_drivers_gets_these(machine, monkeypatch):
    machine("a_rusticl.icd", "pocl.icd")
    monkeypatch.setenv("OCL_ICD_VENDORS", "/mine.icd")
    assert "OCL_ICD_VENDORS" not in cpu_drivers.settings(1)


@pytest.mark.parametrize(
    ("name", "vendor", "on_cpu"),
    [
        ("basic-haswell", "cpu", True),
        ("llvmpipe (LLVM 15.0.6, 256 bits)", "Mesa", True),
        ("softpipe", "Mesa", True),
        ("ANGLE (Google, Vulkan 1.3.0 (SwiftShader Device (Subzero)), driver-5.0.0)", "Google Inc. (Google)", True),
        ("ANGLE (ARM, Mali-G715, OpenGL ES 3.2)", "Google Inc. (ARM)", False),
        ("Adreno (TM) 740", "Qualcomm", False),
    ],
)
def test_the_time_of_drivers_on_the_cpu_is_processor_time(name, vendor, on_cpu):
    assert cpu_drivers.on_cpu(schema_run.Gpu(name=name, vendor=vendor)) == on_cpu
