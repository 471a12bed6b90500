#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# Programs as the distribution packages them, on 2 and 4 ranks: alone, watched by the drop-in (every byte
# of output is the same), and with a codec (what is not eligible is the same, the rest within a bar).
# Each run has a folder of its own with out, err, and, under the drop-in, report and json.
# shellcheck disable=SC1091,SC2153,SC2154  # set by make and by common.bash
. "$top_srcdir/tests/tools/common.bash"
apps=$top_srcdir/tests/apps
limit=${TW_TIME_LIMIT:-200}
python=/usr/bin/python3 # another one may come first in PATH, and have no mpi4py
mpirun=$(command -v mpirun.openmpi || echo "$MPIRUN") # what the packages are built with
for name in $(compgen -e THINWIRE_); do unset "$name"; done
unset LD_PRELOAD

drop_in=("$thinwire" run --report report --json json)
if sanitized; then # its runtime has to be the first library of these programs
    runtime=$($CC -print-file-name=libasan.so)
    drop_in=(env LD_PRELOAD="$runtime" ASAN_OPTIONS="$ASAN_OPTIONS:detect_leaks=0" "${drop_in[@]}")
fi

# start WHERE RANKS COMMAND...: fails if the command does.
start() {
    local where=$scratch/$1 n=$2 status
    shift 2
    mkdir -p "$where"
    (cd "$where" && exec timeout -k 5 "$limit" "$mpirun" -n "$n" "$@" </dev/null >out 2>err)
    status=$?
    echo "$where: status $status"
    tail -n 20 "$where/err"
    return $status
}

# rows WHERE KEY...: a line for each row of the report, the keys' values with | between them.
rows() {
    local file=$scratch/$1/json count row key
    local paths=() between=()
    shift
    count=$("$json_query" "$file" 'rows.#') || return 1
    for ((row = 0; row < count; row++)); do
        for key; do paths+=("rows.$row.$key"); done
    done
    for key; do between+=(-); done
    "$json_query" "$file" "${paths[@]}" | paste -d '|' "${between[@]}"
}

# compressed WHERE OPERATION TYPE CODEC: how many of these calls were.
compressed() {
    rows "$1" operation type codec compressed_calls |
        awk -F '|' -v op="$2" -v type="$3" -v codec="$4" '
            $1 == op && $2 == type && $3 == codec { n += $4 }
            END { print n + 0 }'
}

# watched WHERE RANKS OPERATION TYPE: the report is of all ranks, has such calls, and says that nothing
# was changed.
watched() {
    local want="true $2 $2 0" got
    got=$("$json_query" "$scratch/$1/json" watching ranks heard totals.compressed_calls | tr '\n' ' ')
    [ "$got" = "$want " ] || { echo "watching, ranks, heard, compressed: $got"; return 1; }
    rows "$1" operation type calls | grep -q "^$3|$4|[1-9]" || { echo "no $3 of $4 was seen"; return 1; }
    [ -s "$scratch/$1/report" ] || { echo "no report"; return 1; }
}

# same A B FILE...: these files are there and have the same bytes.
same() {
    local a=$scratch/$1 b=$scratch/$2 file
    shift 2
    for file; do
        cmp "$a/$file" "$b/$file" || { diff "$a/$file" "$b/$file" | head -n 20; return 1; }
    done
}
above() { awk -v v="$1" -v low="$2" 'BEGIN { exit !(v + 0 > low + 0) }' || { echo "$1 is not above $2"; return 1; }; }

# encoded COMMAND...: lossless codecs, but every call that can be encoded is. "moves": those alone that add
# nothing, whose results are the same bits; sums are added in rank order.
encoded() { THINWIRE_ENCODE=always THINWIRE_ALLREDUCE=two_pass "$@"; }
moves=(--rules "$scratch/moves.rules")
for operation in bcast allgather allgatherv alltoall alltoallv; do
    echo "$operation:double=bitpack:8"
    echo "$operation=bitpack:4"
