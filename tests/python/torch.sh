#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# thinwire.torch with PyTorch: that of build/torch, where `./quickstart check --apps` has installed it, or of the
# python that TW_TORCH_PYTHON names.
# shellcheck disable=SC1091,SC2154  # set by make check and by common.bash
. "$top_srcdir/tests/tools/common.bash"
tests=$top_srcdir/tests/python
python=${TW_TORCH_PYTHON:-$top_builddir/torch/bin/python}
limit=${TW_TIME_LIMIT:-600}
nothing() { echo "1..0 # SKIP $1"; exit 0; }
sanitized && nothing "the sanitizer's library must come first"
"$python" -c 'import numpy, torch' 2>/dev/null || nothing "no PyTorch in build/torch (./quickstart check --apps)"
export THINWIRE_LIBRARY=$top_builddir/lib/libthinwire.so PYTHONPATH=$top_srcdir/python PYTHONDONTWRITEBYTECODE=1
export GLOO_SOCKET_IFNAME=${GLOO_SOCKET_IFNAME:-lo} MASTER_ADDR=127.0.0.1
export PYTHONWARNINGS=ignore
plan 22

all() { TW_WANTED=$1 ranks "$1" "$python" "$tests/test_torch.py"; }
example() { ranks "$@" && grep -q 'right' "$scratch/out"; }
for n in 1 2 3 4; do
    check "thinwire.torch on $n ranks" all $n
done
backend() { TW_WANTED=$1 ranks "$1" "$python" "$tests/test_backend.py"; }
for n in 1 2 3 4; do
    check "the backend on $n ranks" backend $n
done
by_run() { alone "$python" -m torch.distributed.run --nproc-per-node "$1" --master-port $((20000 + RANDOM % 9000)) "${@:2}"; }
if [ -e "$top_builddir/lib/libthinwire-store.so" ]; then
    check "communicators by a FileStore and a TCPStore" alone "$python" "$tests/test_store.py" torch
    check "the backend on 3 processes of torchrun" by_run 3 "$tests/test_backend.py"
else
    skip "communicators by a FileStore and a TCPStore" "CC is an MPI wrapper"
    skip "the backend on 3 processes of torchrun" "CC is an MPI wrapper"
fi
for codec in tree8 onebit; do
    check "the example ddp.py, $codec, on 3 ranks" example 3 "$python" "$top_srcdir/examples/ddp.py" $codec
done

snippets() { # what docs/python.md and README.md show with PyTorch, one after another; the last, of README.md, by torchrun
    local count number start=(ranks "$1" "$python")
    mkdir -p "$scratch/snippets" &&
        count=$("$python" "$tests/snippets.py" "$top_srcdir/docs/python.md" "$scratch/snippets" torch) && [ "$count" -ge 3 ] || return 1
    "$python" "$tests/snippets.py" "$top_srcdir/README.md" "$scratch" torch && {
        echo 'import torch; from torch.nn.parallel import DistributedDataParallel; model = torch.nn.Linear(40, 50)'
        cat "$scratch/1.py"
        echo 'model(torch.ones(3, 40)).sum().backward()'
    } >"$scratch/snippets/$((count += 1)).py" || return 1
    for ((number = 1; number <= count; number++)); do
        [ $number -lt "$count" ] || [ ! -e "$top_builddir/lib/libthinwire-store.so" ] || start=(by_run "$1")
        (cd "$scratch/snippets" && "${start[@]}" "$number.py") || { echo "snippet $number"; return 1; }
    done
}
check "what docs/python.md and README.md show with PyTorch, on 2 ranks" snippets 2

# ---- what cannot work: one line each -------------------------------------------------------------

# said RANKS PATTERN COMMAND...: fails, and each rank's last line of an exception is so.
said() {
    local n=$1 pattern=$2 status
    shift 2
    ranks "$n" "$@"
    status=$?
    [ $status -ne 0 ] && [ $status -ne 124 ] && grep -q "$pattern" "$scratch/out"
}
init='import thinwire.torch; thinwire.torch.init_process_group()'
by_torchrun() { # as torchrun starts them: no ranks of MPI, which something else of the package has loaded
    local out
    out=$(RANK=0 WORLD_SIZE=2 LOCAL_RANK=0 timeout -k 5 "$limit" "$python" -c "import thinwire; thinwire.Codec('fp32'); $init" 2>&1) &&
        return 1
    tail -n 1 <<<"$out"
    grep -q '^thinwire.errors.LibraryError: .*/libthinwire.so.* is loaded, which needs MPI: ' <<<"$out"
}
check "torchrun, MPI loaded before" by_torchrun
by_another() { # as the mpirun of another MPI library starts them
    local out
    out=$(env OMPI_COMM_WORLD_SIZE=2 PMI_SIZE=2 MPI_LOCALNRANKS=2 timeout -k 5 "$limit" "$python" -c "$init" 2>&1) && return 1
    tail -n 1 <<<"$out"
    grep -q '^thinwire.errors.InvalidArgumentError: mpirun is of another MPI library than thinwire: each of 2 processes' <<<"$out"
}
check "an mpirun of another MPI library" by_another
check "no process group" said 2 'InvalidArgumentError: torch.distributed is not initialised: call thinwire.torch.init_process_group()' \
    "$python" "$tests/test_torch_alone.py" uninitialised
check "MPI without MPI_THREAD_MULTIPLE" said 2 'InvalidArgumentError: .*rank 0: MPI was not initialised with MPI_THREAD_MULTIPLE' \
    "$python" "$tests/test_torch_alone.py" single

# ---- thinwire-bench-ddp --------------------------------------------------------------------------

bench() { # RANKS ARGUMENT...
    local n=$1
    shift
    ranks "$n" "$python" -m thinwire.bench_ddp "$@"
}
table() {
    bench 2 mlp --seconds 2 --json "$scratch/bench.json" || return 1
    grep -q '^thinwire tree8 ' "$scratch/out" && grep -q '^gloo fp32 ' "$scratch/out" && grep -q '^verdict: ' "$scratch/out" &&
        grep -q '^mlp: 0.41 million parameters, gradients of 1.63 MB, ' "$scratch/out" &&
        [ "$("$json_query" "$scratch/bench.json" ranks)" = 2 ] && [ "$("$json_query" "$scratch/bench.json" 'rows.#')" = 5 ]
}
check "thinwire-bench-ddp: a table and a verdict" table
check "thinwire-bench-ddp: a model of somebody else's" bench 2 "$tests/test_torch_model.py:small" --seconds 1 --batch 3 --bucket 0.5
check "thinwire-bench-ddp: an unknown model" said 2 "thinwire-bench-ddp: no model 'none'; there are " "$python" -m thinwire.bench_ddp none
check "thinwire-bench-ddp: one rank" said 1 'thinwire-bench-ddp: one rank exchanges nothing' "$python" -m thinwire.bench_ddp mlp
check "thinwire-bench-ddp: buckets of nothing" said 1 'thinwire-bench-ddp: error: argument --bucket: 0 MB; accepted: above 0, below 1048576' "$python" -m thinwire.bench_ddp --bucket 0
