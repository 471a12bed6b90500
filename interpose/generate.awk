# SPDX-License-Identifier: BSD-3-Clause
# generate.awk - from calls.table, with -v out=... and the functions of generate_fortran.awk and
# generate_messages.awk:
#   next.h      the struct of the next library's functions; tw_mpi_NAME(..., request) for a collective: its
#               blocking form where request is NULL, else its nonblocking one; tw_mpi_comm_f2c(comm) and the like
#   next.c      their binding by name
#   handlers.h  prototypes of what the wrappers call: tw_on_NAME(site, ..., request) for a collective,
#               with request NULL for the blocking form; tw_on_NAME(...) for a handled call
#   wrap_c.c    the C wrappers
#   wrap_f.c    the Fortran wrappers: mpi_x_ and mpi_x_f08_ for Open MPI; for MPICH, whose Fortran calls
#               most C functions, those of mpi_f08 that do not come through C
BEGIN {
    FS = " *[|] *"
    print "/* Made by interpose/generate.awk from interpose/calls.table. */"
    if (out == "next.h") {
        print "#ifndef TW_INTERPOSE_NEXT_H\n#define TW_INTERPOSE_NEXT_H\n\n#include <stddef.h>\n\n#include \"interpose/mpi/late.h\"\n"
        print "typedef struct tw_next {"
    } else if (out == "next.c") {
        print "#include \"config.h\"\n\n#include \"interpose/next.h\"\n\ntw_next_t tw_next;\n"
        print "void tw_next_bind(void)\n{"
    } else if (out == "handlers.h") {
        print "#ifndef TW_INTERPOSE_HANDLERS_H\n#define TW_INTERPOSE_HANDLERS_H\n\n#include \"interpose/mpi/late.h\"\n"
    } else if (out == "wrap_c.c" || out == "wrap_f.c") {
        print "#include \"config.h\"\n\n#include \"interpose/mpi/wrap.h\"\n"
    } else {
        print "generate.awk: unknown output '" out "'" >"/dev/stderr"
        exit 2
    }
}

function trim(text) { gsub(/^[ \t]+|[ \t]+$/, "", text); return text }

# params[1..n], names[1..n], types[1..n]; returns n.
function parse(list,    i, n, parts) {
    list = trim(list)
    if (list == "") { return 0 }
    n = split(list, parts, /, */)
    for (i = 1; i <= n; i++) {
        params[i] = trim(parts[i])
        match(params[i], /[A-Za-z_0-9]+(\[\])?$/)
        names[i] = substr(params[i], RSTART)
        types[i] = trim(substr(params[i], 1, RSTART - 1))
        if (sub(/\[\]$/, "", names[i])) { types[i] = types[i] " []" }
    }
    return n
}

function join_params(n,    i, text) {
    for (i = 1; i <= n; i++) { text = text (i > 1 ? ", " : "") params[i] }
    return n == 0 ? "void" : text
}

function join_names(n,    i, text) {
    for (i = 1; i <= n; i++) { text = text (i > 1 ? ", " : "") names[i] }
    return text
}

# Handles given by value as machine words. The families' handles differ in size (pointers, ints): a word
# passes through unharmed where the program runs over the other family than this was compiled for.
function words(text) {
    gsub(/MPI_(Comm|Datatype|Op|Info|Request|Win) [a-z]/, "tw_word_t &", text)
    gsub(/tw_word_t MPI_(Comm|Datatype|Op|Info|Request|Win) /, "tw_word_t ", text)
    gsub(/tw_word_t requests\[\]/, "MPI_Request requests[]", text)
    return text
}

# The names of parsed parameters as arguments of a handler: words become handles again.
function join_handles(n,    i, text) {
    for (i = 1; i <= n; i++) {
        text = text (i > 1 ? ", " : "") (types[i] ~ /^MPI_(Comm|Datatype|Op|Info|Request|Win)$/ ? "(" types[i] ")" names[i] : names[i])
    }
    return text
}

# MPI libraries of other versions than the one that this was built for may lack the function.
function may_lack(name, symbol) {
    print "    if (tw_next." name " == NULL) {\n        return tw_missing(\"" symbol "\");\n    }"
}

