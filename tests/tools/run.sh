#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# thinwire run: what the program finds in its environment, which library is chosen, what is refused.
# The libraries are stand-ins that do nothing, beside a copy of the command.
# shellcheck disable=SC1091,SC2016,SC2154  # set by make check and by common.bash; for inner shells
. "$top_srcdir/tests/tools/common.bash"
sanitized && limit=60 || limit=30
seed=${THINWIRE_SEED:-0}
[ "$seed" -ne 0 ] || seed=$RANDOM
for name in $(compgen -e THINWIRE_); do unset "$name"; done
unset LD_PRELOAD LD_LIBRARY_PATH OMPI_COMM_WORLD_SIZE OMPI_COMM_WORLD_RANK PMI_SIZE PMI_RANK PMIX_RANK SLURM_PROCID
# The stand-ins are no sanitizer's business.
export ASAN_OPTIONS=${ASAN_OPTIONS:+$ASAN_OPTIONS:}verify_asan_link_order=0

# CC may be an MPI compiler, which would link its own library with everything.
compiler=$($CC -show 2>/dev/null | awk '{ print $1; exit }')
compiler=${compiler:-$CC}
libdir=$(sed -n 's/^libdir=//p' "$top_builddir/thinwire.pc")

copy_tree() { # TO
    mkdir -p "$1/bin" "$1/lib" && cp "$thinwire" "$1/bin/" && cp -L "$top_builddir"/lib/libthinwire.so* "$1/lib/"
}
library() { # FILE [SONAME]
    echo 'int tw_stand_in; void tw_stand_in_call(void) { tw_stand_in++; }' >"$scratch/library.c"
    $compiler -shared -fPIC -o "$1" "$scratch/library.c" ${2:+-Wl,-soname,"$2"}
}
tree=$scratch/tree
copy_tree "$tree" || exit 1
for name in openmpi mpich; do library "$tree/lib/libthinwire-preload-$name.so" || exit 1; done
preload=$tree/lib/libthinwire-preload
ldd "$thinwire" | grep -q libmpich && built=mpich || built=openmpi

run() { alone "$tree/bin/thinwire" run "$@"; }
says() { grep -q -x -F -e "$1" "$scratch/out" || { echo "no line: $1"; return 1; }; }
chosen() { says "export LD_PRELOAD='$preload-$1.so'"; }

plan 82

only_the_library() {
    env | grep -v '^_' | sort >"$scratch/before"
    run -- env || return 1
    grep -v '^_' "$scratch/out" | sort | diff "$scratch/before" - >"$scratch/difference"
    [ "$(grep -c '^[<>]' "$scratch/difference")" -eq 1 ] && grep -q "^> LD_PRELOAD=$preload-$built.so\$" "$scratch/difference"
}
check "without options only LD_PRELOAD is set" only_the_library

check "the library is loaded" run -- grep -q "$preload-$built.so" /proc/self/maps

all_options() {
    run --codec tree8 --threshold 64k --rule 'allreduce:float:>=1M=tree8' --rule='comm=world:off' --double \
        --max-error 0.02 --verify 16 --error-feedback --report /tmp/r --json /tmp/j --record /tmp/c --quiet --threads 3 env || return 1
    says THINWIRE_CODEC=tree8 && says THINWIRE_THRESHOLD=64k &&
        says 'THINWIRE_RULES=allreduce:float:>=1M=tree8;comm=world:off' && says THINWIRE_DOUBLE=1 &&
        says THINWIRE_MAX_ERROR=0.02 && says THINWIRE_VERIFY=16 && says THINWIRE_ERROR_FEEDBACK=1 &&
        says THINWIRE_REPORT=/tmp/r && says THINWIRE_JSON=/tmp/j && says THINWIRE_QUIET=1 && says THINWIRE_THREADS=3 &&
        says THINWIRE_RECORD=/tmp/c
}
check "options become variables, rules in their order" all_options

absolute_files() {
    : >"$scratch/a.rules"
    cd "$scratch" || return 1
    run --rules a.rules --report r.txt --json ./j.json --record c.cfg -- env || return 1
    says "THINWIRE_RULES_FILE=$scratch/a.rules" && says "THINWIRE_REPORT=$scratch/r.txt" &&
        says "THINWIRE_JSON=$scratch/./j.json" && says "THINWIRE_RECORD=$scratch/c.cfg"
}
check "files are made absolute" absolute_files