done >"$scratch/moves.rules"
all=(--codec bitpack:4 --rule double=bitpack:8)
# went WHERE OPERATION TYPE CODEC: some of these calls were encoded.
went() { above "$(compressed "$@")" 0; }

# ---- sgd.py --------------------------------------------------------------------------------------

sgd() { start "$1" "$2" "${@:3}" "$python" "$apps/sgd.py" "$2"; }
sgd_loss() { awk '/^final loss/ { print $3 }' "$scratch/$1/out"; }
sgd_plain() { sgd "sgd.$1" "$1" && within "$(sgd_loss "sgd.$1")" 0.05 0.5; }
sgd_watched() {
    sgd "sgd.watched.$1" "$1" "${drop_in[@]}" -- && same "sgd.$1" "sgd.watched.$1" out err &&
        watched "sgd.watched.$1" "$1" allreduce float
}
sgd_tree8() {
    local where=sgd.tree8.$1 loss
    sgd "$where" "$1" "${drop_in[@]}" --codec tree8 -- || return 1
    [ "$(compressed "$where" allreduce float tree8)" -eq $((200 * $1)) ] || { echo "not all are compressed"; return 1; }
    loss=$(awk -v a="$(sgd_loss "sgd.$1")" -v b="$(sgd_loss "$where")" 'BEGIN { print b / a }')
    echo "the loss is $loss of the exact one"
    within "$loss" 0.98 1.02 && same "sgd.$1" "$where" err
}
sgd_all() {
    check "mpi4py SGD on $1 ranks" sgd_plain "$1"
    check "mpi4py SGD on $1 ranks, watched: the same bytes" sgd_watched "$1"
    check "mpi4py SGD on $1 ranks, tree8: the loss within 2 %" sgd_tree8 "$1"
}

# ---- collectives.py ------------------------------------------------------------------------------

collectives_plain() {
    start "coll.$1" "$1" "$python" "$apps/collectives.py" "$1" &&
        grep -q '^all cases are right$' "$scratch/coll.$1/out"
}
collectives_watched() {
    start "coll.watched.$1" "$1" "${drop_in[@]}" -- "$python" "$apps/collectives.py" "$1" &&
        same "coll.$1" "coll.watched.$1" out err && watched "coll.watched.$1" "$1" iallreduce 'float complex'
}
# The program itself judges what is compressed; the rest has the digests of before.
collectives_lossy() { # CODEC TYPES BAR PART RANKS
    local where=coll.$1.$5
    start "$where" "$5" "${drop_in[@]}" --codec "$1" --threshold 8k -- \
        "$python" "$apps/collectives.py" "$5" "$2" "$3" "$4" || return 1
    awk 'NR == FNR { want[$0] = 1; next }
         / lossy$/ { lossy++; next }
         !($0 in want) { print "changed: " $0; bad = 1 }
         END { print lossy + 0, "of", FNR, "lines are lossy"; exit bad || lossy < 60 || FNR != NR - FNR }' \
        "$scratch/coll.$5/out" "$scratch/$where/out" && same "coll.$5" "$where" err
}
collectives_all() {
    check "mpi4py collectives on $1 ranks" collectives_plain "$1"
    check "mpi4py collectives on $1 ranks, watched: the same bytes" collectives_watched "$1"
    check "mpi4py collectives on $1 ranks, all that moves encoded: the same bytes" collectives_moved "$1"
    check "mpi4py collectives on $1 ranks, all encoded: right" collectives_encoded "$1"
    # tree8 is measured at 0.011 to 0.016 here, bitpack:6 at 6e-12.
    check "mpi4py collectives on $1 ranks, tree8: float within 5 %, the rest the same bytes" \
        collectives_lossy tree8 f4,c8 0.05 0.251 "$1"
    check "mpi4py collectives on $1 ranks, bitpack:6: doubles within 3e-11, the rest the same bytes" \
        collectives_lossy bitpack:6 f8,c16 3e-11 0.75 "$1"
}

