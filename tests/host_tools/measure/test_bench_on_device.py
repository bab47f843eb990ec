"""A bench on a virtual device, which is another process behind the real adb, with the real app and delegate."""

import os
from pathlib import Path

import pytest
from rich.console import Console

import quadra_tools as q
from host_tools.base.errors import Misuse
from host_tools.measure import bench_request, bench_session
from host_tools.show import bench_table
from host_tools.virtual_device import registry
from tests.model_builder import one_convolution

pytestmark = pytest.mark.usefixtures("adb")


def test_a_bench_on_a_device_is_right_and_on_its_gpu_and_goes_on(tmp_path):
    model = tmp_path / "small.tflite"
    model.write_bytes(one_convolution())
    serial = registry.start("virtual")
    given = os.environ.get("QUADRA_ANDROID_LIBRARY")
    found = q.bench(model, on=serial, backend="gles", peers=("xnnpack",), runs=3, library=given)
    (row,), document = found.document.rows, found.document
    assert document.finished and (document.place, document.device) == ("device", "virtual")
    ours, theirs = row.runners["quadra"], row.runners["xnnpack"]
    assert ours.nodes_taken == ours.nodes == 1 and ours.right and theirs.right
    for runner in (ours, theirs):
        assert runner.steady["1"]["median"] >= runner.steady["1"]["minimum"] > 0
    assert (
        row.device.startswith("llvmpipe") and "Android 14" in row.who and "°C" in row.heat and ours.cold and ours.warm
    )
    assert (
        row.over["xnnpack"]["steady"].ratio > 0
        and "on virtual: Quadra Virtual device, Android 14; thermal status none" in found.page.read_text()
    )

    ran = list(found.folder.glob("2*-small"))
    library, resume = Path(given) if given else None, str(found.folder)
    words = bench_request.Words((str(model),), backend="gles", peer="xnnpack", repetitions=3, resume=resume)
    result = bench_session.measured(words, library)
    assert list(found.folder.glob("2*-small")) == ran and len(ran) == 1, "what was measured is not measured again"
    console = Console(width=80, record=True, file=open("/dev/null", "w"))
    bench_table.show(result, console)
    assert "device    virtual: Quadra Virtual device, Android 14" in console.export_text()
    registry.start("other")
    with pytest.raises(Misuse, match="it ran on virtual, and this is .*other"):
        bench_session.measured(bench_request.Words((str(model),), on="other", resume=resume), library)
    for name in ("other", "virtual"):
        registry.stop(name)