# A call of the next library's function with the arguments as they came.
function pass_on(name, params, args) {
    return "((int (*)(" words(params) "))(void (*)(void))tw_next." name ")(" args ")"
}

# The head of an exported C wrapper.
function head(symbol, params) {
    print "TW_EXPORT int tw_wrap_" symbol "(" words(params) ") __asm__(\"" symbol "\");"
    print "TW_EXPORT int tw_wrap_" symbol "(" words(params) ")\n{"
}

# The large-count form of the parameters: counts are MPI_Count, displacements MPI_Aint.
function large(text) {
    gsub(/int (send|recv|origin_|result_|target_)?count/, "MPI_Count &", text)
    gsub(/const int [sr]?displs/, "MPI_Aint &", text)
    gsub(/MPI_Count int /, "MPI_Count ", text)
    gsub(/MPI_Aint const int /, "const MPI_Aint ", text)
    return text
}

function member(name, params, result) {
    if (out == "next.h") { print "    " (result == "" ? "int" : result) " (*" name ")(" params ");" }
    if (out == "next.c") {
        print "    *(void **)&tw_next." name " = tw_late_symbol(\"" prefix name "\");"
    }
}

# Both forms of a collective. What is printed after the struct is kept until the end.
function forms(name, iname, p, a) {
    member(name, p)
    member(iname, p ", MPI_Request *request")
    inlines = inlines "static inline int tw_mpi_" tolower(name) "(" p ", MPI_Request *request)\n{\n"
    inlines = inlines "    return request != NULL ? tw_next." iname "(" a ", request) : tw_next." name "(" a ");\n}\n\n"
}

# A wrapper that passes on what it is given unless we are active, and else calls a handler.
function wrapper(name, params, args, handler_call) {
    head("MPI_" name, params)
    print "    int result;\n"
    print "    if (!tw_enter()) {\n        return " pass_on(name, params, args) ";\n    }"
    print "    result = " handler_call ";"
    if (params ~ /request$/) { print "    tw_recording_request(result, TW_C(request));" }
    print "    tw_leave();\n    return result;\n}\n"
}

# The bytes of a watched call: the function of the table's last column, with its arguments as C or
# Fortran gives them.
function watch_size(large_count, fortran,    i, k, m, parts, text, v, t) {
    match(size, /\(.*\)/)
    text = "tw_watch_" substr(size, 1, RSTART - 1) "(&call"
    m = split(substr(size, RSTART + 1, RLENGTH - 2), parts, /, */)
    for (i = 1; i <= m; i++) {
        v = trim(parts[i])
        for (k = 1; names[k] != v; k++) { }
        t = types[k]
        if (t == "MPI_Datatype") { text = text ", " (fortran ? "tw_next.Type_f2c(*" v ")" : "(MPI_Datatype)" v) }
        else if (t == "const MPI_Datatype []") { text = text ", " (fortran ? "NULL, " v : "(const MPI_Datatype *)" v ", NULL") }
        else if (t == "const int []") { text = text ", " (large_count ? "TW_LARGES(" : "TW_INTS(") v ")" }
        else if (v ~ /count$/) { text = text ", TW_ONE(" (fortran ? "*" : "") v ")" }
        else { text = text ", " (fortran ? "*" : "") v }
    }
    return text ")"
}

function watch_begin(comm, nonblocking, form) {
    print "    tw_watch_begin(&call, TW_SITE, " operation ", " nonblocking ", " form ", " comm ");"
}

# A call that is counted and passed on; of a persistent one its starts are.
function watched(symbol, name, params, args, nonblocking, form, large_count) {
    head(symbol, params)
    print "    tw_call_t call;\n    int       result;\n"
    if (form > 0) {
        print "    tw_ready();"
        may_lack(name, symbol)
    }
    print "    if (!tw_enter()) {\n        return " pass_on(name, params, args) ";\n    }"
    watch_begin("(MPI_Comm)comm", nonblocking, form)
    print "    " watch_size(large_count, 0) ";"
    print "    result = " pass_on(name, params, args) ";"
    print "    " (form == 1 ? "tw_persistent_add(&call, result, TW_C(request))" : "tw_call_end(&call)") ";"
    if (nonblocking && form != 1) { print "    tw_recording_request(result, TW_C(request));" }
    print "    tw_leave();\n    return result;\n}\n"
}

