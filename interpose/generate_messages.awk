# SPDX-License-Identifier: BSD-3-Clause
# generate_messages.awk - the wrappers of messages and of what else is only timed; functions of generate.awk.

# Passed on as it comes; what it sends is counted, and while recording the time in it is taken.
function timed(    n, p, a, low, four) {
    n = parse($3)
    p = join_params(n)
    a = join_names(n)
    low = "mpi_" tolower($2)
    parameters = n
    size = trim($4)
    four = of_mpi_4($2)
    if (four) { print "#if MPI_VERSION >= 4 || (defined(OMPI_MAJOR_VERSION) && OMPI_MAJOR_VERSION >= 5)" }
    member($2, p)
    timed_c($2, p, a, 0)
    if (four) { print "#endif" }
    if (size != "" && large(p) != p && $2 != "Psend_init") {
        print "#if MPI_VERSION >= 4"
        member($2 "_c", large(p))
        timed_c($2, large(p), a, 1)
        print "#endif"
    }
    if (out == "wrap_f.c") {
        print "#if defined(OPEN_MPI)" (four ? " && OMPI_MAJOR_VERSION >= 5" : "")
        passed(low "_", n, "    uint64_t start;")
        print "    if (!tw_enter()) {\n        next(" passed_args ");\n        return;\n    }"
        print "    start = tw_recording_other_begin();"
        print "    next(" passed_args ");"
        if (size != "") { print "    if (TW_IERR(ierr) == MPI_SUCCESS) {\n        " sent_call($2, 0, 1) ";\n    }" }
        print "    " recorded_end($2) "(start);\n    tw_leave();\n}"
        print "TW_ALIAS(" low "_f08_, " low "_, (" passed_params "));\n#endif\n"
    }
}

function timed_c(name, params, args, large_count,    symbol) {
    if (out != "wrap_c.c") { return }
    symbol = name (large_count ? "_c" : "")
    head("MPI_" symbol, params)
    print "    uint64_t start;\n    int      result;\n"
    if (large_count || of_mpi_4(name)) {
        print "    tw_ready();"
        may_lack(symbol, "MPI_" symbol)
    }
    print "    if (!tw_enter()) {\n        return " pass_on(symbol, params, args) ";\n    }"
    print "    start  = tw_recording_other_begin();"
    print "    result = " pass_on(symbol, params, args) ";"
    if (size != "") { print "    if (result == MPI_SUCCESS) {\n        " sent_call(name, large_count, 0) ";\n    }" }
    print "    " recorded_end(name) "(start);\n    tw_leave();\n    return result;\n}\n"
}

# What a call of this name is counted as.
function sent_as(name, large_count,    init, nonblocking) {
    init = sub(/_init$/, "", name)
    nonblocking = sub(/^I/, "", name)
    return "TW_SENT(TW_WATCHED_" toupper(name) ", " nonblocking ", " (init ? 1 : large_count ? 2 : 0) ")"
}

# The call that counts what was sent: the function of the table's last column, with its arguments as C or
# Fortran gives them.
function sent_call(name, large_count, fortran,    i, k, m, j, parts, factors, f, text) {
    match(size, /\(.*\)/)
    f = substr(size, 1, RSTART - 1)
    m = split(substr(size, RSTART + 1, RLENGTH - 2), parts, /, */)
    for (i = 1; i <= m; i++) {
        k = split(parts[i], factors, / [*] /)
        text = text ", "
        for (j = 1; j <= k; j++) { text = text (j > 1 ? " * " : "") argument(factors[j], fortran) }
    }
    if (name ~ /_init$/) { f = "kept"; text = text ", " (fortran ? "TW_F" : "TW_C") "(request)" }
    return "tw_message_" f "(TW_SITE, " sent_as(name, large_count) text ")"
}

# A parameter's value, or a constant.
function argument(v, fortran,    k, t) {
    for (k = 1; k <= parameters && names[k] != v; k++) { }
    t = k <= parameters ? types[k] : ""
    if (t == "MPI_Comm") { return fortran ? "tw_next.Comm_f2c(*" v ")" : "(MPI_Comm)" v }
    if (t == "MPI_Datatype") { return fortran ? "tw_next.Type_f2c(*" v ")" : "(MPI_Datatype)" v }
    if (t == "MPI_Count") { return fortran ? "*(const MPI_Count *)(const void *)" v : v }
    return (fortran && t == "int" ? "*" : "") v
}

# Those that return when a message has come, or gone.
function recorded_end(name) {
    return "tw_recording_" (name ~ /^(Recv|Mrecv|[BSR]?send|Send|Sendrecv|Sendrecv_replace)$/ ? "received" : "other_end")
}

# Messages of MPI 4, and of Open MPI 5, which says that it is MPI 3.1.
function of_mpi_4(name) { return name ~ /^(Psend_init|Isendrecv|Isendrecv_replace)$/ }
