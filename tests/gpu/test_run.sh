#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# tests/gpu/test_run.sh - tests/gpu/run refuses what it does not know, says that it is skipped where there is no device,
# and starts the right programs, ends those that hang, and tells what it leaves out, with programs that only pretend.
# Where there is a device, the run itself is left to whoever asks for it. What it runs on two ranks is run here with a
# stub for a device.
: "${top_builddir:?}" "${top_srcdir:?}" "${MPIRUN:?}"
run=$top_srcdir/tests/gpu/run
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

refuse() { # MESSAGE ARGUMENT...
    local want="tests/gpu/run: $1" got status
    shift
    got=$(bash "$run" "$@" 2>&1)
    status=$?
    test "$status $got" = "2 $want"
    tell $? "refused: $*" "$status $got"
}
mkdir "$scratch/empty"
refuse "unknown option '--wrong'; accepted: --quick, --strict, --dry-run, --part NAME, --programs DIR, --logs DIR" --wrong
refuse "--part 'trains': accepted are kernels, sanitizer, ranks, train, measure" --part trains
refuse "--logs takes a folder" --logs
refuse "--programs: there is no such folder" --programs "$scratch/none"

message=$(bash "$run" --programs "$scratch/empty" 2>&1)
status=$?
test $status = 77 && test "$(tail -n 1 <<<"$message")" = "1..0 # SKIP no programs"
tell $? "no programs" "$status $message"

if test -x "$top_builddir/tests/gpu/kernels_on_device"; then
    message=$(CUDA_VISIBLE_DEVICES='' bash "$run" --programs "$top_builddir" 2>&1)
    status=$?
    test $status = 77 && grep -q '^1..0 # SKIP no CUDA device: ' <<<"$message"
    tell $? "no device" "$status $message"
fi

# ---- programs that pretend: each says how it was started ---------------------------------------------
mkdir -p "$scratch/build/tests/gpu" "$scratch/build/bin" "$scratch/path"
pretend_program() { # FILE
    cat >"$1" <<'END'
#!/usr/bin/env bash
name=$(basename "$0")
variable=${name//-/_}
case $name:$* in
kernels_on_device:device) echo "${DEVICE:-9.0 pretended}" && exit "${NO_DEVICE:-0}" ;;
mpirun:'-n 2 '*) shift 2 && exec "$@" ;;
compute-sanitizer:*) echo "${SANITIZER:-}" ;;
thinwire-train:*' --until '*) echo "reached: error<=1.5% after 9.00 s of training, 100 steps" ;;
thinwire-train:*)
    loss=2.0001
    case " $* " in *' --device '*) loss=2.0005 ;; esac
    printf 'step   20  loss %s  1 s  0.0 %% exposed\n' $loss
    echo "9 images/s, step 1 s, 0.0 % of it exposed communication"
    echo "bytes sent: 0, weights 0123456789abcdef"
    ;;
esac
echo "run: $name $*" >>"$RAN"
test "${!variable:-}" != hangs || sleep 60
exit "${!variable:-0}"
END
    chmod +x "$1"
}
layers='backend head layers loss params trunk'
for name in kernels ranks schedulers drop_in $layers; do
    pretend_program "$scratch/build/tests/gpu/${name}_on_device"
done
pretend_program "$scratch/build/bin/thinwire-train"
pretend_program "$scratch/path/mpirun"
pretend_program "$scratch/path/compute-sanitizer"
mkdir "$scratch/build/lib"
ln -s "$(type -P true)" "$scratch/build/lib/libthinwire-preload-openmpi.so" # any object
export RAN=$scratch/ran
pretend() { # OPTIONS NAME=VALUE...: $message, $status; $ran, what was started; $left, what was left out
    local options=$1
    shift
    : >"$RAN"
    # shellcheck disable=SC2086  # words
    message=$(env PATH="$scratch/path:$PATH" MPIRUN="$scratch/path/mpirun" "$@" bash "$run" $options --programs "$scratch/build" 2>&1)
    status=$?
    ran=$(sed -n 's/^run: //p' "$RAN" | sed "s|$scratch/[a-z/]*||g" | tr '\n' ';')
    left=$(grep '^# left out: ' <<<"$message" | tail -n 1)
}

pretend "--quick --part kernels"
test "$status $ran" = "0 kernels_on_device check quick;" && test "$(tail -n 1 <<<"$message")" != "${left:-none}"
tell $? "kernels alone" "$status $message"
pretend "--part kernels" kernels_on_device=1
test "$status $ran" = "1 kernels_on_device check;"
tell $? "kernels that fail" "$status $message"
pretend "--part kernels" DEVICE="7.5 old one"
test "$status $(tail -n 1 <<<"$message")" = "2 tests/gpu/run: old one has a compute capability of 7.5; accepted: 8.0 and later"
tell $? "a device that is too old" "$status $message"

