# SPDX-License-Identifier: BSD-3-Clause
# generate_fortran.awk - the Fortran wrappers; functions of generate.awk.

function fortran_name(name, suffix) { return "mpi_" tolower(name) suffix }

# The beginning of a Fortran wrapper whose arguments are passed on as they are: `next` is the function behind
# it, and passed_params and passed_args are what both take before ierr.
function passed(f, n, locals,    i) {
    passed_params = passed_args = ""
    for (i = 1; i <= n; i++) {
        passed_params = passed_params (types[i] ~ /void \*/ ? "char *" : types[i] ~ /MPI_Aint/ ? "MPI_Aint *" : "MPI_Fint *") names[i] ", "
        passed_args = passed_args names[i] ", "
    }
    passed_params = passed_params "MPI_Fint *ierr"
    passed_args = passed_args "ierr"
    print "TW_EXPORT void " f "(" passed_params ");"
    print "TW_EXPORT void " f "(" passed_params ")\n{"
    print "    static void *found;\n    void (*next)(" passed_params ");"
    print locals "\n"
    find_next(f)
    print "    if (!tw_is_ready()) {\n        next(" passed_args ");\n        return;\n    }"
}

# Fortran's function behind a wrapper, into `next`.
function find_next(f) {
    print "    *(void **)&next = tw_late_fortran(&found, \"" f "\", TW_SITE);"
    print "    if (next == NULL) {\n        tw_fortran_missing(\"" f "\", ierr);\n        return;\n    }"
}

# As watched().
function watched_f(low, n, nonblocking, form) {
    passed(low "_", n, "    tw_call_t call;")
    print "    if (!tw_enter()) {\n        next(" passed_args ");\n        return;\n    }"
    watch_begin("tw_next.Comm_f2c(*comm)", nonblocking, form)
    print "    " watch_size(0, 1) ";"
    print "    next(" passed_args ");"
    print "    " (form == 1 ? "tw_persistent_add(&call, TW_IERR(ierr), TW_F(request))" : "tw_call_end(&call)") ";"
    if (nonblocking && form != 1) { print "    tw_recording_request(TW_IERR(ierr), TW_F(request));" }
    print "    tw_leave();\n}"
    print "TW_ALIAS(" low "_f08_, " low "_, (" passed_params "));\n"
}

function fortran_starts(name, n, freed) {
    print "#ifdef OPEN_MPI"
    fortran_start(name, n, freed, "_")
    print "#endif"
    fortran_start(name, n, freed, "_f08_")
}

function fortran_start(name, n, freed, suffix,    requests) {
    requests = names[n]
    passed(fortran_name(name, suffix), n, "    uint64_t start = 0;")
    print "    if (tw_persistent_any()" (freed ? "" : " || tw_is_recording()") ") {\n        start = " (freed ? "tw_persistent_free(TW_F(" requests "))" : "tw_persistent_before()") ";\n    }"
    print "    next(" passed_args ");"
    print "    if (start != 0) {\n        tw_persistent_after(start, " (names[1] == "count" ? "*count" : "1") ", TW_F(" requests "));\n    }\n}\n"
}

function fortran_completions(name, n) {
    print "#ifdef OPEN_MPI"
    fortran_completion(name, n, "_")
    print "#endif"
    fortran_completion(name, n, "_f08_")
}

# Only the requests are looked at.
function fortran_completion(name, n, suffix,    count, requests) {
    count = names[1] == "count" ? "*count" : "1"
    requests = "TW_F(" (names[1] == "count" ? names[2] : names[1]) ")"
    passed(fortran_name(name, suffix), n, "    tw_recording_waits_t waits = {.start_ns = 0};\n    tw_completion_t  seen;\n    bool             ours, recorded;")
    print "    ours     = tw_pending_any();\n    recorded = tw_is_recording();"
    print "    if (recorded) {\n        tw_recording_wait_begin(&waits, " count ", " requests ");\n    }"
    print "    if (ours) {\n        tw_pending_look(&seen, " count ", " requests ");\n    }"
    print "    next(" passed_args ");"
    print "    if (ours) {"
    print "    " finishing(name, requests, "", 1)
    print "    }\n    if (recorded) {"
    print "    " recorded(name, "TW_IERR(ierr) == MPI_SUCCESS", 1)
    print "    }\n}\n"
}