function collective(    n, iname, p, a, h) {
    n = parse($3)
    iname = "I" tolower($2)
    size = trim($4)
    operation = "TW_RULE_" toupper($2)
    p = join_params(n)
    a = join_names(n)
    prefix = "MPI_"
    if (out == "handlers.h") {
        print "int tw_on_" tolower($2) "(const void *site, " p ", MPI_Request *request);"
    }
    forms($2, iname, p, a)
    if (out == "wrap_c.c") {
        h = join_handles(n)
        wrapper($2, p, a, "tw_on_" tolower($2) "(TW_SITE, " h ", NULL)")
        wrapper(iname, p ", MPI_Request *request", a ", request", "tw_on_" tolower($2) "(TW_SITE, " h ", request)")
    }
    if (out == "wrap_f.c") {
        fortran_convert($2, n, "tw_on_" tolower($2), ", NULL")
        fortran_convert(iname, n + request(n), "tw_on_" tolower($2), "")
    }
    other_forms(n, p, a)
}

# One more parameter.
function request(n) {
    params[n + 1] = "MPI_Request *request"; names[n + 1] = "request"; types[n + 1] = "MPI_Request *"
    return 1
}

function watched_only(    n, p, a) {
    n = parse($3)
    p = join_params(n)
    a = join_names(n)
    size = trim($4)
    operation = "TW_WATCHED_" toupper($2)
    forms($2, "I" tolower($2), p, a)
    if (out == "wrap_c.c") {
        watched("MPI_" $2, $2, p, a, 0, 0, 0)
        watched("MPI_I" tolower($2), "I" tolower($2), p ", MPI_Request *request", a ", request", 1, 0, 0)
    }
    if (out == "wrap_f.c") {
        print "#ifdef OPEN_MPI"
        watched_f("mpi_" tolower($2), n, 0, 0)
        watched_f("mpi_i" tolower($2), n + request(n), 1, 0)
        print "#endif"
    }
    other_forms(n, p, a)
}

# Persistent and large-count forms, which are watched: MPI 4 has them; Open MPI 4 has persistent ones as
# MPIX_, Open MPI 5, which says that it is MPI 3.1, as MPI_.
function other_forms(n, p, a,    persist, low) {
    persist = ", MPI_Info info, MPI_Request *request"
    if (out == "next.h" || out == "next.c" || out == "wrap_c.c") {
        print "#if MPI_VERSION >= 4 || defined(OPEN_MPI)"
        one_form("MPI_" $2 "_init", $2 "_init", p persist, a ", info, request", 1, 1, 0)
        print "#endif\n#if MPI_VERSION >= 4"
        if (large(p) != p) {
            one_form("MPI_" $2 "_init_c", $2 "_init_c", large(p) persist, a ", info, request", 1, 1, 1)
            one_form("MPI_" $2 "_c", $2 "_c", large(p), a, 0, 2, 1)
            one_form("MPI_I" tolower($2) "_c", "I" tolower($2) "_c", large(p) ", MPI_Request *request", a ", request", 1, 2, 1)
        }
        print "#elif defined(OPEN_MPI)"
        one_form("MPIX_" $2 "_init", $2 "_init_x", p persist, a ", info, request", 1, 1, 0)
        print "#endif"
    }
    if (out == "wrap_f.c") {
        names[++n] = "info"; types[n] = "MPI_Info"
        n += request(n)
        print "#ifdef OPEN_MPI"
        watched_f("mpi_" tolower($2) "_init", n, 1, 1)
        watched_f("mpix_" tolower($2) "_init", n, 1, 1)
        print "#endif\n"
    }
}