environment_stays() {
    THINWIRE_CODEC=onebit THINWIRE_THRESHOLD=1M THINWIRE_RULES='*:off' run --codec tree8 --rule 'bcast=fp32' -- env &&
        says THINWIRE_CODEC=tree8 && says THINWIRE_THRESHOLD=1M && says THINWIRE_RULES=bcast=fp32
}
check "the environment stays but for what options say" environment_stays

preload_kept() {
    library "$scratch/libother.so" && library "$scratch/libasan.so.99" &&
        LD_PRELOAD=$scratch/libother.so run -- env && says "LD_PRELOAD=$preload-$built.so:$scratch/libother.so" &&
        LD_PRELOAD="$preload-mpich.so $scratch/libother.so:$scratch/libasan.so.99" run --mpi openmpi -- env &&
        says "LD_PRELOAD=$scratch/libasan.so.99:$preload-openmpi.so:$scratch/libother.so"
}
check "what is preloaded stays behind it; a sanitizer's runtime before it" preload_kept

exit_status() {
    run -- sh -c 'exit 7'
    [ $? -eq 7 ] || return 1
    run -- sh -c 'kill -TERM $$'
    [ $? -eq 143 ]
}
check "the program's exit status is passed on" exit_status

arguments_kept() {
    run --codec tree8 printf '<%s>\n' --help --codec '' 'a b' -- --print &&
        printf '<%s>\n' --help --codec '' 'a b' -- --print | diff - "$scratch/out"
}
check "arguments behind the program are the program's" arguments_kept

odd_names() {
    mkdir "$scratch/a b" && printf '#!/bin/sh\necho "$0 says $1"\n' >"$scratch/a b/say it" && chmod +x "$scratch/a b/say it" &&
        run -- "$scratch/a b/say it" hello && says "$scratch/a b/say it says hello" &&
        PATH="$scratch/a b:$PATH" run -- 'say it' hello && says "$scratch/a b/say it says hello"
}
check "a program with blanks in its path" odd_names

odd_tree() {
    copy_tree "$scratch/c d" && cp "$preload-$built.so" "$scratch/c d/lib/" &&
        LD_LIBRARY_PATH=/nowhere alone "$scratch/c d/bin/thinwire" run -- sh -c 'echo "$LD_LIBRARY_PATH"; cat /proc/self/maps' &&
        says "$scratch/c d/lib:/nowhere" && grep -q -F "$scratch/c d/lib/libthinwire-preload-$built.so" "$scratch/out"
}
check "a tree with blanks in its path" odd_tree

colon_tree() {
    copy_tree "$scratch/e:f" && cp "$preload-$built.so" "$scratch/e:f/lib/" || return 1
    LD_LIBRARY_PATH=$top_builddir/lib alone "$scratch/e:f/bin/thinwire" run -- true
    [ $? -eq 2 ] && grep -q '^thinwire: .*no way to say a path with a colon$' "$scratch/out"
}
check "a tree with a colon in its path is refused" colon_tree

printed() {
    run --print --codec tree8 --rule 'bcast : off' --report "it's r \$HOME" -- sh -c 'echo started' || return 1
    ! grep -q started "$scratch/out" || return 1
    [ "$(wc -l <"$scratch/out")" -eq 4 ] || return 1
    (
        . "$scratch/out" && [ "$THINWIRE_CODEC" = tree8 ] && [ "$THINWIRE_RULES" = 'bcast : off' ] &&
            [ "$THINWIRE_REPORT" = "$PWD/it's r \$HOME" ] && [ "$LD_PRELOAD" = "$preload-$built.so" ]
    ) && run --print && [ "$(wc -l <"$scratch/out")" -eq 1 ] && chosen "$built"
}
check "--print writes what a shell can read, and starts nothing" printed
full_device() {
    timeout -k 5 "$limit" "$tree/bin/thinwire" run --print >/dev/full 2>"$scratch/out"
    [ $? -eq 1 ] && grep -q '^thinwire: .*No space' "$scratch/out"
}
check "--print to a full device" full_device

silent() { timeout -k 5 "$limit" "$tree/bin/thinwire" run --codec tree8 -- sh -c 'exit 5' 2>&-; [ $? -eq 5 ]; }
check "without a standard error" silent