collectives_moved() {
    local where=coll.moved.$1
    encoded start "$where" "$1" "${drop_in[@]}" "${moves[@]}" -- "$python" "$apps/collectives.py" "$1" &&
        same "coll.$1" "$where" out err && went "$where" alltoallv MPI_INT bitpack:4 &&
        went "$where" iallgather 'double complex' bitpack:8 && went "$where" bcast 'derived(float)' bitpack:4
}
collectives_encoded() { # the program judges its sums
    local where=coll.encoded.$1
    encoded start "$where" "$1" "${drop_in[@]}" "${all[@]}" -- "$python" "$apps/collectives.py" "$1" &&
        grep -q '^all cases are right$' "$scratch/$where/out" && went "$where" allreduce float bitpack:4 &&
        went "$where" reduce double bitpack:8
}

# ---- LAMMPS --------------------------------------------------------------------------------------

# The transposes of PPPM's Fourier transforms are MPI_Alltoallv. Their numbers are of LAMMPS's FFT_SCALAR:
# double in these packages (FFTW3), float where it was built with FFT_SINGLE.
lammps() { start "$1" "$2" "${@:3}" lmp -in "$apps/lammps.in" -log none && lammps_untimed "$1" "$2"; }
lammps_untimed() { # all but times goes to `untimed`
    sed -E -e '/CPU = /d; /^Loop time of /d; /^Performance: /d; /% CPU use with /d; /^Total wall time/d' \
        -e '/^MPI task timing breakdown/,/^Other /d' "$scratch/$1/out" >"$scratch/$1/untimed"
    grep -q "^Loop time of .* on $2 procs for 40 steps with 1728 atoms" "$scratch/$1/out" ||
        { tail "$scratch/$1/out"; return 1; }
}
lammps_watched() {
    lammps "lammps.watched.$1" "$1" "${drop_in[@]}" -- && same "lammps.$1" "lammps.watched.$1" untimed err atoms.txt &&
        watched "lammps.watched.$1" "$1" alltoallv double
}
# The largest deviation in a column of the thermodynamic output, relative to the largest value there.
lammps_deviation() { # A B
    awk 'function abs(x) { return x < 0 ? -x : x }
         /^Step Temp/ { on = 1; next }
         /^Loop time/ { on = 0 }
         !on { next }
         NR == FNR { for (i = 2; i <= 8; i++) { value[$1, i] = $i; if (abs($i) > most[i]) most[i] = abs($i) } }
         NR != FNR { rows++; for (i = 2; i <= 8; i++) { d = abs($i - value[$1, i]) / most[i]; if (!(d <= worst)) worst = d } }
         END { print rows == 9 ? worst : "not 9 rows" }' "$scratch/$1/out" "$scratch/$2/out"
}
# Measured: 1e-13 on 2 ranks and 3e-13 on 4, in the long-range energy. bitpack:5 would give 2e-11 and 7e-11,
# bitpack:2 4e-4 and 1e-3.
lammps_bitpack() {
    local where=lammps.bitpack.$1 deviation
    lammps "$where" "$1" "${drop_in[@]}" --codec bitpack:6 --threshold 1k -- || return 1
    above "$(compressed "$where" alltoallv double bitpack:6)" 0 || return 1
    deviation=$(lammps_deviation "lammps.$1" "$where")
    echo "deviation $deviation"
    above "$deviation" 0 && within "$deviation" 0 3e-12 && same "lammps.$1" "$where" err
}
lammps_tree8() { # without --double
    local where=lammps.tree8.$1
    lammps "$where" "$1" "${drop_in[@]}" --codec tree8 --threshold 1k -- && same "lammps.$1" "$where" untimed err atoms.txt &&
        above "$("$json_query" "$scratch/$where/json" totals.reasons.double.calls)" 0
}
lammps_moved() {
    local where=lammps.moved.$1
    encoded lammps "$where" "$1" "${drop_in[@]}" "${moves[@]}" -- && same "lammps.$1" "$where" untimed err atoms.txt &&
        went "$where" alltoallv double bitpack:8 && went "$where" bcast MPI_INT bitpack:4
}
lammps_all() {
    check "LAMMPS on $1 ranks" lammps "lammps.$1" "$1"
    check "LAMMPS on $1 ranks, all that moves encoded: the same bytes but for times" lammps_moved "$1"
    check "LAMMPS on $1 ranks, watched: the same bytes but for times" lammps_watched "$1"
    check "LAMMPS on $1 ranks, tree8: doubles stay as they are" lammps_tree8 "$1"
    check "LAMMPS on $1 ranks, bitpack:6: energies within 3e-12" lammps_bitpack "$1"
}

