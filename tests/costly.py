"""Quick tests that cost much beside what they add to others: with these rows they run with --slow, or where a node's
id names them. All of them together are a sixth of what all other quick ones take."""

from fnmatch import fnmatchcase

# A pattern of tests, by the end of their file's path, and what of the same stays quick.
ROWS = (
    ("test_memory.py::test_weights_are_held_once[opencl-", "without a GPU"),
    ("test_memory.py::test_weights_are_held_once[gles-", "without a GPU"),
    ("test_memory.py::test_a_start_from_the_cache_reads_weights_where_the_file_is_mapped[gles", "OpenCL"),
    ("test_shared_weights.py::test_memory_has_them_once[gles", "OpenCL"),
    ("test_shared_weights.py::test_they_share_what_comes_from_the_cache[gles", "OpenCL"),
    ("test_shared_weights.py::test_two_signatures_share_equal_weights_and_no_others[f16-", "f32 on both APIs"),
    ("test_shared_weights.py::test_two_signatures_share_equal_weights_and_no_others[f32_f16-", "f32 on both APIs"),
    ("test_driver_faults.py::test_a_binding_that_is_refused_spoils_nothing_for_the_next_run[gles images", "buffers"),
    ("test_driver_faults.py::test_calls_that_fail_after_a_start_from_the_cache[gles", "OpenCL"),
    ("test_lifetime.py::test_two_hundred_lives_leave_nothing_behind[gles", "OpenCL"),
    ("test_cache.py::test_a_hit_whose_binaries_are_not_taken_compiles_and_mends_the_file[gles", "OpenCL"),
    ("test_accelerator_buffers.py::test_lives_leave_nothing_behind[gles", "OpenCL"),
    ("test_accelerator_buffers.py::test_a_buffer_that_is_input_and_output_is_written_in_place[opencl", "OpenGL ES"),
    ("test_sizes.py::test_sizes_that_another_partition_makes_follow_a_resize[*-2-", "every node"),
    ("test_variables.py::test_a_hundred_steps_are_the_cpus[*-f32_f16-", "f32 and f16"),
    ("test_float16_tensors.py::test_a_run_is_judged_and_its_replay_gets_the_floats[gles", "OpenCL"),
    ("test_byte_inputs.py::test_a_replay_gets_them_as_the_run_had_them[gles", "OpenCL"),
    ("build/test_apk.py::test_one_abi_without_peers_has_only_these", "the APK of all ABIs"),
    ("build/test_apk.py::test_the_same_input_makes_the_same_apk", "test_installed.py, of the wheel"),
    ("build/test_apk.py::test_a_manifest_that_names_a_missing_class_fails_the_judgement", "the judgement of an APK"),
    ("build/test_apk.py::test_a_library_with_small_pages_fails_the_judgement_and_leaves_nothing", "the same"),
    ("build/test_apk.py::test_an_earlier_apk_survives_a_failure", "the same"),
    ("places/test_one_bad_device.py::test_a_regression_is_complete_on_the_other_device_and_goes_on_where_it_was[is lost", "a device that cannot be used"),
    ("places/test_place_jvm.py::test_the_stock_delegate_computes_in_half_by_default", "the stock delegate runs"),
    ("places/test_place_jvm.py::test_shared_models_are_as_right_as_on_the_host", "a small model"),
    ("places/test_signatures.py::test_each_runs_in_androids_runtime", "this machine, the native runner"),
    ("places/test_signatures.py::test_each_runs_on_this_machine[gles", "OpenCL"),
    ("places/lab/test_lab.py::test_a_session_whose_caller_was_killed_goes_on", "a scheduler's restart"),
    ("places/lab/test_lab_bench.py::test_each_model_is_measured_on_one_device_and_a_bench_goes_on", "labs in suites"),
    ("debug/test_bisect.py::test_rounding_that_tflites_own_kernels_have_too_is_not_blamed", "grids of quantised models"),
    ("debug/test_bisect.py::test_against_another_backend", "against the CPU"),
    ("debug/test_bisect.py::test_an_overflow_of_half_is_called_one[gles", "OpenCL"),
    ("debug/test_bisect.py::test_a_wrong_kernel_is_named[gles", "OpenCL"),
    ("debug/test_bisect.py::test_a_wrong_constant_is_named[opencl", "OpenGL ES"),
    ("debug/test_overflow.py::test_the_nodes_to_leave_in_float32_are_found", "test_float32_nodes.py"),
    ("debug/test_overflow.py::test_integers_that_stand_for_floats_are_seen[int8", "int16"),
    ("debug/test_overflow.py::test_each_signature_is_run_or_the_one_that_is_named", "the same of bisect"),
    ("debug/test_advise.py::test_cheaper_ops[*SQRT", "one cheaper op"),
    ("debug/test_advise.py::test_cheaper_ops[*SQUARE", "one cheaper op"),
    ("debug/test_advise.py::test_cheaper_ops[*reciprocal", "one cheaper op"),
    ("debug/test_advise.py::test_each_signature_is_looked_at", "the same of bisect"),
    ("debug/test_advise.py::test_gathering_is_replaced_only_where_its_indices_are_known[True", "the other way round"),
    ("run/test_generate.py::test_tokens_and_logits_are_the_cpus[gemma3_tiny_f32_ekv64-", "the quantised decoders"),
    ("run/test_generate.py::test_compiled_model_hands_its_buffers_on[opencl", "OpenGL ES"),
    ("run/test_run_with_cache.py::test_on_a_device_in_the_apps_own_code_cache", "this machine"),
    ("tasks/test_tasks.py::test_a_backend_that_fails_leaves_the_other_ones_figures", "a bench of one"),
    ("run/test_run_for_real.py::test_the_same_seed_gives_the_same_run_and_other_targets_agree", "what a run leaves"),
    ("tasks/test_demo.py::test_a_phones_whole_loop", "each part of it"),
    ("dev/test_driver_matrix.py::test_a_second_start_runs_only_what_is_left", "test_on_driver.py"),
    ("measure/test_regress_task.py::test_each_signature_is_a_cell", "free sizes are"),
    ("dev/test_lint.py::test_a_planted_defect_is_found_and_mended_where_the_tool_can[mypy", "two of the tools"),
    ("dev/test_lint.py::test_a_planted_defect_is_found_and_mended_where_the_tool_can[java-format", "two of the tools"),
    ("run/test_chosen_driver.py::test_support_asks_the_drivers_own_device[softpipe", "two drivers"),
    ("run/test_chosen_driver.py::test_support_asks_the_drivers_own_device[angle", "two drivers"),
    ("replay/test_replay_partitions.py::test_each_partition_is_replayed_and_the_faulty_ones_are_named", "one partition"),
    ("host_tools/test_api.py::test_a_bench_has_figures_a_page_and_ratios", "test_bench.py"),
)  # fmt: skip


_OF_FILES: dict[str, list[str]] = {}  # by the file's name: thousands of tests are asked for
for _pattern, _ in ROWS:
    _OF_FILES.setdefault(_pattern.partition("::")[0].rpartition("/")[2], []).append(_pattern)


def is_costly(test: str) -> bool:
    """test: its node's id, from the file's path on."""
    name = test.partition("::")[0].rpartition("/")[2]
    return any(fits(test, pattern) for pattern in _OF_FILES.get(name, ()))


def fits(test: str, pattern: str) -> bool:
    """test: its node's id, from the file's path on; pattern: the end of that path, and the beginning of the name."""
    path, _, name = test.partition("::")
    file, _, beginning = pattern.partition("::")
    return f"/{path}".endswith(f"/{file}") and fnmatchcase(name, f"{beginning.replace('[', '[[]')}*")
