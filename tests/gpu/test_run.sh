#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# tests/gpu/test_run.sh - tests/gpu/run refuses what it does not know, says that it is skipped where there is
# no device, and does the right things in the right order with compilers and mpirun that only pretend. Where
# there is a device, the run itself is left to whoever asks for it. What it runs on two ranks is run here
# with a stub for a device.
: "${top_builddir:?}" "${top_srcdir:?}" "${MPIRUN:?}"
run=$top_srcdir/tests/gpu/run
accepted='--quick, --part NAME, --no-measure, --no-ranks, --build DIR, --train COMMAND'
scratch=$(mktemp -d "${TMPDIR:-/tmp}/thinwire-test.XXXXXX") || exit 1
trap 'rm -rf "$scratch"' EXIT
number=0
tell() { # STATUS NAME, and what there is to say if that is not 0
    number=$((number + 1))
    if test "$1" != 0; then
        printf '%s\n' "$3" | sed 's/^/# /'
        printf 'not '
    fi
    echo "ok $number - $2"
}

message=$(bash "$run" --wrong 2>&1)
status=$?
test $status = 2 && test "$message" = "tests/gpu/run: unknown option '--wrong'; accepted: $accepted"
tell $? "an unknown option" "$status $message"

message=$(bash "$run" --part trains 2>&1)
status=$?
test $status = 2 && test "$message" = "tests/gpu/run: --part 'trains': accepted are kernels, sanitizer, ranks, train, measure"
tell $? "an unknown part" "$status $message"

message=$(CUDA_VISIBLE_DEVICES='' bash "$run" --quick --no-measure 2>&1)
status=$?
last=$(tail -n 1 <<<"$message")
test $status = 77 && { test "$last" = "skipped: no CUDA device" || test "$last" = "skipped: no nvcc"; }
tell $? "no device: $last" "$status $message"

# ---- pretended compilers -----------------------------------------------------------------------
# One program in three parts. Objects and programs are files that say who made them.
cat >"$scratch/nvcc" <<'END'
#!/usr/bin/env bash
name=$(basename "$0") out= before=
if test "$name" = mpirun; then
    test "$1 $2" = '-n 2' || exit 9
    shift 2
    exec "$@"
fi
for word in "$@"; do
    test "$before" != -o || out=$word
    before=$word
done
case " $* " in
*' -E '*) exit "${NO_MPI_H:-0}" ;;
*' -c '*) printf '%s\n' "$name" >"$out" && exit ;;
esac
printf '%s\n' "$*" >"$out.line"
case $out in
*/gpu/device) printf '#!/bin/sh\necho 90 pretended\n' >"$out" ;;
*) printf '#!/bin/sh\necho "run: %s $*"\nexit "${%s:-0}"\n' "${out##*/}" "${out##*/}" >"$out" ;;
esac
chmod +x "$out"
END
chmod +x "$scratch/nvcc"
cp "$scratch/nvcc" "$scratch/mpicc"
cp "$scratch/nvcc" "$scratch/mpirun"
export NVCC=$scratch/nvcc
parts=(--part kernels --part sanitizer --part ranks)
pretend() { # NAME=VALUE...: $message, $status and $ran, what was run
    message=$(env "$@" bash "$run" --quick "${parts[@]}" --build "$scratch/build" 2>&1)
    status=$?
    ran=$(grep -h '^run: \|^skipped: ' <<<"$message" | tr '\n' ';')
}
kernels='run: device_test check quick;'

pretend MPIRUN="$scratch/none" MPICC="$scratch/mpicc"
test "$status $ran" = "0 ${kernels}skipped: no mpirun;"
tell $? "no mpirun" "$status $message"

pretend MPIRUN="$scratch/mpirun" MPICC="$scratch/none"
test "$status $ran" = "0 ${kernels}skipped: no mpicc;"
tell $? "no mpicc" "$status $message"

pretend MPIRUN="$scratch/mpirun" MPICC="$scratch/mpicc" NO_MPI_H=1
test "$status $ran" = "0 ${kernels}skipped: mpicc finds no mpi.h;"
tell $? "no mpi.h" "$status $message"

pretend MPIRUN="$scratch/mpirun" MPICC="$scratch/mpicc"
test "$status $ran" = "0 ${kernels}run: device_ranks check quick;run: device_schedulers 2;" &&
    test -e "$scratch/build/ranks/runtime_transport_link_ucx_no_ucx.c.o" &&
    test -e "$scratch/build/ranks/runtime_transport_coll_bcast_bcast.c.o" &&
    test ! -e "$scratch/build/ranks/runtime_transport_link_ucx_endpoint_ucx.c.o" &&
    test -e "$scratch/build/ranks/runtime_transport_comm_bind.c.o" &&
    test -e "$scratch/build/ranks/tests_gpu_no_hwloc.c.o" &&
    test "$(cat "$scratch/build/ranks/tests_gpu_ranks.c.o")" = mpicc &&
    grep -q 'gpu/runtime_codec_cuda_divide.cu.o' "$scratch/build/device_ranks.line" &&
    ! grep -q 'tests_gpu_device_check' "$scratch/build/device_ranks.line"
