# SPDX-License-Identifier: BSD-3-Clause
# zoo.awk - model files as C: awk -f zoo.awk zoo/a.cfg zoo/b.cfg > zoo.c
# Each line becomes a string of its own, as C compilers need not take long ones.
BEGIN {
    print "/* Made from the files of zoo/ by zoo.awk. */"
    print "#include \"config.h\""
    print "#include \"train/model/network_file.h\""
}
FNR == 1 {
    if (n > 0) print "    NULL};"
    name[n + 0] = FILENAME
    sub(/.*\//, "", name[n + 0])
    sub(/\.cfg$/, "", name[n + 0])
    print "static const char *const lines_" n++ "[] = {"
}
/\\/ {
    print FILENAME ":" FNR ": a backslash cannot be built in" | "cat >&2"
    failed = 1
    exit 1
}
{
    gsub(/"/, "\\\"")
    print "    \"" $0 "\\n\","
}
END {
    if (failed) exit 1
    print "    NULL};"
    print "const tw_zoo_entry_t tw_zoo[] = {"
    for (i = 0; i < n; i++) print "    {\"" name[i] "\", lines_" i "},"
    print "    {NULL, NULL}};"
}
