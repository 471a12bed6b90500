#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-3-Clause
# thinwire bench: codec and the collectives, and the programs of bench/ that measure codecs, on small sizes; what
# they print must be true.
# shellcheck disable=SC1091,SC2154  # set by make check and by common.bash
. "$top_srcdir/tests/tools/common.bash"
plan 21
file=$scratch/rows.json

value() { "$json_query" "$file" "$1"; } # PATH

# row KEY VALUE...: index of the first row whose keys have these values.
row() {
    local i n want have
    n=$(value "rows.#")
    for ((i = 0; i < n; i++)); do
        have=1
        for want in "$@"; do
            [ "$("$json_query" "$file" "rows.$i.${want%%=*}" 2>/dev/null)" = "${want#*=}" ] || { have=0; break; }
        done
        [ $have -eq 1 ] && { echo "$i"; return 0; }
    done
    echo "no row with $*" >&2
    return 1
}

# Rows have the keys that others rely on.
row_is_whole() { # INDEX KEY...
    local i=$1 key
    shift
    for key in codec operation isa bytes seconds gbps max_error rms_error "$@"; do
        value "rows.$i.$key" >/dev/null || return 1
    done
}

codec_all() {
    local n i name
    alone "$thinwire" bench codec --min 64 --max 64 --json "$file" || return 1
    alone "$thinwire" info --json "$scratch/info.json" >/dev/null || return 1
    n=$("$json_query" "$scratch/info.json" "codecs.#")
    for ((i = 0; i < n; i++)); do
        [ "$("$json_query" "$scratch/info.json" "codecs.$i.bytes.float")" != null ] || continue # of double alone
        name=$("$json_query" "$scratch/info.json" "codecs.$i.codec")
        row "codec=$name" operation=encode bytes=64 && row "codec=$name" operation=decode bytes=64 || return 1
    done
    row codec=absmax operation=absmax bytes=64 && row codec=square_sum operation=square_sum bytes=64 || return 1
    row_is_whole 0 threads ratio_memcpy ratio_limit memcpy_gbps limit_gbps trusted turns bytes_per_value &&
        alone "$thinwire" bench codec --codec tree8 --min 4 --max 4
}
check "bench codec measures every codec" codec_all

codec_errors() {
    local i
    alone "$thinwire" bench codec --codec fp32,tree8,bitpack:2 --min 64k --max 64k --threads 2 --json "$file" || return 1
    i=$(row codec=fp32 operation=decode) && within "$(value "rows.$i.max_error")" 0 0 || return 1
    i=$(row codec=tree8 operation=encode) && within "$(value "rows.$i.rms_error")" 0.009 0.013 &&
        within "$(value "rows.$i.bytes_per_value")" 1.0009 1.0010 || return 1
    i=$(row codec=bitpack:2 operation=encode) && within "$(value "rows.$i.rms_error")" 0.003 0.0037 &&
        [ "$(value "rows.$i.bytes_per_value")" = 2 ] && [ "$(value "rows.$i.threads")" = 2 ]
}
check "errors and sizes of codecs are right" codec_errors

codec_doubles() {
    local i
    alone "$thinwire" bench codec --double --codec int:16,bitpack:8 --min 64k --max 64k --json "$file" || return 1
    i=$(row codec=int:16 operation=decode) && within "$(value "rows.$i.rms_error")" 2.5e-5 2.9e-5 &&
        within "$(value "rows.$i.bytes_per_value")" 2.0312 2.0313 || return 1
    i=$(row codec=bitpack:8 operation=decode) && within "$(value "rows.$i.max_error")" 0 0 || return 1
    ! row codec=absmax operation=absmax bytes=65536 2>/dev/null || return 1
    alone "$thinwire" bench codec --double --codec tree8
    [ $? -eq 2 ] && grep -q 'tree8 takes float' "$scratch/out" || return 1
    alone "$thinwire" bench codec --double --min 4
    [ $? -eq 2 ] && grep -q 'no multiple of the 8 bytes' "$scratch/out"
}
check "bench codec --double measures the codecs of doubles" codec_doubles

# The instruction sets of this machine, the lowest first.
sets_here() {
    local isa
    for isa in scalar avx2 avx512 neon vsx; do
        THINWIRE_CPU=$isa "$thinwire" info 2>/dev/null | grep -q "^CPU level  *$isa\$" && echo "$isa"
    done
}

