/* SPDX-License-Identifier: BSD-3-Clause
 * tools/palette.h - colours of all pictures: of each codec, in the order of tw_codec_describe(),
 * then spare ones. tools/gnuplot.c includes it; bench/common.bash reads it.
 */
"#1f5fa8", "#7b3f9e", "#8c564b", "#c49c94", "#c8641e", "#17becf", "#e0b000", "#d65db1", "#2e8540",
    "#888888", "#444444", "#a98fd0", "#4a148c", "#f08080", "#d62728", "#6b8e23", "#00695c"