# ---- HPCC ----------------------------------------------------------------------------------------

hpcc_run() {
    local where=$scratch/$1
    mkdir -p "$where" && sed "11s/^2/$(($2 / 2))/" "$apps/hpccinf.txt" >"$where/hpccinf.txt"
    start "$1" "$2" "${@:3}" hpcc && hpcc_verified "$1" "$2"
}
# What HPCC verifies, without times and rates, goes to `verified`. The matrices of DGEMM are new ones in each run. Of
# PTRANS, lines by the processor's clock are left out: there are none where it has not moved.
hpcc_verified() {
    awk '/^CPU +[0-9]/ { next }
         /^WALL +[0-9]/ { print $1, $2, $3, $4, $5, $6, $7, $9, $11; next }
         /^Scaled residual:/ { print "DGEMM", ($3 < 16 ? "is fine" : $0); next }
         /PASSED|FAILED|passed|failed|errors? |^(Begin|End) of .* section|Validates|^max\(/ { print; next }
         /^(Success|CommWorldProcs|HPL_.norm[1I]?|.*_residual|.*_Errors|.*_ErrorsFraction|.*_maxErr|.*_[Nn])=/ { print }' \
        "$scratch/$1/hpccoutf.txt" >"$scratch/$1/verified"
    if ! grep -q '^End of HPL section' "$scratch/$1/verified" || ! grep -q -x "CommWorldProcs=$2" "$scratch/$1/verified"; then
        tail "$scratch/$1/hpccoutf.txt"
        return 1
    fi
}
hpcc_plain() { hpcc_run "hpcc.$1" "$1" && grep -q -x 'Success=1' "$scratch/hpcc.$1/verified"; }
hpcc_watched() {
    hpcc_run "hpcc.watched.$1" "$1" "${drop_in[@]}" -- && same "hpcc.$1" "hpcc.watched.$1" verified out err &&
        watched "hpcc.watched.$1" "$1" alltoall 'derived(double)'
}
hpcc_tree8() { # without --double
    local where=hpcc.tree8.$1
    hpcc_run "$where" "$1" "${drop_in[@]}" --codec tree8 --threshold 1k -- && same "hpcc.$1" "$where" verified out err &&
        above "$("$json_query" "$scratch/$where/json" totals.reasons.double.calls)" 0
}
# The transposes of MPIFFT are then rounded to 36 bits, and it says so: 4e-11 was measured, 1e-15 without. Nothing
# else moves large doubles by a collective.
hpcc_bitpack() {
    local where=hpcc.bitpack.$1
    hpcc_run "$where" "$1" "${drop_in[@]}" --codec bitpack:6 --threshold 1k -- || return 1
    above "$(compressed "$where" alltoall 'derived(double)' bitpack:6)" 0 || return 1
    within "$(sed -n 's/^MPIFFT_maxErr=//p' "$scratch/$where/verified")" 1e-13 4e-10 || return 1
    diff <(hpcc_beside_fft "hpcc.$1") <(hpcc_beside_fft "$where") && same "hpcc.$1" "$where" err
}
hpcc_beside_fft() { sed '/^Begin of MPIFFT/,/^End of MPIFFT/d; /^MPIFFT_maxErr=/d; /^Success=/d' "$scratch/$1/verified"; }
hpcc_moved() {
    local where=hpcc.moved.$1
    encoded hpcc_run "$where" "$1" "${drop_in[@]}" "${moves[@]}" -- && same "hpcc.$1" "$where" verified out err &&
        went "$where" alltoall 'derived(double)' bitpack:8 && went "$where" bcast MPI_INT bitpack:4
}
hpcc_all() {
    check "HPCC on $1 ranks" hpcc_plain "$1"
    check "HPCC on $1 ranks, all that moves encoded: the same results" hpcc_moved "$1"
    check "HPCC on $1 ranks, watched: the same results" hpcc_watched "$1"
    check "HPCC on $1 ranks, tree8: doubles stay as they are" hpcc_tree8 "$1"
    check "HPCC on $1 ranks, bitpack:6: its FFT within 4e-10" hpcc_bitpack "$1"
}

# ---- cp2k, GPAW, SLEPc ---------------------------------------------------------------------------

# Programs whose result is a few numbers, which go to `numbers`: cp2k, the energy of a molecule, by Fourier transforms
# whose transposes are MPI_Alltoallv of doubles; GPAW, the energy of a crystal, by sums of densities; SLEPc,
# eigenvalues, by products that gather a vector.
numbers() { # PROGRAM WHERE RANKS [DROP-IN...]
    "$@" && sed -n 's/^ ENERGY|.*: *//p; s/^energy //p; s/^mode //p' "$scratch/$2/out" >"$scratch/$2/numbers" &&
        [ -s "$scratch/$2/numbers" ]
}
cp2k() { OMP_NUM_THREADS=1 start "$1" "$2" "${@:3}" cp2k -i "$apps/water.inp"; }
gpaw() { OMP_NUM_THREADS=1 start "$1" "$2" "${@:3}" "$python" "$apps/silicon.py"; }
slepc() { OMP_NUM_THREADS=1 start "$1" "$2" "${@:3}" "$python" "$apps/modes.py" 1600; }
slepc_there() { # without an alternative /usr/lib/slepc, Debian's modules are found by these
    SLEPC_DIR=$(compgen -G '/usr/lib/slepcdir/*/*-real' | tail -n 1)
    PETSC_DIR=$(compgen -G '/usr/lib/petscdir/*/*-real' | tail -n 1)
    export SLEPC_DIR PETSC_DIR
    "$python" -c 'from slepc4py import SLEPc'
}
numbers_type() { if [ "$1" = cp2k ]; then echo 'double complex'; else echo double; fi; }
# The largest deviation of B's numbers, relative to the largest of A's.
numbers_near() { # A B BAR
    paste "$scratch/$1/numbers" "$scratch/$2/numbers" | awk -v bar="$3" '
        function abs(x) { return x < 0 ? -x : x }
        NF != 2 { bad = 1 }
        { d = abs($1 - $2); if (!(d <= worst)) worst = d; if (abs($1) > most) most = abs($1) }
        END { print "deviation", worst / most; exit bad || !(worst <= bar * most) }'
}
numbers_watched() { # PROGRAM RANKS OPERATION BAR: GPAW's last digits differ from run to run
    local where=$1.watched.$2
    numbers "$1" "$where" "$2" "${drop_in[@]}" --threshold 1k -- && numbers_near "$1.$2" "$where" "$4" &&
        watched "$where" "$2" "$3" "$(numbers_type "$1")" && grep '  int:32 .* 2\.3e-10$' "$scratch/$where/report"
}
numbers_within() { # PROGRAM RANKS OPERATION CODEC BAR OPTION...
    local where=$1.$4.$2
    numbers "$1" "$where" "$2" "${drop_in[@]}" "${@:6}" -- && went "$where" "$3" "$(numbers_type "$1")" "$4" &&
        numbers_near "$1.$2" "$where" "$5"
}
numbers_lossless() { THINWIRE_ENCODE=always numbers_within "$1" "$2" "$3" bitpack:8 "$4" "${all[@]}"; } # sums in node memory
numbers_all() { # PROGRAM RANKS OPERATION BAR, CODEC BAR...: of what is lossless, and of each codec
    local program=$1 n=$2 operation=$3 bar=$4
    check "$program on $n ranks" numbers "$program" "$program.$n" "$n"
    check "$program on $n ranks, watched: within $bar" numbers_watched "$program" "$n" "$operation" "$bar"
    check "$program on $n ranks, all encoded: within $bar" numbers_lossless "$program" "$n" "$operation" "$bar"
    shift 4
    while [ $# -gt 0 ]; do
        check "$program on $n ranks, $1: within $2" numbers_within "$program" "$n" "$operation" "$1" "$2" \
            --rule "${operation#i}:double:>=1k=$1"
        shift 2
    done
}
# Measured on 2 and 4 ranks: cp2k int:32 2e-11, 5e-11, int:24 8e-9, 6e-9, SLEPc int:32 4e-12, 3e-12. GPAW int:24 4e-13 on
# 2, int:12 9e-8; with int:32 its own last digits differ as much, 6e-14.
cp2k_all() { numbers_all cp2k "$1" alltoallv 1e-11 int:32 1e-9 int:24 1e-6; }
gpaw_all() { numbers_all gpaw "$1" allreduce 1e-11 int:24 1e-10; }
slepc_all() { numbers_all slepc "$1" iallgather 1e-12 int:32 1e-10; }

# ---- mpi4py's own tests --------------------------------------------------------------------------

# Without those that start processes, which now and then hang in Open MPI 4.1 alone.
mpi4py=$top_builddir/mpi4py
suite() {
    limit=900 start "$1" "$2" "${@:3}" "$mpi4py/bin/python" "$mpi4py/source/test/main.py" --no-builddir -q -e spawn -e dynproc &&
        grep -oE 'Ran [0-9]+ tests|OK \(skipped=[0-9]+\)|FAILED .*' "$scratch/$1/err" | sort >"$scratch/$1/sum" && # of all ranks, in any order
        grep -q '^OK' "$scratch/$1/sum"
}
suite_watched() { suite "suite.watched.$1" "$1" "${drop_in[@]}" -- && same "suite.$1" "suite.watched.$1" sum && [ -s "$scratch/suite.watched.$1/json" ]; }
suite_encoded() {
    encoded suite "suite.encoded.$1" "$1" "${drop_in[@]}" "${all[@]}" -- && same "suite.$1" "suite.encoded.$1" sum &&
        went "suite.encoded.$1" allgather MPI_INT bitpack:4
}
suite_all() {
    check "mpi4py's tests on $1 ranks" suite "suite.$1" "$1"
    check "mpi4py's tests on $1 ranks, watched" suite_watched "$1"
    check "mpi4py's tests on $1 ranks, all that can be encoded" suite_encoded "$1"
}

# ---- PyTorch's own tests of torch.distributed ----------------------------------------------------

torch=$top_builddir/torch
source=$top_builddir/pytorch/test/distributed
# torch_suite NAME BACKEND LAUNCHER RANKS [PATTERN SOURCE...]: a line for each test in $scratch/torch.NAME.LAUNCHER.BACKEND; one
# that ends the job is not run again, nor, of a source, what did not pass with gloo.
torch_suite() {
    local to=$scratch/torch.$1.${3##*/}.$2
    : >"$to"
    [ $# = 4 ] || [ "$2" = gloo ] || awk -F '\t' '$2 != "ok" && NF > 2' "$scratch/torch.$1.${3##*/}.gloo" >"$to"
    for _ in {1..12}; do
        MASTER_PORT=$((20000 + RANDOM % 9000)) GLOO_SOCKET_IFNAME=lo THINWIRE_LIBRARY=$top_builddir/lib/libthinwire.so \
            PYTHONPATH=$top_srcdir/python PYTHONWARNINGS=ignore \
            timeout -k 5 400 "$3" -n "$4" "$torch/bin/python" "$apps/torch_suite.py" "$2" "$to" "${@:5}" >>"$scratch/torch.out" 2>&1
        grep -q '^end$' "$to" && return
        echo "ended the job" >>"$to"
    done
    tail -n 20 "$scratch/torch.out"
    return 1
}
# torch_passes NAME LAUNCHER LEAST: what passes with gloo passes, at least so many; but for what wants the name "gloo", or an
# error where tensors of several types or sizes, or with gaps, are taken.
torch_passes() {
    awk -F '\t' -v least="$3" '$1 ~ /test_ddp_logging_data_cpu|for_all_backends|gloo_pg_timeout|(allgather|allreduce_coalesced)_checks|to_all_single$/ { next }
        NR == FNR { if ($2 == "ok") { want[$1] = 1; n++ }; next }
        $1 in want && $2 == "ok" { delete want[$1] }
        END { for (name in want) print name; print n, "pass with gloo"; for (name in want) exit 1; exit n < least }' \
        "$scratch/torch.$1.${mpirun##*/}.gloo" "$scratch/torch.$1.${2##*/}.thinwire"
}
torch_tests() { # LAUNCHER
    { [ -e "$scratch/torch.wheel.${mpirun##*/}.gloo" ] || torch_suite wheel gloo "$mpirun" 3; } &&
        torch_suite wheel thinwire "$1" 3 && torch_passes wheel "$1" 90
}
torch_files() { # NAME LEAST PATTERN FILE...
    torch_suite "$1" gloo "$mpirun" 4 "$3" "${@:4}" && torch_suite "$1" thinwire "$mpirun" 4 "$3" "${@:4}" && torch_passes "$1" "$mpirun" "$2"
}

# ---- launchers of PyTorch's programs -------------------------------------------------------------

# launched with|without WAY LAUNCHER...: launch.py on 2 ranks is right, its messages MPI's or without MPI.
launched() {
    (cd "$scratch" && THINWIRE_LIBRARY=$top_builddir/lib/libthinwire.so PYTHONPATH=$top_srcdir/python PYTHONWARNINGS=ignore \
        GLOO_SOCKET_IFNAME=lo exec timeout -k 5 "$limit" "${@:3}" "$apps/launch.py" "$2" 2 </dev/null >launched.out 2>&1)
    grep -q "^right: 2 ranks $1 MPI$" "$scratch/launched.out" || { cat "$scratch/launched.out"; return 1; }
}
python_torch=$torch/bin/python
torchrun() { launched without "$1" "$python_torch" -m torch.distributed.run --nproc-per-node 2 --master-port $((20000 + RANDOM % 9000)); }
launch_torch() {
    check "mpirun" launched with plain "$mpirun" -n 2 "$python_torch"
    check "torchrun" torchrun plain
    check "torchrun: the hook, beside gloo" torchrun own
}
launch_accelerate() {
    echo localhost slots=2 >"$scratch/hosts"
    check "accelerate launch, by mpirun" launched with accelerate env "PATH=$(dirname "$mpirun"):$PATH" \
        "$torch/bin/accelerate" launch --cpu --num_processes 2 --num_machines 1 --mpirun_hostfile "$scratch/hosts"
    check "Accelerate by torchrun" torchrun accelerate
}
launch_lightning() {
    check "Lightning by itself" launched without lightning "$python_torch"
    check "Lightning by mpirun" launched with lightning "$mpirun" -n 2 "$python_torch"
    check "Lightning by torchrun" torchrun lightning
}
launch_slurm() {
    # shellcheck source=tests/apps/slurm.bash disable=SC1091
    . "$apps/slurm.bash"
    trap 'slurm_down; rm -rf "$scratch"' EXIT
    check "a cluster of Slurm's" slurm_up "$scratch/slurm"
    check "srun --mpi=pmix" launched with plain srun -n 2 --mpi=pmix "$python_torch"
    check "srun without PMI" launched without plain srun -n 2 --mpi=none "$python_torch"
    slurm_down
}
slurm_there() {
    [ "$(id -u)" = 0 ] && command -v slurmctld && command -v slurmd && command -v srun && command -v munged &&
        "$python_torch" -c 'import torch'
}
there() { # WHAT NEEDS FUNCTION COMMAND...: where the command fails, something is missing
    if "${@:4}" >/dev/null 2>&1; then "$3"; else skip "$1" "needs $2"; fi
}

# ---- all -----------------------------------------------------------------------------------------

nothing() { echo "1..0 # SKIP $1"; exit 0; }
[ -e "$top_builddir/lib/libthinwire-preload-openmpi.so" ] || nothing "the drop-in was built without Open MPI"
"$mpirun" --version 2>/dev/null | grep -q -E 'OpenRTE|Open MPI' || nothing "the packages need the mpirun of Open MPI"

both() { # NAME FUNCTION PACKAGES COMMAND...: where the command fails, the packages are missing
    local n
    for n in 2 4; do
        if "${@:4}" >/dev/null 2>&1; then "$2" "$n"; else skip "$1 on $n ranks" "needs the packages $3"; fi
    done
}
both "mpi4py SGD" sgd_all "python3-mpi4py python3-numpy" "$python" -c 'import mpi4py, numpy'
both "mpi4py collectives" collectives_all "python3-mpi4py python3-numpy" "$python" -c 'import mpi4py, numpy'
both "mpi4py's tests" suite_all "of PyPI (./quickstart check --apps)" "$mpi4py/bin/python" -c 'import mpi4py, numpy'
if "$torch/bin/python" -c 'import expecttest, torch' >/dev/null 2>&1; then
    check "PyTorch's tests of torch.distributed, by the backend" torch_tests "$mpirun"
    check "PyTorch's tests of torch.distributed, by the backend without MPI" torch_tests "$top_srcdir/tests/store/start.sh"
else
    skip "PyTorch's tests of torch.distributed, by the backend" "needs PyTorch and expecttest (./quickstart check --apps)"
fi
if [ -e "$torch" ] && [ -e "$source/test_c10d_gloo.py" ]; then # without what compiles, or lasts
    tests='^(?!.*(compile|stress|convolution|cuda|e2e_async|save_load_import|baddbmm|test_index$))'
    check "PyTorch's tests of gloo, by the backend" torch_files c10d 60 "$tests" "$source"/test_c10d_{gloo,common}.py
    check "PyTorch's tests of DTensor, by the backend" torch_files tensor 90 "$tests" \
        "$source"/_tensor/test_{api,dtensor,embedding_ops,experimental_ops,init,math_ops,matrix_ops,redistribute,tensor_ops}.py \
        "$source"/tensor/parallel/test_{parallelize_api,tp_style}.py "$source"/test_device_mesh.py
    check "PyTorch's tests of checkpoints, by the backend" torch_files checkpoint 8 "$tests" \
        "$source"/checkpoint/{test_{dtensor_checkpoint,dtensor_resharding,save_load_api,state_dict_utils,tp_checkpoint},e2e/test_e2e_save_and_load}.py
else
    skip "PyTorch's tests of gloo, DTensor and checkpoints, by the backend" "needs PyTorch's source (./quickstart check --apps)"
fi
there "launchers of PyTorch's programs" "PyTorch (./quickstart check --apps)" launch_torch "$torch/bin/python" -c 'import torch'
there "accelerate launch" "accelerate of PyPI (./quickstart check --apps)" launch_accelerate "$torch/bin/python" -c 'import accelerate'
there "Lightning" "lightning of PyPI (./quickstart check --apps)" launch_lightning "$torch/bin/python" -c 'import lightning'
there "srun" "root, PyTorch and the packages slurmctld, slurmd, slurm-client, munge" launch_slurm slurm_there
both "LAMMPS" lammps_all "lammps" command -v lmp
both "HPCC" hpcc_all "hpcc" command -v hpcc
both "cp2k" cp2k_all "cp2k" command -v cp2k
both "GPAW" gpaw_all "gpaw" "$python" -c 'import gpaw'
both "SLEPc" slepc_all "python3-slepc4py-real" slepc_there
plan "$number"