function one_form(symbol, name, params, args, nonblocking, form, large_count) {
    if (out == "next.h") { print "    int (*" name ")(" params ");" }
    if (out == "next.c") { print "    *(void **)&tw_next." name " = tw_late_symbol(\"" symbol "\");" }
    if (out == "wrap_c.c") { watched(symbol, name, params, args, nonblocking, form, large_count) }
}

# What is known of persistent collectives is looked up by their requests.
function start(    n, p, a, count, requests, freed) {
    n = parse($3)
    p = join_params(n)
    a = join_names(n)
    freed = $2 == "Request_free"
    member($2, p)
    count = names[1] == "count" ? "count" : "1"
    requests = names[n]
    if (out == "wrap_c.c") {
        head("MPI_" $2, p)
        print "    uint64_t start;\n    int      result;\n"
        print "    tw_ready();\n    if (!tw_persistent_any()" (freed ? "" : " && !tw_is_recording()") ") {\n        return " pass_on($2, p, a) ";\n    }"
        print "    start = " (freed ? "tw_persistent_free(TW_C(" requests "))" : "tw_persistent_before()") ";"
        print "    result = " pass_on($2, p, a) ";"
        print "    tw_persistent_after(start, result == MPI_SUCCESS ? " count " : 0, TW_C(" requests "));"
        print "    return result;\n}\n"
    }
    if (out == "wrap_f.c") { fortran_starts($2, n, freed) }
}

# Does it tell what is complete without completing it, in a function of MPI 4.1?
function by_status(name) { return name ~ /^Request_get_status_/ }

# What is finished after the call: what is MPI_REQUEST_NULL now, or what the call says is complete. Indices
# begin with `first`.
function finishing(name, requests, fine, first) {
    if (name ~ /^Request_get_status(_all)?$/) { return "    tw_pending_finish(&seen, TW_C(NULL), " fine "*flag);" }
    if (name == "Request_get_status_any") { return "    tw_pending_finish_at(&seen, " fine "*flag ? 1 : 0, index, " first ");" }
    if (name == "Request_get_status_some") { return "    tw_pending_finish_at(&seen, " fine "*outcount > 0 ? *outcount : 0, indices, " first ");" }
    return "    tw_pending_finish(&seen, " requests ", 0);"
}

# The same for what is recorded, where a call that only looks completes nothing. `fine`: has it succeeded?
function recorded(name, fine, first) {
    if (name ~ /^Request_get_status/) { return "    tw_recording_wait_end(&waits, false);" }
    if (name ~ /^Test(all)?$/) { return "    tw_recording_wait_end(&waits, " fine " && *flag);" }
    if (name == "Waitany") { return "    tw_recording_wait_end_at(&waits, " fine " ? 1 : 0, index, " first ");" }
    if (name == "Testany") { return "    tw_recording_wait_end_at(&waits, " fine " && *flag ? 1 : 0, index, " first ");" }
    if (name ~ /some$/) { return "    tw_recording_wait_end_at(&waits, " fine " && *outcount > 0 ? *outcount : 0, indices, " first ");" }
    return "    tw_recording_wait_end(&waits, " fine ");"
}

function completion(    n, p, a, i, count, requests) {
    n = parse($3)
    p = join_params(n)
    a = join_names(n)
    prefix = "MPI_"
    member($2, p)
    count = names[1] == "count" ? "count" : "1"
    requests = "TW_C(" (names[1] == "count" ? names[2] : (types[1] ~ /\*/ ? names[1] : "&handle")) ")"
    if (out == "wrap_c.c") {
        head("MPI_" $2, p)
        print "    tw_recording_waits_t waits;\n    tw_completion_t  seen;\n    bool             ours;\n    int              result;"
        if (requests == "TW_C(&handle)") { print "    const MPI_Request handle = (MPI_Request)" names[1] ";" }
        print "\n    tw_ready();"
        if (by_status($2)) { may_lack($2, "MPI_" $2) }
        print "    ours = tw_pending_any();"
        print "    if (!ours && !tw_is_recording()) {"
        print "        return " pass_on($2, p, a) ";\n    }"
        print "    tw_recording_wait_begin(&waits, " count ", " requests ");"
        print "    if (ours) {\n        tw_pending_look(&seen, " count ", " requests ");\n    }"
        print "    result = " pass_on($2, p, a) ";"
        print "    if (ours) {\n    " finishing($2, requests, "result == MPI_SUCCESS && ", 0) "\n    }"
        print recorded($2, "result == MPI_SUCCESS", 0)
        print "    return result;\n}\n"
    }
    if (out == "wrap_f.c") { fortran_completions($2, n) }
}

