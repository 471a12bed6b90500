# SPDX-License-Identifier: BSD-3-Clause
# tags.awk FILE... - the type names of C that two files define: tags of struct, union and enum with a body,
# and typedefs; one line a name, with two of its files. Equal `typedef struct a b;` are one definition.
# Files that are never in one program may share names: helpers of different folders of tests, programs of
# one such folder, a test and the commands in tools, and the versions of a file for different processors.

# Comments, strings and characters are nothing; preprocessor lines neither.
function stripped(line,    out, two) {
    if (continued || (!comment && line ~ /^[ \t]*#/)) {
        continued = line ~ /\\$/
        return ""
    }
    out = ""
    while (line != "") {
        two = substr(line, 1, 2)
        if (comment) {
            comment = index(line, "*/") == 0
            line = comment ? "" : substr(line, index(line, "*/") + 2)
        } else if (two == "/*") {
            comment = 1
            line = substr(line, 3)
        } else if (two == "//") {
            line = ""
        } else if (match(line, /^"([^"\\]|\\.)*"/) || match(line, /^'([^'\\]|\\.)*'/)) {
            line = substr(line, RLENGTH + 1)
        } else {
            out = out substr(line, 1, 1)
            line = substr(line, 2)
        }
    }
    return out
}

function defines(name, what,    n) {
    if (!((name, FILENAME) in seen)) {
        seen[name, FILENAME] = 1
        n = ++count[name]
        file[name, n] = FILENAME
        body[name, n] = what
    }
}

# What is left of the name is the same for the versions of a file: onebit_avx2.c, cuda/onebit.cu.
function family(path) {
    sub(/.*\//, "", path)
    sub(/\.(c|h|cu)$/, "", path)
    sub(/_(avx2|avx512|vec4)$/, "", path)
    return path == "vsx" ? "neon" : path
}

function folder(path) {
    if (path !~ /(^|\/)(tests|tools)\//) {
        return "library"
    }
    sub(/[^\/]*$/, "", path)
    return path
}

function together(a, b) {
    if (folder(a) == "library" || folder(b) == "library") {
        return family(a) != family(b)
    } else if (a ~ /tools\//) {
        return b ~ /tools\//
    }
    return folder(a) == folder(b) && (a ~ /h$/ || b ~ /h$/)
}

# A declaration that is complete: at depth 0, up to its semicolon or its body's end.
function declared(text,    name, what) {
    if (text !~ /^typedef /) {
        return
    }
    sub(/^typedef /, "", text)
    sub(/ *__attribute__.*\)\)$/, "", text)
    gsub(/ *__attribute__\(\([a-z_]*\)\)/, "", text)
    what = text
    if (match(text, /\( *\*[a-z_A-Z0-9]+\)/)) { # a pointer to a function
        name = substr(text, RSTART, RLENGTH)
        gsub(/[^a-zA-Z0-9_]/, "", name)
    } else {
        sub(/ *(\[[^]]*\] *)*$/, "", text)
        sub(/ *\([^()]*\)$/, "", text) # a function
        match(text, /[a-zA-Z0-9_]+$/)
        name = substr(text, RSTART, RLENGTH)
    }
    defines(name, what ~ /\{/ ? "" : what)
}

FNR == 1 { comment = continued = depth = 0; text = "" }
{
    line = stripped($0)
    gsub(/[ \t]+/, " ", line)
    rest = line
    while (match(rest, /[{};]/)) {
        mark = substr(rest, RSTART, 1)
        text = text " " substr(rest, 1, RSTART - 1)
        rest = substr(rest, RSTART + 1)
        gsub(/ +/, " ", text)
        sub(/^ /, "", text)
        if (mark == "{") {
            if (match(text, /(struct|union|enum) ([a-zA-Z_0-9]+\([^)]*\) )*[a-zA-Z_0-9]+ *$/)) {
                kind = substr(text, RSTART)
                sub(/ *$/, "", kind)
                split(kind, word, " ")
                defines("tag " word[2], "") # one space of names for the three kinds
            }
            if (depth++ == 0) {
                head = text
                text = text "{"
            } else {
                text = ""
            }
        } else if (mark == "}") {
            if (--depth <= 0) {
                depth = 0
                text = head ~ /^typedef / ? "typedef {" : ""
            } else {
                text = ""
            }
        } else {
            if (depth == 0) {
                sub(/ *$/, "", text)
                declared(text)
            }
            text = ""
        }
    }
    text = text " " rest
}
END {
    for (name in count) {
        for (i = 1; i <= count[name]; i++) {
            for (j = 1; j < i; j++) {
                if ((body[name, i] == "" || body[name, i] != body[name, j]) && together(file[name, i], file[name, j])) {
                    print name ": " file[name, j] ", " file[name, i]
                    found = 1
                }
            }
        }
    }
    exit found
}