codec_sets() {
    local isa operation
    THINWIRE_CPU=scalar alone "$thinwire" bench codec --codec bitpack:2,onebit --isa all --threads 1,2 \
        --min 4k --max 4k --json "$file" || return 1
    [ "$(value "rows.#")" -eq $(($(sets_here | wc -l) * 2 * 10)) ] || { echo "$(value "rows.#") rows"; return 1; }
    for isa in $(sets_here); do
        for operation in encode decode decode_add encode_feedback; do
            row codec=bitpack:2 operation=$operation "isa=$isa" threads=2 || return 1
        done
        row codec=absmax "isa=$isa" threads=1 && row codec=square_sum "isa=$isa" threads=2 || return 1
    done
    THINWIRE_CPU=scalar alone "$thinwire" bench codec --codec tree8 --min 4k --max 4k --json "$file" &&
        row codec=tree8 isa=scalar
}
check "bench codec --isa all measures every instruction set" codec_sets

# On a full machine ratios may spread; what is marked in the table is not trusted in the file.
codec_doubts() {
    local i n marked=0
    alone "$thinwire" bench codec --codec tree8 --min 4k --max 64k --json "$file" || return 1
    n=$(value "rows.#")
    for ((i = 0; i < n; i++)); do
        awk -v m="$(value "rows.$i.ratio_memcpy_spread")" -v l="$(value "rows.$i.ratio_limit_spread")" \
            -v t="$(value "rows.$i.trusted")" 'BEGIN { exit !((m <= 0.3 && l <= 0.3) == (t == "true")) }' ||
            { echo "row $i: trusted is wrong"; return 1; }
        [ "$(value "rows.$i.trusted")" = true ] || marked=$((marked + 1))
    done
    [ "$(grep -c '^[a-z].*[0-9]?' "$scratch/out")" -eq $marked ] || { echo "not $marked rows are marked"; return 1; }
}
check "a ratio that spreads is marked" codec_doubts

other_codecs() {
    local i
    alone "$top_builddir/bin/other-codecs" --min 64k --max 64k --json "$file" || return 1
    for i in zfp blosc pi-quant; do
        grep -q "^$i.*not here" "$scratch/out" || grep -q "^$i.*decode" "$scratch/out" ||
            { echo "no word about $i"; return 1; }
    done
    if i=$(row "codec=zfp, 16 bits" operation=decode); then
        within "$(value "rows.$i.bytes_per_value")" 2 2.01 && within "$(value "rows.$i.rms_error")" 0 0.001 || return 1
    fi
    if i=$(row "codec=blosc, bitshuffle+lz4" operation=decode); then
        within "$(value "rows.$i.max_error")" 0 0
    fi
}
check "bin/other-codecs measures what else there is" other_codecs

codec_plot() {
    alone "$thinwire" bench codec --codec tree8,onebit --isa all --min 4k --max 16k --plot "$scratch/bars.svg" || return 1
    grep -q '<svg' "$scratch/bars.svg" && grep -q 'onebit' "$scratch/bars.svg" && grep -q 'encode_feedback, 16k' "$scratch/bars.svg"
}
if command -v gnuplot >/dev/null; then
    check "bench codec --plot draws" codec_plot
else
    skip "bench codec --plot draws" "gnuplot is not installed"
fi

codec_no_gnuplot() {
    alone env PATH="$scratch" "$thinwire" bench codec --codec fp32 --max 4k --plot "$scratch/none.svg"
    [ $? -eq 1 ] && grep -q 'there is no gnuplot in PATH' "$scratch/out" && [ ! -e "$scratch/none.svg" ]
}
check "--plot without gnuplot is refused at once" codec_no_gnuplot

eight_bit_errors() {
    local i
    OMP_NUM_THREADS=2 alone "$top_builddir/bin/eight-bit-errors" --json "$file" || return 1
    i=$(row codec=tree8 "distribution=U(0,1)" scale=one) &&
        within "$(value "rows.$i.relative_error_percent")" 0.92 0.96 &&
        [ "$(value "rows.$i.samples")" = 25000000 ] || return 1
    i=$(row codec=tree8 "distribution=N(0,1)" scale=one) &&
        within "$(value "rows.$i.relative_error_percent")" 1.65 1.69 &&
        within "$(value "rows.$i.paper_relative_error_percent")" 2.46 2.46 || return 1
    i=$(row codec=tree8:split=0.55 "distribution=N(0,10^2)") &&
        within "$(value "rows.$i.relative_error_percent")" 1.92 1.97 || return 1
    i=$(row codec=mantissa8:offset=100 "distribution=N(0,10^2)") &&
        within "$(value "rows.$i.relative_error_percent")" 4.95 4.99 || return 1
    i=$(row codec=static8:offset=10 "distribution=N(0,0.2^2)") &&
        within "$(value "rows.$i.relative_error_percent")" 4.8 4.9
}
if sanitized; then
    skip "bin/eight-bit-errors reaches the known errors" "25 million values take too long under sanitizers"
else
    check "bin/eight-bit-errors reaches the known errors" eight_bit_errors
fi

# What two ranks send is known: everyone's encoded vector goes to the other.
two_ranks() {
    local i
    THINWIRE_NODE_RANKS=1 ranks 2 "$thinwire" bench allreduce --codec fp32,tree8,onebit --min 64k --max 64k --json "$file" || return 1
    grep -q 'MPI/thinwire' "$scratch/out" || return 1
    i=$(row codec=fp32 ranks=2 bytes=65536) && [ "$(value "rows.$i.wire_bytes")" = 65536 ] &&
        within "$(value "rows.$i.max_error")" 0 1e-6 || return 1
    i=$(row codec=tree8) && [ "$(value "rows.$i.wire_bytes")" = 16400 ] &&
        within "$(value "rows.$i.rms_error")" 0.009 0.013 && [ "$(value "rows.$i.identical")" = true ] || return 1
    i=$(row codec=onebit) && [ "$(value "rows.$i.wire_bytes")" = 2112 ] || return 1
    row_is_whole "$i" ranks ratio_mpi wire_bytes identical
}
check "allreduce on 2 ranks" two_ranks

three_ranks() {
    local i
    ranks 3 "$thinwire" bench allreduce --codec tree8 --min 4 --max 256k --json "$file" || return 1
    [ "$(value "rows.#")" -eq 9 ] || { echo "not 9 sizes"; return 1; }
    for ((i = 0; i < 9; i++)); do
        [ "$(value "rows.$i.identical")" = true ] || return 1
    done
    # The largest size goes in two passes of 2/3 of the encoded vector, plus what shares of whole blocks add.
    within "$(value rows.8.wire_bytes)" $((65536 * 4 / 3)) $((65536 * 4 / 3 + 4096 + 200)) &&
        within "$(value rows.8.rms_error)" 0.012 0.02
}
check "allreduce on 3 ranks" three_ranks

bcast() {
    local i
    THINWIRE_NODE_RANKS=1 ranks 3 "$thinwire" bench bcast --codec fp32,bytes,bitpack:1 --min 1k --max 4k --json "$file" || return 1
    i=$(row codec=fp32 bytes=4096) && [ "$(value "rows.$i.max_error")" = 0 ] &&
        [ "$(value "rows.$i.wire_bytes_all_ranks")" = 8192 ] || return 1
    i=$(row codec=bytes bytes=4096) && [ "$(value "rows.$i.max_error")" = 0 ] &&
        [ "$(value "rows.$i.wire_bytes_all_ranks")" = 8192 ] || return 1
    i=$(row codec=bitpack:1 bytes=4096) && [ "$(value "rows.$i.wire_bytes_all_ranks")" = 2048 ] &&
        within "$(value "rows.$i.rms_error")" 0.4 0.7 && [ "$(value "rows.$i.identical")" = true ]
}
check "bcast on 3 ranks" bcast

alltoall() {
    local i
    THINWIRE_NODE_RANKS=1 ranks 3 "$thinwire" bench alltoall --codec bytes,bf16 --min 256k --max 1M --json "$file" || return 1
    i=$(row codec=bytes bytes=1048576) && [ "$(value "rows.$i.max_error")" = 0 ] &&
        [ "$(value "rows.$i.wire_bytes")" = 2097152 ] || return 1
    i=$(row codec=bf16 bytes=1048576) && [ "$(value "rows.$i.wire_bytes")" = 1048576 ] &&
        within "$(value "rows.$i.max_error")" 0.001 0.02 || return 1
    ! value "rows.$i.identical" 2>/dev/null
}
check "alltoall on 3 ranks" alltoall

# Blocks of the sum, and blocks to all: a rank sends two encoded blocks, and owns a third.
blocks() {
    local op
    for op in reduce_scatter allgather; do
        THINWIRE_NODE_RANKS=1 ranks 3 "$thinwire" bench $op --codec fp32,bf16 --min 256k --max 1M --json "$file" &&
            [ "$(value "rows.$(row codec=fp32 bytes=1048576).wire_bytes")" = 2097152 ] &&
            within "$(value "rows.$(row codec=fp32 bytes=1048576).max_error")" 0 1e-6 &&
            [ "$(value "rows.$(row codec=bf16 bytes=1048576).wire_bytes")" = 1048576 ] &&
            within "$(value "rows.$(row codec=bf16 bytes=1048576).max_error")" 0.001 0.03 || return 1
    done
    [ "$(value rows.0.identical)" = true ]
}
check "reduce_scatter and allgather on 3 ranks" blocks

# Elements of other types: their bytes, and sums of 16-bit ones that are rounded once.
types() {
    local i
    THINWIRE_NODE_RANKS=1 ranks 2 "$thinwire" bench allreduce --type bfloat16 --min 64k --max 64k --json "$file" || return 1
    [ "$(value "rows.#")" -eq 3 ] && i=$(row codec=bf16 type=bfloat16 bytes=65536) &&
        [ "$(value "rows.$i.wire_bytes")" = 65536 ] && within "$(value "rows.$i.rms_error")" 0.0015 0.0019 &&
        i=$(row codec=tree8) && [ "$(value "rows.$i.wire_bytes")" = 32800 ] && row codec=onebit || return 1
    THINWIRE_NODE_RANKS=1 ranks 2 "$thinwire" bench alltoall --type float16 --codec fp16 --min 64k --max 64k --json "$file" || return 1
    [ "$(value rows.0.wire_bytes)" = 65536 ] && [ "$(value rows.0.max_error)" = 0 ] || return 1
    THINWIRE_NODE_RANKS=1 ranks 2 "$thinwire" bench reduce_scatter --type double --max 4k --json "$file" || return 1
    i=$(row codec=bitpack:8 type=double bytes=4096) && [ "$(value "rows.$i.wire_bytes")" = 4096 ] &&
        within "$(value "rows.$i.max_error")" 0 1e-15 && row codec=bitpack:2 || return 1
    alone "$thinwire" bench codec --type float16 --codec fp16,int4 --min 64k --max 64k --json "$file" || return 1
    i=$(row codec=int4 operation=decode) && within "$(value "rows.$i.rms_error")" 0.08 0.092 &&
        i=$(row codec=fp16 operation=decode) && [ "$(value "rows.$i.max_error")" = 0 ] || return 1
    alone "$thinwire" bench bcast --type half
    [ $? -eq 2 ] && grep -q 'bench bcast: --type half: accepted are float, double, float16, bfloat16' "$scratch/out"
}
check "--type: elements of other types" types

overlap() {
    ranks 2 "$thinwire" bench overlap --codec fp32 --size 64k --json "$file" &&
        within "$(value rows.0.ratio)" 0.01 1000 && within "$(value rows.0.ratio_thread)" 0.01 1000 &&
        within "$(value rows.0.computing)" 0 100
}
check "overlap on 2 ranks" overlap

one_rank() {
    ranks 1 "$thinwire" bench allreduce --codec tree8 --max 64k --json "$file" || return 1
    [ "$(value rows.0.wire_bytes)" = 0 ] || return 1
    alone "$thinwire" bench bcast --codec tree8 --min 4k --max 4k
}
check "one rank, with and without mpirun" one_rank

# 2^0, 2^-1, ... 2^-15: bf16 keeps them, so sums of two ranks' parts are exact and so is bf16.
data_file() {
    local i
    for ((i = 0; i < 16; i++)); do
        printf "\\x00\\x00\\x$(printf %02x $(((127 - i) % 2 * 128)))\\x$(printf %02x $(((127 - i) / 2)))"
    done >"$scratch/data.f32"
    ranks 2 "$thinwire" bench alltoall --codec bf16,fp32 --min 32 --max 32 --data "$scratch/data.f32" --json "$file" &&
        [ "$(value rows.0.max_error)" = 0 ] && [ "$(value rows.1.max_error)" = 0 ] || return 1
    ranks 2 "$thinwire" bench allreduce --codec bitpack:1 --min 64 --max 64 --data "$scratch/data.f32" --json "$file" &&
        within "$(value rows.0.rms_error)" 0.1 1
}
check "--data takes the values of a file" data_file

data_normal() {
    ranks 2 "$thinwire" bench bcast --codec tree8 --min 4 --max 4 --data normal
}
check "--data normal" data_normal

settings_matter() {
    THINWIRE_ALLREDUCE=direct ranks 3 "$thinwire" bench allreduce --codec fp32 --min 1M --max 1M --json "$file" &&
        [ "$(value rows.0.wire_bytes)" = 2097152 ]
}
check "the algorithm can be set" settings_matter

one_node() {
    local op
    for op in allreduce bcast reduce_scatter allgather alltoall; do
        ranks 2 "$thinwire" bench $op --codec fp32 --min 64 --max 1M --json "$file" &&
            [ "$(value rows.0.wire_bytes)" = 0 ] && [ "$(value rows.7.wire_bytes)" = 0 ] &&
            within "$(value rows.7.max_error)" 0 1e-6 || return 1
    done
}
check "values as they are stay in the memory of a node" one_node
