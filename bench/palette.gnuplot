# Colours of all pictures: a codec has the same one everywhere. tools/gnuplot.c has them for the command's pictures.
colour(name) = name eq 'fp32' || name eq '32 bits' ? '#1f5fa8' : name eq 'bitpack:3' || name eq '24 bits' ? '#a98fd0' : \
    name eq 'bitpack:2' || name eq '16 bits' ? '#7b3f9e' : name eq 'bitpack:1' || name eq '8 bits' ? '#4a148c' : \
    name eq 'bf16' ? '#8c564b' : name eq 'fp16' ? '#c49c94' : name eq 'tree8' || name eq 'AWP from tree8' ? '#c8641e' : \
    name eq 'int8' ? '#17becf' : name eq 'static8' ? '#e0b000' : name eq 'mantissa8' ? '#d65db1' : name eq 'onebit' ? '#2e8540' : \
    name eq 'AWP' ? '#d62728' : name eq 'AWP from 16 bits' ? '#f08080' : name eq 'Open MPI' ? '#888888' : '#444444'
