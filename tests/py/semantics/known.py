"""Cases in which a compiled program is known to differ from the plain one today."""

KNOWN: tuple[str, ...] = (
    # Floating-point flags of compiled code are not looked at: no warning, no error.
    "warnings_and_errstate:division_by_zero_warns_each_time",
    "warnings_and_errstate:overflow_and_invalid",
    "warnings_and_errstate:square_root_and_logarithm_of_negatives",
    "warnings_and_errstate:errstate_around_the_call",
    "warnings_and_errstate:a_callback_for_errors",
    "warnings_and_errstate:casts_that_lose",
    "warnings_and_errstate:means_of_nothing",
    "warnings_and_errstate:variance_with_too_few_elements",
    "warnings_and_errstate:masked_where_it_would_warn",
    "warnings_and_errstate:underflow_when_asked_for",
    "warnings_and_errstate:inf_minus_inf",
    "effects:numbers_that_do_not_fit_the_dtype",
    "special_values:integers_to_floats",
    "dtypes:half_precision_overflows_to_inf",
    # What a capture has seen lives until its path is made.
    "overrides:del_runs_when_the_program_drops_it",
    # No __reduce__: neither copy nor pickle.
    "copies:copied",
    "copies:deep_copies_of_objects_that_hold_it",
    "copies:pickled",
    "copies:a_local_function_cannot_be_pickled",
    # The tracer crashes where a bound method held in a variable is called.
    "randoms:the_global_generator",
    "randoms:global_state_is_read_after_a_write",
    "classes:bound_methods_held_in_variables",
)
