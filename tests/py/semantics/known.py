"""Cases in which a compiled program is known to differ from the plain one today."""

KNOWN: tuple[str, ...] = (
    "classes:a_non_data_descriptor_is_shadowed",
    "disguises:bytes_under_another_name",
    "disguises:properties_that_lie_about_the_class",
    "guards:builtins_of_the_function_are_its_own",
    "guards:a_module_gets_a_function",
    "identity:negative_zero_is_kept_in_results",
    "identity:signed_zeros_in_reductions",
    "identity:nan_in_containers_and_comparisons",
    "overrides:an_iterator_class",
    "overrides:del_runs_when_the_program_drops_it",
    "overrides:special_methods_that_answer_wrongly",
    "scalars:operations_on_zero_dimensional_arrays",
    "shortcuts:scalars_that_are_one_object",
    "shortcuts:a_list_that_grows_for_long",
    "shortcuts:the_type_of_an_argument_by_its_class",
    "special_values:maximum_and_minimum",
    "special_values:clipping",
    "warnings_and_errstate:nan_travels_without_a_warning",
)