says_what_it_is() { run --help && grep -q '^Usage: thinwire run' "$scratch/out" && OMPI_COMM_WORLD_RANK=1 run --help && [ ! -s "$scratch/out" ]; }
check "--help, from one rank" says_what_it_is

# ---- what is refused ----------------------------------------------------------------------------

# refused STATUS PATTERN ARG...: in one line, and nothing is started.
refused() {
    local want=$1 pattern=$2 status
    shift 2
    rm -f "$scratch/started"
    run "$@"
    status=$?
    [ $status -eq "$want" ] || { echo "status $status, not $want"; return 1; }
    [ "$(wc -l <"$scratch/out")" -eq 1 ] || { echo "not one line"; return 1; }
    [ ! -e "$scratch/started" ] || { echo "the program was started"; return 1; }
    grep -q -e "^thinwire: $pattern" "$scratch/out" || { echo "no '$pattern'"; return 1; }
}
refused_with() { # VARIABLE=VALUE STATUS PATTERN ARG...
    local setting=$1
    shift
    export "${setting?}"
    refused "$@"
    local status=$?
    unset "${setting%%=*}"
    return $status
}
touch=(touch "$scratch/started")

check "no program" refused 2 'a program is missing; accepted: thinwire run ' --codec tree8
check "no program behind --" refused 2 'a program is missing' --
check "an empty name" refused 127 ': no such program' -- ''
check "unknown option" refused 2 "unknown option '--codecs'; did you mean --codec?" --codecs tree8 "${touch[@]}"
check "short option" refused 2 "unknown option '-n'" -n 4 "${touch[@]}"
check "option without its value" refused 2 '--codec needs a value: --codec SPEC' --codec -- "${touch[@]}"
check "option without its value at the end" refused 2 '--rules needs a value' --rules
check "flag with a value" refused 2 '--double takes no value' --double=1 "${touch[@]}"
check "empty value" refused 2 '--codec needs a SPEC that is not empty' --codec '' "${touch[@]}"
check "a launcher for a program" refused 2 '.*mpiexec is a launcher; accepted: .*mpirun -n 4 thinwire run' \
    -- /usr/bin/mpiexec -n 2 true
