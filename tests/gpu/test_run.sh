#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# tests/gpu/test_run.sh - tests/gpu/run refuses what it does not know, and says that it is skipped where
# there is no device. Where there is one, the run itself is left to whoever asks for it.
run=$top_srcdir/tests/gpu/run
accepted='--quick, --no-measure, --build DIR'
echo 1..2
message=$(bash "$run" --wrong 2>&1)
status=$?
if test $status = 2 &&
    test "$message" = "tests/gpu/run: unknown option '--wrong'; accepted: $accepted"; then
    echo "ok 1 - an unknown option"
else
    echo "not ok 1 - an unknown option: $status $message"
fi
message=$(CUDA_VISIBLE_DEVICES='' bash "$run" --quick --no-measure 2>&1)
status=$?
last=$(echo "$message" | tail -n 1)
if test $status = 77 && { test "$last" = "skipped: no CUDA device" || test "$last" = "skipped: no nvcc"; }; then
    echo "ok 2 - no device: $last"
else
    echo "not ok 2 - no device: $status $message"
fi
