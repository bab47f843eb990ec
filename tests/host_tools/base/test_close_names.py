"""What someone may have meant."""

from host_tools.base.close_names import close, did_you_mean


def test_names_that_are_spelt_almost_the_same_are_close_and_others_are_not():
    tasks = ("bench", "bisect", "run", "support", "regress", "report")
    assert (
        close("suport", tasks)[0] == "support"
        and close("jvn", ("jvm", "any")) == ["jvm"]
        and close("Bnech", tasks) == ["bench"]
    )
    assert close("--bakend", ["--backend", "--apk", "--on"]) == ["--backend"]
    assert close("x", tasks) == close("", tasks) == []


def test_a_beginning_goes_before_what_is_only_alike():
    assert close("--float", ["--flat", "--float32-nodes"]) == ["--float32-nodes", "--flat"]


def test_the_sentence_is_followed_by_what_else_helps():
    assert did_you_mean("glse", ("opencl", "gles"), "give one of these") == "did you mean gles? give one of these"
    assert did_you_mean("cuda", ("opencl", "gles"), "give one of these") == "give one of these"