pretend "--quick --part ranks"
test "$status $ran" = "0 ranks_on_device check quick;schedulers_on_device 2;drop_in_on_device ;drop_in_on_device ;"
tell $? "ranks" "$status $message"
pretend "--part ranks" ranks_on_device=1
test "$status $ran" = "1 ranks_on_device check;schedulers_on_device 2;drop_in_on_device ;drop_in_on_device ;"
tell $? "ranks that fail" "$status $message"
pretend "--part ranks" ranks_on_device=77
test $status = 1 && grep -q '^not ok - ranks_on_device: ranks find no device$' <<<"$message"
tell $? "ranks that find no device" "$status $message"
pretend "--part ranks --part kernels" MPIRUN="$scratch/none"
test "$status $ran" = "0 kernels_on_device check;" && test "$left" = "# left out: two ranks: there is no mpirun" &&
    test "$(tail -n 1 <<<"$message")" = "$left"
tell $? "no mpirun" "$status $message"
pretend "--strict --part ranks" MPIRUN="$scratch/none"
test $status = 1 && test "$left" = "# left out: two ranks: there is no mpirun"
tell $? "--strict without mpirun" "$status $message"
# What hangs costs its part alone.
pretend "--part kernels --part ranks" kernels_on_device=hangs TW_GPU_LIMIT=1
test $status = 1 && grep -q '^not ok - part kernels: not done after 1 s$' <<<"$message" &&
    [[ $ran == *"schedulers_on_device 2;"* ]]
tell $? "a part that hangs" "$status $message"

pretend "--part sanitizer" SANITIZER="0 errors"
test $status = 0 && test "$(grep -c '^ok .* - compute-sanitizer ' <<<"$message")" = 14
tell $? "the sanitizer" "$status $message"
pretend "--part sanitizer" compute_sanitizer=99 SANITIZER="ERROR SUMMARY: 3 errors"
test $status = 1 && test "$(grep -c '^not ok ' <<<"$message")" = 14
tell $? "the sanitizer finds something" "$status $message"
pretend "--part sanitizer" compute_sanitizer=1 SANITIZER="Device not supported"
test $status = 0 && [[ $left == "# left out: compute-sanitizer memcheck backend: Device not supported; "*"; compute-sanitizer racecheck trunk: Device not supported" ]]
tell $? "the sanitizer does not run" "$status $message"

pretend "--part train"
test $status = 0 && test "$(grep -c '^ok ' <<<"$message")" = 12 &&
    test "$(sed -n 's/^ok .* - each layer beside its reference: //p' <<<"$message" | sort | xargs)" = "$layers" &&
    test "$(grep -c -e '--scheme c' "$RAN")" = 3 && test "$(grep -c -e '--steps 20' "$RAN")" = 15
tell $? "training" "$status $message"
pretend "--part train" thinwire_train=1
test $status = 1 && test "$(grep -c '^not ok ' <<<"$message")" = 6
tell $? "training that fails" "$status $message"
pretend "--part train" layers_on_device=1
test $status = 1 && test "$(grep -c '^ok ' <<<"$message")" = 11
tell $? "a layer that fails" "$status $message"
rm "$scratch/build/tests/gpu/layers_on_device"
pretend "--part train --strict"
test $status = 1 && test "$(grep -c '^ok ' <<<"$message")" = 11 && [[ $left == "# left out: tests/gpu/layers_on_device: is not in "* ]]
tell $? "a layer's program is not there" "$status $message"

pretend "--dry-run" NO_DEVICE=77
test $status = 0 && test "$(grep -c '^ok .* starts: ' <<<"$message")" = 10 && ! grep -q 'not ok' <<<"$message"
tell $? "--dry-run" "$status $message"
pretend "--dry-run" loss_on_device=127
test $status = 1 && test "$(grep -c '^not ok .*/loss_on_device starts: ' <<<"$message")" = 1
tell $? "--dry-run of a program that does not start" "$status $message"

# ---- two ranks, with a stub for a device ---------------------------------------------------------
message=$(timeout 120 "$MPIRUN" -n 2 "$top_builddir/tests/gpu/ranks_on_stub" check quick 2>&1 </dev/null)
status=$?
test $status = 0 && test "$(grep -c '^ok .*, staged: ' <<<"$message")" -ge 10 &&
    test "$(grep -c '^ok .*, direct: ' <<<"$message")" -ge 10 && ! grep -q '^not ok' <<<"$message"
tell $? "what two ranks do, with a stub for a device" "$status $message"
echo "1..$number"
