# colour(NAME): of a codec, whatever its options, or of spare:K, the K-th spare one. codecs and colours are set before.
name_of(spec) = strstrt(spec, ':') > 0 ? spec[1:strstrt(spec, ':')-1] : spec
number_of(name) = sum [i=1:words(codecs)] (word(codecs, i) eq name ? i : 0)
spare(k) = word(colours, words(codecs) + k)
colour(name) = name_of(name) eq 'spare' ? spare(int(name[7:])) : \
    number_of(name_of(name)) > 0 ? word(colours, number_of(name_of(name))) : spare(6)