check "a rule that the shell has cut" refused 2 '--rule needs a value.*need quotes' --rule --
check "empty rule" refused 2 '--rule needs a RULE that is not empty' --rule= "${touch[@]}"
check "option given twice" refused 2 '--codec is given twice' --codec tree8 --codec=onebit "${touch[@]}"
check "flag given twice" refused 2 '--quiet is given twice' --quiet --quiet "${touch[@]}"
check "two rules in one" refused 2 "--rule 'bcast:off;\*=tree8': accepted: one rule" --rule 'bcast:off;*=tree8' "${touch[@]}"
check "comment in a rule" refused 2 "--rule 'bcast:off # no': accepted: one rule" --rule 'bcast:off # no' "${touch[@]}"
check "unknown codec" refused 2 "--codec: unknown codec 'tree9'; accepted: .*tree8" --codec tree9 "${touch[@]}"
check "unknown option of a codec" refused 2 "--codec: .*no option 'blok'" --codec tree8:blok=64 "${touch[@]}"
check "bitpack:9" refused 2 '--codec: .*8' --codec bitpack:9 "${touch[@]}"
check "bitpack:6, for doubles" run --codec bitpack:6 -- true
check "several codecs" refused 2 '--codec: ' --codec tree8,onebit "${touch[@]}"
check "a rule that is none" refused 2 "--rule: .*allreduc.*accepted: " --rule 'bcast:off' --rule 'allreduc=tree8' "${touch[@]}"
check "unknown codec in a rule" refused 2 "--rule 'allreduce:float=tree9': unknown codec 'tree9'; accepted: .*tree8" --rule 'allreduce:float=tree9' "${touch[@]}"
check "a rule of the environment" refused_with THINWIRE_RULES='comm=mine=tree8' 2 "THINWIRE_RULES: .*comm=mine.*accepted: " "${touch[@]}"
check "unknown types" refused 2 "--types: 'MPI_INT=float16'; accepted: NAME=TYPE or NAME=TYPE:sum of MPI_UINT16_T" --types MPI_UINT16_T=bfloat16,MPI_INT=float16 "${touch[@]}"
check "types of the environment" refused_with THINWIRE_TYPES=MPI_SHORT=double 2 "THINWIRE_TYPES: 'MPI_SHORT=double'; accepted: " "${touch[@]}"
rules_taken() { run --rule 'alltoallv:double=int:32' --rule 'comm=world:off' --types MPI_SHORT=bfloat16:sum -- true; }
check "rules and types that are fine" rules_taken
check "unknown codec in the environment" refused_with THINWIRE_CODEC=tree9 2 "THINWIRE_CODEC: unknown codec 'tree9'" "${touch[@]}"
check "threshold that is no size" refused 2 '--threshold 64q: not a size; accepted: bytes' --threshold 64q "${touch[@]}"
check "negative threshold" refused 2 '--threshold -4: not a size' --threshold -4 "${touch[@]}"
thresholds() { run --threshold 0 -- true && run --threshold inf -- true && run --threshold 6 -- true; }
check "thresholds 0, inf, 6" thresholds
check "max-error 0" refused 2 '--max-error 0: accepted: .*a number above 0' --codec tree8 --max-error 0 "${touch[@]}"
check "max-error in percent" refused 2 '--max-error 2%: accepted' --codec tree8 --max-error 2% "${touch[@]}"
check "max-error inf" refused 2 '--max-error inf: accepted' --codec tree8 --max-error inf "${touch[@]}"
check "max-error 1e999" refused 2 '--max-error 1e999: accepted' --codec tree8 --max-error 1e999 "${touch[@]}"
check "an absolute bound of 0" refused 2 "--max-abs-error: codec abs: E '0' is not accepted" --max-abs-error 0 "${touch[@]}"
check "an absolute bound beside a codec" refused 2 '--max-abs-error 1 names the codec abs:E' --max-abs-error 1 --codec tree8 "${touch[@]}"
check "verify -1" refused 2 "--verify '-1': accepted: a whole number, 0 to " --verify -1 "${touch[@]}"
check "threads 0" refused 2 "--threads '0': accepted: a whole number, 1 to 1024" --threads 0 "${touch[@]}"
check "unknown MPI" refused 2 '--mpi lam: accepted: openmpi, mpich' --mpi lam "${touch[@]}"
check "missing file of rules" refused 2 "--rules $scratch/missing: No such file" --rules "$scratch/missing" "${touch[@]}"
check "folder of rules" refused 2 "--rules $scratch: Is a directory" --rules "$scratch" "${touch[@]}"
check "missing file of rules in the environment" refused_with THINWIRE_RULES_FILE="$scratch/nowhere" 2 "THINWIRE_RULES_FILE $scratch/nowhere: No such" "${touch[@]}"
check "malformed setting in the environment" refused_with THINWIRE_WINDOW=99 2 '.*THINWIRE_WINDOW=99.*1\.\.8' "${touch[@]}"
check "a contract that is not verified" refused 2 '--verify 0 contradicts the error contract (--max-error)' \
    --codec tree8 --max-error 0.1 --verify 0 "${touch[@]}"
check "the environment's contract not verified" refused_with THINWIRE_MAX_ERROR=0.1 2 \
    '--verify 0 contradicts the error contract (THINWIRE_MAX_ERROR)' --codec tree8 --verify 0 "${touch[@]}"
check "a contract without codec" refused 2 '--max-error without a codec' --max-error 0.1 "${touch[@]}"
agreeable() {
    run --max-error 0.1 --rule 'bcast=tree8' -- true && THINWIRE_CODEC=tree8 run --max-error 0.1 -- true &&
        run --verify 0 --codec tree8 -- true && run --codec fp32 --error-feedback -- true &&
        THINWIRE_MAX_ERROR=0.1 run -- true
}
check "what only looks contradictory" agreeable
check "program that is not there" refused 127 "$scratch/missing: no such program" -- "$scratch/missing"
check "program that is not in PATH" refused 127 'thinwire-missing: no such program' -- thinwire-missing
check "program that cannot be executed" refused 126 "$scratch/before: Permission denied" -- "$scratch/before"
check "folder as program" refused 126 "$scratch: Permission denied" -- "$scratch"