tell $? "all there: the kernels, then two ranks" "$status $message"

pretend MPIRUN="$scratch/mpirun" MPICC="$scratch/mpicc" device_ranks=1
test $status = 1
tell $? "ranks that fail" "$status $message"

pretend MPIRUN="$scratch/mpirun" MPICC="$scratch/mpicc" device_ranks=77
test $status = 0
tell $? "ranks that find no device" "$status $message"

pretend MPIRUN="$scratch/mpirun" MPICC="$scratch/mpicc" device_test=1
test "$status $ran" = "1 ${kernels}run: device_ranks check quick;run: device_schedulers 2;"
tell $? "kernels that fail" "$status $message"

# ---- parts alone, and a trainer that pretends -----------------------------------------------------
parts=(--part ranks)
pretend MPIRUN="$scratch/mpirun" MPICC="$scratch/mpicc"
test "$status $ran" = "0 run: device_ranks check quick;run: device_schedulers 2;"
tell $? "the ranks alone" "$status $message"

cat >"$scratch/trainer" <<'END'
#!/bin/sh
echo "run: trainer $*" >>"$0.ran"
case " $* " in
*' --until '*) echo "reached: error<=1.5% after 9.00 s of training, 100 steps" ;;
*' --device '*) loss=2.0005 ;;
*) loss=2.0001 ;;
esac
printf 'step   20  loss %s  1 s  0.0 %% exposed\n9 images/s, step 1 s, 0.0 %% of it exposed communication, weights 0123456789abcdef\n' "$loss"
exit "${TRAINER:-0}"
END
chmod +x "$scratch/trainer"
parts=(--part train --train "$scratch/trainer")
pretend MPIRUN="$scratch/mpirun" MPICC="$scratch/mpicc"
test $status = 0 && test "$(grep -c '^ok ' <<<"$message")" = 6 &&
    test "$(grep -c -e '--scheme c --device 0\|--device 0 .*--scheme c' "$scratch/trainer.ran")" = 2 &&
    test "$(grep -c -e '--steps 20' "$scratch/trainer.ran")" = 15
tell $? "training alone" "$status $message"

pretend MPIRUN="$scratch/mpirun" MPICC="$scratch/mpicc" TRAINER=1
test $status = 1 && test "$(grep -c '^not ok ' <<<"$message")" = 6
tell $? "training that fails" "$status $message"

parts=(--part train --train "$scratch/none")
pretend MPIRUN="$scratch/mpirun" MPICC="$scratch/mpicc"
test "$status $ran" = "0 skipped: --train $scratch/none: is not there;"
tell $? "no trainer" "$status $message"

# What is built with the command, by a make that pretends: each layer. One of the programs does not build.
cat >"$scratch/make" <<'END'
#!/usr/bin/env bash
test "$1 $3" = '-C -j' || exit 9
mkdir -p "$(dirname "$2/$5")"
case $5 in
*/thinwire-train) cp "${0%/*}/trainer" "$2/$5" && exit ;;
*/"${BROKEN:-}"_on_device) echo "it does not compile" && exit 2 ;;
esac
printf '#!/bin/sh\ntest "$CK_FORK" = no\n' >"$2/$5"
chmod +x "$2/$5"
END
chmod +x "$scratch/make"
mkdir -p "$scratch/build/train"
echo '#define HAVE_CUDNN 1' >"$scratch/build/train/config.h"
echo 'CHECK_LIBS = -lcheck' >"$scratch/build/train/Makefile"
parts=(--part train)
each='backend head layers loss params trunk'
pretend PATH="$scratch:$PATH" MPIRUN="$scratch/mpirun" MPICC="$scratch/mpicc"
test "$status $(sed -n 's/^ok .* - each layer beside its reference: //p' <<<"$message" | sort | xargs)" = "0 $each" &&
    test "$(grep -c '^ok ' <<<"$message")" = 12
tell $? "each layer" "$status $message"

pretend PATH="$scratch:$PATH" MPIRUN="$scratch/mpirun" MPICC="$scratch/mpicc" BROKEN=layers
test $status = 1 && grep -q '^#   it does not compile$' <<<"$message" && test "$(grep -c '^ok ' <<<"$message")" = 11
tell $? "a program that does not build" "$status $message"

# ---- two ranks, with a stub for a device ---------------------------------------------------------
message=$(timeout 120 "$MPIRUN" -n 2 "$top_builddir/tests/gpu/ranks_on_stub" check quick 2>&1 </dev/null)
status=$?
test $status = 0 && test "$(grep -c '^ok .*, staged: ' <<<"$message")" -ge 10 &&
    test "$(grep -c '^ok .*, direct: ' <<<"$message")" -ge 10 && ! grep -q '^not ok' <<<"$message"
tell $? "what two ranks do, with a stub for a device" "$status $message"
echo "1..$number"