# One of the table's last columns as a line: its arguments as C gives them or, the handles being the same, as
# MPICH's Fortran does.
function hook(text, n, fortran,    i, k, m, parts, line) {
    if (text == "") { return "" }
    match(text, /\(.*\)/)
    line = substr(text, 1, RSTART)
    m = split(substr(text, RSTART + 1, RLENGTH - 2), parts, /, */)
    for (i = 1; i <= m; i++) {
        for (k = 1; k <= n && names[k] != parts[i]; k++) { }
        line = line (i > 1 ? ", " : "") (fortran && k <= n && types[k] !~ /\*/ ? "*" : "") parts[i]
    }
    return line ");"
}

# What stands around the call of a handled function.
function around(n, fortran, call, succeeded,    before, after) {
    before = hook(trim($4), n, fortran)
    after = hook(trim($5), n, fortran)
    if (before != "") { print "    " before }
    print "    " call ";"
    if (after != "") { print "    if (" succeeded " == MPI_SUCCESS) {\n        " after "\n    }" }
}

function handled(    n, p, a) {
    n = parse($3)
    p = join_params(n)
    a = join_names(n)
    prefix = "MPI_"
    member($2, p)
    if (out == "handlers.h") { print "int tw_on_" tolower($2) "(" p ");" }
    if (out == "wrap_c.c") {
        print "int tw_on_" tolower($2) "(" p ")\n{\n    int result;\n"
        around(n, 0, "result = tw_next." $2 "(" a ")", "result")
        print "    return result;\n}\n"
        head("MPI_" $2, p)
        print "    uintptr_t entered;\n    int       result;\n"
        if ($2 !~ /^Init/) { # wrong family, or before MPI_Init
            print "    tw_ready();\n    if (!tw_is_active()) {\n        return " pass_on($2, p, a) ";\n    }"
        }
        print "    entered = tw_enter_any();"
        print "    result  = tw_on_" tolower($2) "(" join_handles(n) ");"
        print "    tw_leave_any(entered);\n    return result;\n}\n"
    }
    if (out == "wrap_f.c") { fortran_handled($2, n) }
}

/^#/ || NF < 3 { next }
{ $1 = trim($1); $2 = trim($2); prefix = "MPI_" }
$1 == "collective" { collective(); next }
$1 == "watched" { watched_only(); next }
$1 == "start" { start(); next }
$1 == "completion" { completion(); next }
$1 == "timed" { timed(); next }
$1 == "handled" { handled(); next }
$1 == "use" { n = parse($3); member($2, join_params(n)); next }
$1 == "convert" {
    n = parse($3)
    if (out == "next.h" || out == "next.c") {
        print "#ifdef OPEN_MPI"
        member($2, join_params(n), trim($4))
        print "#endif"
    }
    inlines = inlines "static inline " trim($4) " tw_mpi_" tolower($2) "(" join_params(n) ")\n{\n"
    inlines = inlines "#ifdef OPEN_MPI\n    return tw_next." $2 "(" names[1] ");\n"
    inlines = inlines "#else\n    return (" trim($4) ")" names[1] ";\n#endif\n}\n\n"
    next
}
{ print "generate.awk: unknown kind '" $1 "'" >"/dev/stderr"; exit 2 }

END {
    if (out == "next.h") {
        print "} tw_next_t;\n\nextern tw_next_t tw_next;\n"
        print "/* Fill tw_next; what the library lacks is NULL. */\nvoid tw_next_bind(void);\n"
        print inlines "#endif"
    } else if (out == "next.c") {
        print "}"
    } else if (out == "handlers.h") {
        print "\n#endif"
    }
}