silently() { # STATUS WHAT: how the last run ended
    local status=$?
    if [ $status -ne "$1" ] || [ -s "$scratch/out" ]; then
        echo "$2: status $status, or not silent"
        return 1
    fi
}
one_rank_speaks() ( # what it exports ends with it
    local name
    for name in OMPI_COMM_WORLD_RANK PMI_RANK PMIX_RANK SLURM_PROCID; do
        refused_with $name=0 2 "--codec: unknown codec" --codec tree9 true || return 1
        export $name=1
        run --codec tree9 true
        silently 2 "$name" || return 1
        [ "$name" = PMI_RANK ] || { unset $name; continue; }
        THINWIRE_WINDOW=99 run true
        silently 2 "$name and a setting" || return 1
        run -- "$scratch/missing"
        silently 127 "$name and a missing program" || return 1
        unset $name
    done
)
check "only rank 0 says what is wrong" one_rank_speaks

job_refused() {
    ranks 3 sh -c '"$@"; echo $? >>"$left"' sh "$tree/bin/thinwire" run --codec tree9 -- true || return 1
    all_left 3 2 && [ "$(grep -c '^thinwire: ' "$scratch/out")" -eq 1 ]
}
check "3 ranks: one line, and all leave with 2" job_refused
speaks_late() { # mpirun ends rank 0 once another one has failed
    ! ranks 2 sh -c '[ "${OMPI_COMM_WORLD_RANK:-${PMI_RANK:-1}}" -ne 0 ] || sleep 0.2; exec "$@"' \
        sh "$tree/bin/thinwire" run --codec tree9 -- true && grep -q '^thinwire: ' "$scratch/out"
}
check "rank 0 is late: still one line" speaks_late

# ---- which library ------------------------------------------------------------------------------

linked() { # NAME SONAME: a program that asks for a library of that name
    local program=$scratch/$1
    mkdir -p "$scratch/named" && library "$scratch/lib$1.so" "$2" && ln -sf "../lib$1.so" "$scratch/named/$2" && echo 'void tw_stand_in_call(void); int main(void) { tw_stand_in_call(); return 0; }' >"$program.c" &&
        $compiler -o "$program" "$program.c" "$scratch/lib$1.so" -Wl,-rpath,"$scratch/named" && run --print -- "$program"
}
linked_openmpi() {
    local name
    for name in libmpi.so.40 libmpi_mpifh.so.40 libmpi_usempif08.so.40; do
        linked "program-$name" $name && chosen openmpi || return 1
    done
}
check "programs linked with Open MPI" linked_openmpi
linked_mpich() {
    local name
    for name in libmpich.so.12 libmpi.so.12 libmpichfort.so.12 libmpifort.so.12; do
        linked "program-$name" $name && chosen mpich || return 1
    done
}
check "programs linked with MPICH" linked_mpich
linked_neither() { linked program-none libmpicture.so.1 && chosen "$built"; }
check "programs linked with neither" linked_neither

# with_mpi NAME: a real program, alone and under its own launcher
with_mpi() {
    printf '#include <mpi.h>\n#include <stdio.h>\nint main(void) { int n; MPI_Init(NULL, NULL); %s MPI_Finalize(); return 0; }\n' \
        'MPI_Comm_size(MPI_COMM_WORLD, &n); printf("ranks %d\n", n);' >"$scratch/mpi.c"
    "mpicc.$1" -o "$scratch/mpi-$1" "$scratch/mpi.c" && run --print -- "$scratch/mpi-$1" && chosen "$1" || return 1
    MPIRUN=mpirun.$1 ranks 2 "$tree/bin/thinwire" run --print -- /bin/sh && chosen "$1" &&
        [ "$(grep -c '^export LD_PRELOAD' "$scratch/out")" -eq 1 ] || return 1
    MPIRUN=mpirun.$1 ranks 2 "$tree/bin/thinwire" run -- "$scratch/mpi-$1" && [ "$(grep -c '^ranks 2$' "$scratch/out")" -eq 2 ]
}
for name in openmpi mpich; do
    if command -v "mpicc.$name" "mpirun.$name" >/dev/null; then
        check "a program over $name, alone and under its launcher" with_mpi $name
    else
        skip "a program over $name, alone and under its launcher" "no mpicc.$name"
    fi
done

launchers() {
    OMPI_COMM_WORLD_SIZE=1 run --print -- sh && chosen openmpi && PMI_SIZE=1 MPI_LOCALNRANKS=1 run --print -- sh && chosen mpich &&
        PMI_SIZE=1 HYDI_CONTROL_FD=7 run --print -- sh && chosen mpich && PMI_SIZE=1 run --print -- sh && chosen "$built" &&
        OMPI_COMM_WORLD_SIZE=1 PMI_SIZE=1 MPI_LOCALNRANKS=1 run --print -- sh && chosen "$built"
}
check "the launcher decides where the program says nothing" launchers