# Fortran arguments become C ones; the rest is the C handler's, which with `always` runs before MPI_Init and
# after MPI_Finalize, too.
function fortran_convert(name, n, handler, tail, always,    i, p, call, before, after, raw, t, v) {
    for (i = 1; i <= n; i++) {
        t = types[i]; v = names[i]
        if (v == "argc" || v == "argv") { call = call ", NULL"; continue }
        raw = raw v ", "
        if (t ~ /void \*/) { p = p "char *" v ", "; call = call ", tw_fortran_buffer(" v ")" }
        else if (t == "int") { p = p "MPI_Fint *" v ", "; call = call ", (int)*" v }
        else if (t == "const int []" || t == "int *") { p = p "MPI_Fint *" v ", "; call = call ", (int *)" v }
        else if (t == "MPI_Datatype") { p = p "MPI_Fint *" v ", "; call = call ", tw_next.Type_f2c(*" v ")" }
        else if (t == "MPI_Op") { p = p "MPI_Fint *" v ", "; call = call ", tw_next.Op_f2c(*" v ")" }
        else if (t == "MPI_Info") { p = p "MPI_Fint *" v ", "; call = call ", tw_next.Info_f2c(*" v ")" }
        else if (t == "MPI_Comm") { p = p "MPI_Fint *" v ", "; call = call ", tw_next.Comm_f2c(*" v ")" }
        else if (t == "MPI_Datatype *") {
            p = p "MPI_Fint *" v ", "
            call = call ", &c_" v
            before = before "    MPI_Datatype c_" v " = tw_next.Type_f2c(*" v ");\n"
            after = after "    if (result == MPI_SUCCESS) {\n        *" v " = tw_next.Type_c2f(c_" v ");\n    }\n"
        }
        else if (t == "MPI_Comm *" || t == "MPI_Request *") {
            p = p "MPI_Fint *" v ", "
            call = call ", &c_" v
            before = before "    " (t == "MPI_Comm *" ? "MPI_Comm c_" v " = " (v ~ /^new/ ? "MPI_COMM_NULL" : "tw_next.Comm_f2c(*" v ")") : "MPI_Request c_" v " = MPI_REQUEST_NULL") ";\n"
            after = after "    if (result == MPI_SUCCESS) {\n        *" v " = tw_next." (t == "MPI_Comm *" ? "Comm" : "Request") "_c2f(c_" v ");\n    }\n"
        } else {
            print "generate.awk: no Fortran form of '" t "' in " name >"/dev/stderr"
            exit 2
        }
    }
    print "#ifdef OPEN_MPI"
    print "TW_EXPORT void " fortran_name(name, "_") "(" p "MPI_Fint *ierr);"
    print "TW_EXPORT void " fortran_name(name, "_") "(" p "MPI_Fint *ierr)\n{"
    print "    int result;\n"
    print "    if (!tw_is_ready() || !tw_fits) {"
    print "    static void *found;\n    void (*next)(" p "MPI_Fint *) = NULL;\n"
    find_next(fortran_name(name, "_"))
    print "    next(" raw "ierr);\n    return;\n    }\n    {"
    printf "%s", before
    if (always) {
        print "    const uintptr_t entered = tw_enter_any();\n"
        print "    result = " handler "(" substr(call, 3) ");"
        print "    tw_leave_any(entered);"
    } else {
        print "    if (tw_enter()) {"
        print "        result = " handler "(TW_SITE" call tail ");"
        if (call ~ /&c_request$/) { print "        tw_recording_request(result, TW_C(&c_request));" }
        print "        tw_leave();\n    } else {"
        print "        result = tw_next." name "(" substr(call, 3) ");\n    }"
    }
    printf "%s", after
    print "    }\n    if (ierr != NULL) {\n        *ierr = result;\n    }\n}"
    print "TW_ALIAS(" fortran_name(name, "_f08_") ", " fortran_name(name, "_") ", (" p "MPI_Fint *ierr));\n#endif\n"
}

# A handled call: through C for Open MPI, for MPICH what does not come through C.
function fortran_handled(name, n) {
    fortran_convert(name, n, "tw_on_" tolower(name), "", 1)
    sub(/int \*argc, char \*\*\*argv(, )?/, "", $3) # which Fortran has not
    n = parse($3)
    print "#ifndef OPEN_MPI"
    passed(fortran_name(name, "_f08_"), n, "    uintptr_t entered;")
    print "    entered = tw_enter_any();"
    around(n, 1, "next(" passed_args ")", "TW_IERR(ierr)")
    print "    tw_leave_any(entered);\n}\n#endif\n"
}
