"""Quick tests with siblings that find the same: of these a whole run (`./inv test`) has a part, which a word chooses, the commit's
unless another one is given. Runs of files, by name, on other drivers and with --slow have all of them."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import sha256

from tests.costly import fits

ALL = "all"  # the word with which none is left out
_API = re.compile(r"(?<![a-z])(?:opencl|gles)(?![a-z])")


@dataclass(frozen=True)
class Row:
    """Tests by the end of their file's path and the beginning of their name. `of`: so many share one place of a run, counted
    in a test function, rounded up; 0: those that differ in the API alone share one. With `first` the first one of each op
    runs on each API. `found`: what a fault that one of them finds is found by, too, or when."""

    pattern: str
    of: int
    found: str
    first: bool = False


_BOTH = "the twin; what is one API's own (its driver, its part of runtime/), in turn"
ROWS = (
    Row("test_vectors.py::test_vector_is_right_on_gpu[*-own]", 0, _BOTH, first=True),
    Row("test_vectors.py::test_vector_is_right_on_gpu", 3, "the same cases on the device's own target, on an API at least"),
    Row("test_oclgrind.py::test_kernels_touch_only_what_is_theirs", 2, "another case of the op, or with the other storage"),
    Row("test_kernel_text.py::test_every_kernel_has_a_twin_and_both_compile", 2, "drivers compile the op's texts for test_vectors.py; what strict compilers alone refuse, in turn"),
    Row("test_limits.py::test_small_buffers_and_groups_are_kept_to", 3, "other ops: the limits are kept to in what all share"),
    Row("test_limits.py::test_large_tensor_is_right", 3, "other ops: large sizes are the grid's"),
    Row("test_limits.py::test_vector_is_right_within_what_opengl_es_promises", 3, "other ops: bindings are counted in one place"),
    Row("test_backends.py::test_no_kernel_oversteps_a_poor_gpus_limits", 3, "other ops: groups are chosen in one place"),
    Row("test_float32_nodes.py::test_every_op_", 3, "other ops: what lies between half and floats is one pass"),
    Row("test_half_arithmetic.py::test_what_is_computed_in_half_is_right", 3, "the same layer on another target"),
    Row("test_half_arithmetic.py::test_a_first_layer_counts_among_the_floats", 3, "the same layer on another target"),
    Row("test_half_arithmetic.py::test_a_phones_kernels_compute_with_floats_where_the_driver_has_no_half", 3, "other layers"),
    Row("test_random_graphs.py::test_random_op_is_right", 3, "each op's cases; the examples are the same in every run"),
    Row("test_random_graphs.py::test_random_graph_is_right", 3, "the same graphs on another target"),
    Row("test_shared_memory.py::test_random_heads_are_right", 3, "the same heads on another target"),
    Row("test_dead_lanes.py::test_what_was_cut_off_reaches_no_result", 2, "another cut"),
    Row("test_dead_lanes.py::test_it_reaches_no_op", 2, "the same cut at another place"),
    Row("test_finish.py::test_what_is_waited_for_was_not_just_flushed", 3, "the same launches in another life"),
    Row("test_joined_kernels.py::test_a_layer_is_ten_dispatches", 3, "another decoder, or the same for another target"),
    Row("test_kernel_variants.py::test_vectors_have_every_text_that_models_have", 3, "another model, or the same for another target"),
    Row("test_memory.py::test_pages_of_the_model_s_file_go_once_its_weights_were_read", 3, "another precision"),
    Row("test_integer_weights.py::test_on_phones_one_row_and_many_have_the_same_words", 3, "other weights of integers"),
    Row("test_integer_weights.py::test_large_weights_stay_integers_however_many_rows_there_are", 3, "other weights of integers"),
    Row("test_partitions.py::test_folded_constants_reach_every_reader", 3, "the constant with other readers"),
    Row("test_shared_weights.py::test_weights_leave_the_host_as_a_device_with_memory_of_its_own_takes_them", 2, "another driver"),
    Row("test_shared_weights.py::test_a_plan_that_is_made_beside_another_one_holds_no_copy", 2, "the same from a cache, or without"),
    Row("test_images_over_buffers.py::test_the_memory_of_a_phone", 3, "another model, or the same on another phone"),
    Row("test_driver_faults.py::test_calls_that_fail_in_what_is_done_at_the_start_alone", 2, "the same in another life"),
    Row("test_accelerator.py::test_a_vector_has_the_interpreters_bits", 4, "other ops: how LiteRT takes a delegate knows no op"),
    Row("test_half_arithmetic.py::test_a_convolution_with_few_of_the_products_adds_floats", 3, "the same on another target"),
    Row("test_half_arithmetic.py::test_a_source_of_one_slice_is_multiplied_in_floats", 3, "the same on another target"),
    Row("test_half_arithmetic.py::test_half_means_half", 3, "the same on another target"),
    Row("test_float32_nodes.py::test_an_overflow_is_gone", 3, "the same on another target"),
    Row("test_shared_weights.py::test_a_lookup_and_a_product_share_a_table", 3, "the same on another target, other integers"),
    *(
        Row(f"tests/{file}.py::", 0, _BOTH)
        for file in (
            "test_accelerator", "test_bad_input", "test_byte_inputs", "test_cache", "test_composites",
            "test_decoders", "test_models", "test_partitions", "test_quantized", "test_scalars",
            "test_self_check", "test_shared_memory", "test_shared_weights", "test_sizes", "test_split_sums", "test_state",
            "test_states", "test_tuning", "test_variables",
            "host_tools/places/test_place_jvm", "host_tools/run/test_determinism",
        )
    ),
)  # fmt: skip


def left_out(tests: Iterable[str], word: str) -> set[str]:
    """The tests, by their ids, that this word's run does without."""
    if word == ALL:
        return set()
    shares: dict[tuple[int, str], list[str]] = {}
    firsts: set[tuple[str, ...]] = set()
    kept: set[str] = set()
    for test in tests:
        function, bracket, parameters = test.partition("[")
        found = next((i for i, row in enumerate(ROWS) if bracket and fits(test, row.pattern)), None)
        if found is None:
            continue
        row = ROWS[found]
        key = function if row.of else _API.sub("API", test)
        shares.setdefault((found, key), []).append(test)
        first = (parameters.partition("-")[0], *_API.findall(parameters))
        if row.first and first not in firsts:
            firsts.add(first)
            kept.add(test)
    for (found, _), share in shares.items():
        places = -(-len(share) // ROWS[found].of) if ROWS[found].of else 1
        kept.update(sorted(share, key=lambda test: sha256(f"{word} {test}".encode()).digest())[:places])
    return {test for share in shares.values() for test in share} - kept