program_knows_better() {
    OMPI_COMM_WORLD_SIZE=1 run --print -- "$scratch/program-libmpich.so.12" && chosen mpich &&
        grep -q '^thinwire: warning: .*is linked with MPICH, but the launcher is that of Open MPI$' "$scratch/out" &&
        OMPI_COMM_WORLD_SIZE=1 OMPI_COMM_WORLD_RANK=1 run -- "$scratch/program-libmpich.so.12" && [ ! -s "$scratch/out" ]
}
check "a program that is linked with another MPI than the launcher's" program_knows_better

told() {
    run --mpi mpich --print -- "$scratch/program-libmpi.so.40" && chosen mpich && [ "$(wc -l <"$scratch/out")" -eq 1 ] &&
        OMPI_COMM_WORLD_SIZE=1 run --mpi=mpich --print -- sh && chosen mpich && run --mpi openmpi --print -- sh && chosen openmpi
}
check "--mpi decides over all" told

patch() { # FILE OFFSET BYTE
    printf '%b' "\\x$(printf %x "$3")" | dd of="$1" bs=1 seek="$2" conv=notrunc status=none
}
looked_at() {
    local status
    run --print -- "$bad" >/dev/null
    status=$?
    [ $status -eq 0 ] || { cat "$scratch/out"; echo "$1: status $status"; return 1; }
}
damaged() { # cut short, with too many program headers, and with bytes changed at random
    local whole=$scratch/program-libmpi.so.40 bad=$scratch/damaged size i
    echo "THINWIRE_SEED=$seed"
    RANDOM=$seed
    size=$(wc -c <"$whole")
    cp "$whole" "$bad" && patch "$bad" 56 255 && patch "$bad" 57 255 && looked_at "65535 program headers" || return 1
    for ((i = 0; i < 40; i++)); do
        cp "$whole" "$bad" || return 1
        if ((i % 2)); then
            truncate -s $(((RANDOM * 32768 + RANDOM) % size)) "$bad"
        else
            for _ in 1 2 3 4; do
                patch "$bad" $((16 + RANDOM % (i % 4 ? 48 : 900))) $((RANDOM % 256)) || return 1
            done
        fi
        looked_at "case $i" || return 1
    done
}
check "damaged programs" damaged

static_program() {
    echo 'int main(void) { return 9; }' >"$scratch/static.c"
    $compiler -static -o "$scratch/static" "$scratch/static.c" || return 1
    run -- "$scratch/static"
    [ $? -eq 9 ] && [ "$(wc -l <"$scratch/out")" -eq 1 ] &&
        grep -q '^thinwire: warning: .*is linked statically: nothing can be intercepted' "$scratch/out" || return 1
    OMPI_COMM_WORLD_RANK=1 run -- "$scratch/static"
    [ $? -eq 9 ] && [ ! -s "$scratch/out" ]
}
check "a static program is run, with a warning" static_program

if compgen -G "$libdir/libthinwire-preload-*.so" >/dev/null; then
    skip "a library that was not built" "there is one in $libdir"
else
    not_built() {
        rm "$preload-mpich.so" &&
            refused 2 "no libthinwire-preload-mpich.so in $tree/lib or .*not built for programs over MPICH, but for Open MPI" --mpi mpich "${touch[@]}" &&
            rm "$preload-openmpi.so" && refused 2 'no libthinwire-preload-openmpi.so in .*without the drop-in' --mpi openmpi "${touch[@]}"
    }
    check "a library that was not built" not_built
fi

options_documented() {
    local option page=$top_srcdir/docs/thinwire-run.1.md
    run --help >/dev/null || return 1
    # shellcheck disable=SC2013  # words
    for option in $(grep -o '^  --[a-z0-9-]*' "$scratch/out"); do
        grep -q "^\*\*$option\*\*" "$page" || { echo "$option is not in thinwire-run(1)"; return 1; }
    done
    for option in $(grep -o '^\*\*--[a-z0-9-]*' "$page" | tr -d '*'); do
        grep -q "^  $option\b" "$scratch/out" || { echo "$option does not exist"; return 1; }
    done
}
check "every option stands in thinwire-run(1), and no other" options_documented
